/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The choice of every rank's address, made once for the whole step. Pure: what the ranks
 * told goes in, one address for each of them or one refusal comes out.
 */
#ifndef TF_NETWORK_H
#define TF_NETWORK_H

#include <stddef.h>

#include "address.h"
#include "errtext.h"
#include "host.h"

struct network_rank {
    const char *node;           /* for messages */
    const struct host *host;
    struct address here;        /* the rank's end of its connection to the rendezvous */
    struct address srun;        /* the rendezvous' end of it */
    struct address chosen;      /* out */
};

/*
 * Each rank gets the address by which its host reaches srun. A host that reaches it by
 * loopback is srun's own, `own`, and takes the address at which other hosts reached srun; a
 * step on one host alone may use loopback. An address that two hosts claim is nobody's.
 * 0, or -1 and err, which names nodes.
 */
int network_choose (struct network_rank *ranks, size_t count, const struct host *own,
                    struct errtext *err);

#endif
