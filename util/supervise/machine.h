/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a supervisor decides. A machine is one rank: it takes what happens (a goal of the rendezvous, a
 * signal, the end of the program, time) and answers with effects, which its caller performs
 * (tf-supervise.c). It has no clock, socket, file or process, so that stories can be told about it
 * (tests/unit/supervise.golden).
 *
 *     BEGINS   a life was requested from the fork server
 *     RUNS     its program runs
 *     WAITS    the program has ended, and a signal of Slurm's, which is on its way, may be the reason
 *     STOPS    its processes have been asked to end, and have their grace
 *     KILLS    they have SIGKILL; then comes `then`
 *     ENDED    its end has been reported: it waits for another life, or to leave
 *     LEFT
 *
 * In BEGINS, WAITS and KILLS, which end by themselves, the machine takes no goals: machine_listens (). Each
 * end is reported, and each report answered by a goal that has its number: so one that is taken while another
 * is pursued is not lost.
 */
#ifndef TF_MACHINE_H
#define TF_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/errtext.h"
#include "lease.h"
#include "protocol/exit_report.h"
#include "protocol/goal.h"
#include "protocol/life_report.h"
#include "protocol/supervisor_config.h"
#include "signals.h"

enum effect_kind {
    EFFECT_BEGIN, /* life `number`; then machine_begun () or machine_cannot_begin () */
    EFFECT_SIGNAL, /* `signal` to the program, if it runs */
    EFFECT_SIGNAL_ALL, /* the signal `number` to all its processes */
    EFFECT_KILL, /* SIGKILL to all; then machine_cannot_kill () if it reaches none */
    EFFECT_NO_LIFE, /* no other life can begin: the fork server may end */
    EFFECT_FINISH, /* the life has ended: pass on what it has written */
    EFFECT_REPORT, /* send machine_report () */
    EFFECT_SAY_UNSTARTED, /* print that the life cannot begin: machine.cannot */
    EFFECT_SAY_ALONE, /* print that the rendezvous does not answer */
    EFFECT_LEAVE, /* end as machine.status says */
};

struct effect {
    enum effect_kind kind;
    int number;
    struct signal signal;
};

enum machine_phase {
    MACHINE_BEGINS,
    MACHINE_RUNS,
    MACHINE_WAITS,
    MACHINE_STOPS,
    MACHINE_KILLS,
    MACHINE_ENDED,
    MACHINE_LEFT,
};

#define MACHINE_MOST_EFFECTS 16

struct machine {
    const struct supervisor_config *config;
    enum machine_phase phase;
    struct signals signals;
    int64_t now;                    /* of the last input */
    int64_t run;                    /* the same, without the time in which the program could not run */
    int64_t frozen_until;           /* Slurm suspends the job soon: until then `run` stands still */
    int number; /* of the present life; -1: none has begun */
    int next;                       /* in BEGINS, or before it: the life that is to begin */
    bool alive;                     /* the program has not ended */
    bool idle; /* a spare, or before the preflight: its phase is ENDED */
    bool orphaned;                  /* slurmstepd has died */
    char cannot[sizeof (struct errtext)];   /* why no other life can begin, or "" */
    bool fresh;                     /* a further life has just begun */

    /* Its end. */
    int status;                     /* wait status to end with */
    bool unstarted;                 /* it had not executed its program when it ended */
    bool out_of_memory;
    int64_t ended;                  /* when it did, and, if it was stopped, its processes did */
    struct exit_report report;      /* when ENDED */
    int64_t waits_until;            /* in WAITS */

    /* Its stop. */
    int64_t young_until;            /* when its program is not young any more, if it was executed */
    bool stop_ordered;              /* in RUNS while it is young; or in ENDED */
    int64_t stop_due;               /* ... to look again, and at the latest */
    int64_t stop_last;
    int64_t stopping, grace;        /* in STOPS: since when, and until when without SIGKILL */
    bool killed;                    /* its grace was over */
    int killed_after;               /* ... so many seconds after SIGTERM */
    bool stopped;                   /* on an order of the rendezvous */
    bool hung;                      /* ... because it hangs */
    int stop_status;                /* wait status to end with then */

