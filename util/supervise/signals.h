/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the signals that a supervisor gets mean for its task. Slurm's are forwarded to the program if Slurm
 * does not send them there itself, but SIGTERM is withheld from a task that only serves: it does not learn
 * that the step is to end as long as the others may need it to save their work.
 *
 * Times are in milliseconds, of the machine's clock (machine.h). Nothing here does anything.
 */
#ifndef TF_SIGNALS_H
#define TF_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol/exit_report.h"
#include "protocol/supervisor_config.h"

/* A signal that has arrived (signal_fd.h). */
struct signal {
    int number;
    bool from_slurm;                /* slurmstepd has sent it */
    bool from_terminal;             /* the kernel has: Ctrl-C and the like, which the program gets, too */
    bool queued;                    /* with a value */
    void *value;
    int64_t at;                     /* seconds since 1970 */
};

/* A signal that has asked the task to end. */
struct signals_wish {
    int number;                     /* 0: there was none */
    int64_t at;                     /* seconds since 1970 */
};

/* Zeroed, but for the configuration, if none has arrived. */
struct signals {
    const struct supervisor_config *config;
    struct signals_wish slurms;     /* Slurm's first SIGTERM: it is going to end the step */
    struct signals_wish users;      /* Ctrl-C and the like, the last one */
    int64_t user_ends;              /* until then, the program ends because its user wants that */
    struct signals_wish warning;    /* the last signal of Slurm's that may mean: save your work */
    bool suspended;                 /* Slurm has stopped the programs (SIGTSTP), and is about to stop all */
    int64_t slurm_kills;            /* the program has Slurm's SIGTERM; SIGKILL is due by then */
    bool withheld;                  /* Slurm's SIGTERM, from the program */
    int64_t kill_due;               /* ... by when SIGKILL would follow it */
    int64_t last_chance;            /* ... to deliver it before that; the next look at the program */
    int looks;                      /* how often it was then seen to block SIGTERM */
    int64_t chance_ends;            /* until then, the program ends because it has got it there: Slurm's
                                       SIGKILL is not due */
};

/*
 * A signal has arrived. `needed`: the others may need the task, if it serves them. True if the program, if
 * it runs, is to get it.
 */
bool signals_take (struct signals *signals, const struct signal *signal, bool needed, int64_t now);

/* True if signals_asked () may have another result because of it. */
bool signals_may_ask (const struct signal *signal);

/*
 * The signal that has asked the task to end, which has ended so, and when it came (unless `at` is NULL):
 * the task is not restarted. 0: it has not been asked.
 */
int signals_asked (const struct signals *signals, const struct exit_report *report, int64_t now, int64_t *at);

/* What a program does with SIGTERM, as far as /proc shows it. */
enum signals_reaction { SIGNALS_DIE, SIGNALS_BLOCK, SIGNALS_HANDLE };

/*
 * The last chance has come: what does the program do with SIGTERM? True if it is to get the one that was
 * withheld from it, because it does more with it than to die. Otherwise it goes on.
 */
bool signals_last_chance (struct signals *signals, enum signals_reaction reaction, int64_t now);

/* Nothing is withheld any more. True if the program, if it runs, is to get SIGTERM. */
bool signals_deliver (struct signals *signals);

#endif
