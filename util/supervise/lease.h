/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a supervisor concludes from its connection to the rendezvous. doc/design/failures.md has the table.
 *
 * Only a message with the server's token shows that the rendezvous is there, and, as long as such a
 * connection stands, its kernel's answers. A connection that is refused, reset, closed or silent is no news:
 * a firewall may do that. What follows depends on the time since then, and is computed anew each time.
 */
#ifndef TF_LEASE_H
#define TF_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol/supervisor_config.h"

#define LEASE_NEVER INT64_MAX

/* What is seen of the connection now. Times are in milliseconds of the machine's clock. */
struct link {
    int64_t heard;                  /* when the rendezvous was last there */
    int64_t since;                  /* ... the connection stands, or does not */
    bool stands;
    bool refused;                   /* the last attempt to connect */
};

struct lease {
    const struct supervisor_config *config;
    struct link link;
    int64_t ended; /* `heard` of the lease that was over, and whose task was ended; or -1 */
    int64_t reported; /* when the end of the task was */
};

/* When the task has to end, because its place may be given away; never without spares. */
int64_t lease_over_at (const struct lease *lease);

/* Since when nothing of it may run, because the rendezvous, which may have died, was not heard; or never. */
int64_t lease_lost_since (const struct lease *lease);

/* When to leave, the task having ended. `answered`: the rendezvous has the report. */
int64_t lease_leave_at (const struct lease *lease, bool answered);

/*
 * The moment at which the rendezvous counts as ended, if nothing changes. From then on Slurm's signals are no
 * longer withheld from the task, because no goal would ask for them. NEVER while the connection stands.
 * `asked`: Slurm has asked the task to end, and so, perhaps, srun; and it has ended.
 */
int64_t lease_alone_at (const struct lease *lease, bool asked);

#endif