    /* In KILLS. */
    enum {
        THEN_FINISH,                /* its end is reported */
        THEN_STOPPED,               /* it has been stopped */
        THEN_GO_ON,                 /* the program has ended of it */
        THEN_BEGIN,                 /* the life `next` */
        THEN_SUCCEED,               /* it had ended, and that is not the step's business any more */
        THEN_REST,                  /* it had ended, and that stays as it is */
    } then;
    int64_t kill_due, kill_last;
    int kill_pause_ms;

    /* The rendezvous. */
    struct lease lease;
    struct goal goal;               /* the last */
    int reports;                    /* of ends */
    bool reported;                  /* that of the present life is */
    bool replaced;                  /* a spare has its place: nothing of it is left */
    bool said_alone; /* EFFECT_SAY_ALONE */
    bool leaves;

    int asked;                      /* by machine_asks (): what the next sight has */
    struct effect effect[MACHINE_MOST_EFFECTS];
    int effects;
};

/* The configuration, which a spare's place may change, must live as long. */
void machine_start (struct machine *machine, const struct supervisor_config *config, int64_t now);

/* The next effect, which is to be performed before the next input; false if there is none. */
bool machine_effect (struct machine *machine, struct effect *effect);

/* Inputs. `now` never decreases. */

/* It has a process; its program may start later, or not: machine_cannot_begin (). */
void machine_begun (struct machine *machine, int64_t now);
void machine_cannot_begin (struct machine *machine, int64_t now, const char *why);

/* A process has ended: the program; or the fork server, or what else makes another life impossible. */
void machine_program_ended (struct machine *machine, int64_t now, int status, bool unstarted,
                            bool out_of_memory);
void machine_no_life (struct machine *machine, int64_t now, const char *why);

void machine_signal (struct machine *machine, int64_t now, const struct signal *signal);
void machine_slurmstepd_died (struct machine *machine, int64_t now);

/* SIGKILL reaches no process of the task that is left, because all are other users'. */
void machine_cannot_kill (struct machine *machine, int64_t now);

/* True if a goal can be taken now. What it says of an end counts if it has arrived with the last report. */
bool machine_listens (const struct machine *machine);
void machine_goal (struct machine *machine, int64_t now, const struct goal *goal);

/* What the connection is now; before each look. */
void machine_link (struct machine *machine, int64_t now, const struct link *link);

/*
 * Time has passed: by machine_due () at the latest, and after every other input, machine_look () is called.
 * Of the sight, only what machine_asks () names counts.
 */
enum {
    MACHINE_ASKS_LEFT = 1,          /* .left */
    MACHINE_ASKS_UNSTARTED = 2,     /* .unstarted */
    MACHINE_ASKS_REACTION = 4,      /* .reaction */
};
struct sight {
    bool left;                      /* the task has processes */
    bool unstarted;                 /* the program is not executed yet */
    enum signals_reaction reaction; /* of the program to SIGTERM */
};
int machine_asks (struct machine *machine, int64_t now);
void machine_look (struct machine *machine, int64_t now, const struct sight *sight);
int64_t machine_due (const struct machine *machine);

/* Since when the task has ended, because the rendezvous may have died; or INT64_MAX: it may live. */
int64_t machine_lost_since (const struct machine *machine);

/* Slurm suspends the job, and stops this process soon. False when it has not, or has resumed the job. */
bool machine_is_suspended (const struct machine *machine, int64_t now);

/* The signal by which Slurm or the user has asked the task to end, as far as it runs; 0: none. *at: when. */
int machine_asked (const struct machine *machine, int64_t *at);

/* True if the task may have another life. */
bool machine_can_restart (const struct machine *machine);

/* What to report of the life, which has ended. Its text lives as long as the machine. */
struct life_report machine_life (const struct machine *machine, int64_t now);

#endif
