/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A job whose first node has died. With --no-kill Slurm takes the node out of the job, which goes on
 * without its batch script: nothing would ever end it. Supervisors that have lost the rendezvous, which ran
 * there, and have ended their tasks, ask Slurm by the program tf-abandoned, as the user; it ends or
 * requeues the job if that is so. A node that is cut off itself does not reach slurmctld, and does nothing.
 */
#ifndef TF_ABANDONED_H
#define TF_ABANDONED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "protocol/supervisor_config.h"

struct abandoned {
    const struct supervisor_config *config;
    const char *slurm;              /* the directory of Slurm's commands, or "" */
    pid_t program;                  /* that runs; 0: none, which its end sets */
    int64_t due;                    /* when to look again, or INT64_MAX */
    int attempts;
};

/*
 * The configuration must live as long. Slurm's commands are looked for now: when the host has died, other
 * directories of PATH may be on file systems that hang.
 */
void abandoned_init (struct abandoned *abandoned, const struct supervisor_config *config);

/*
 * Is it time to ask? The rendezvous has been lost since then, or INT64_MAX; times are milliseconds of one
 * clock. Nodes ask one after the other, and the later ones more seldom, so that slurmctld hears of a step
 * of a thousand nodes some times a second at most: the first one that sees it is enough. While the program
 * runs, another one is not started.
 */
bool abandoned_asks (struct abandoned *abandoned, int64_t since, int64_t now);

/* Start the program. That the first attempt fails is told in the node's syslog. */
void abandoned_start (struct abandoned *abandoned);

/*
 * Slurm ends the job, perhaps because the program has asked for it: give that the time to write its line
 * into master.log, as what is left of a step that ends is killed.
 */
void abandoned_finish (struct abandoned *abandoned);

#endif
