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
#include <stdint.h>
#include <sys/types.h>

#include "common/deadline.h"
#include "protocol/exit_report.h"
#include "protocol/supervisor_config.h"

/* A signal that has asked the task to end. */
struct signals_wish {
    int number;                     /* 0: there was none */
    int64_t at;                     /* seconds since 1970 */
};

struct signals {
    const struct supervisor_config *config;
    int fd;                         /* signalfd, to poll for POLLIN */
    struct signals_wish slurms;     /* Slurm's first SIGTERM: it is going to end the step */
    struct signals_wish users;      /* Ctrl-C and the like, the last one */
    struct deadline user_ends;      /* until then, the program ends because its user wants that */
    struct signals_wish warning;    /* the last signal of Slurm's that may mean: save your work */
    bool suspended;                 /* Slurm has stopped the programs (SIGTSTP), and is about to stop all */
    struct deadline slurm_kills;    /* the program has Slurm's SIGTERM; SIGKILL is due by then */
    bool withheld;                  /* Slurm's SIGTERM, from the program */
    struct deadline kill_due;       /* ... by when SIGKILL would follow it */
    struct deadline last_chance;    /* ... to deliver it before that; the next look at the program */
    int looks;                      /* how often it was then seen to block SIGTERM */
    struct deadline chance_ends;    /* until then, the program ends because it has got it there */
};

/* Block all signals. The configuration must live as long. -1 and errno. */
int signals_open (struct signals *signals, const struct supervisor_config *config);

/*
 * Read all that have arrived. `task` is the process to forward them to; 0: it has ended. `needed`: the
 * others may need the task, if it serves them. True if signals_asked () may have changed.
 */
bool signals_read (struct signals *signals, pid_t task, bool needed);

/*
 * The signal that has asked the task to end, which has ended so, and when it came (unless `at` is NULL):
 * the task is not restarted. 0: it has not been asked.
 */
int signals_asked (const struct signals *signals, const struct exit_report *report, int64_t *at);

/*
 * To be called at last_chance. The program gets the withheld SIGTERM if it does more with it than to
 * die, and goes on.
 */
void signals_last_chance (struct signals *signals, pid_t task);

/*
 * True if the program, which has ended, has done so because of its last chance: Slurm's SIGKILL is not
 * overdue.
 */
bool signals_explain_end (const struct signals *signals);

/* The program gets the SIGTERM that was withheld from it. `task` is 0 if it has ended. */
void signals_deliver (struct signals *signals, pid_t task);

#endif
