/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The signals that a supervisor gets, which all are blocked. Slurm's are forwarded to the program if
 * Slurm does not send them there itself, but SIGTERM is withheld from a task that only serves: it
 * does not learn that the step is to end as long as the others may need it to save their work.
 */
#ifndef TF_SIGNALS_H
#define TF_SIGNALS_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/deadline.h"
#include "protocol/supervisor_config.h"

struct signals {
    const struct supervisor_config *config;
    int fd;                         /* signalfd, to poll for POLLIN */
    bool slurm_ends;                /* Slurm has sent SIGTERM: it is going to end the step */
    struct deadline user_ends;      /* until then, the program ends because its user wants that */
    struct deadline slurm_kills;    /* the program has Slurm's SIGTERM; SIGKILL is due by then */
    bool withheld;                  /* Slurm's SIGTERM, from the program */
    struct deadline last_chance;    /* for the program to get it; the next look at the program */
    int looks;                      /* how often it was then seen to block SIGTERM */
};

/* Block all signals. The configuration must live as long. -1 and errno. */
int signals_open (struct signals *signals, const struct supervisor_config *config);

/*
 * Read all that have arrived. `task` is the process to forward them to; 0: it has ended. `needed`: the
 * others may need the task, if it serves them. True if one of the signals asks to end.
 */
bool signals_read (struct signals *signals, pid_t task, bool needed);

/* True if the task has been asked to end, so that it is not started again. */
bool signals_ask_to_end (const struct signals *signals);

/*
 * True once, when KillWait is nearly over and the program does more with the withheld SIGTERM than to
 * die of it.
 */
bool signals_last_chance (struct signals *signals, pid_t task);

/* The program gets the SIGTERM that was withheld from it. `task` is 0 if it has ended. */
void signals_deliver (struct signals *signals, pid_t task);

#endif
