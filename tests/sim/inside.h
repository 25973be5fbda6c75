/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The world from inside. The rendezvous' wire (rendezvous/supervisors.c), a supervisor's loop and its
 * connection (supervise/tf-supervise.c, uplink.c) are in these files once more, without sockets. What decides
 * is the real code. A file uses those that stand before it here, and none of those behind it.
 */
#ifndef TF_INSIDE_H
#define TF_INSIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "supervise/machine.h"
#include "world.h"

/* uplink.c's: the first pause before a connection is tried again; supervisors.c's: between two looks. */
#define PAUSE_MIN_MS 200
#define HEARD_MS 1000

#define MOST_EVENTS 2048
#define MOST_MESSAGES 4096
#define MOST_CONNECTIONS 512
#define MOST_INBOX 32
#define MOST_OUTAGES 8

enum side { SUPERVISOR, RENDEZVOUS };

struct message {
    enum { HELLO, STATUS, GOAL } kind;
    int connection;
    struct status status;
    char cannot[64];
    struct goal goal;
    bool answer;                    /* with it: */
    int generation, place, lost_after;
    bool serves, watched;
};

struct connection {
    int rank;
    bool up[2];
    int64_t last[2];                /* when the last message arrives there */
    int64_t unanswered; /* when the rendezvous first sent something on it that the cut has swallowed */
    int underway; /* messages to the supervisor that have not arrived; */
    bool aborted; /* ... and are not sent again */
};

struct event {
    int64_t at;
    int nth;
    enum {
        DELIVER,                    /* the message `a` to the rendezvous or a supervisor */
        BREAK, /* the kernel of side `b` gives up connection `a` if it is cut since `since` */
        TELL_RESET, /* side `b` of connection `a` sees a reset; */
        TELL_CLOSE, /* ... its end */
        CONNECTED, /* rank `a`, attempt `b` */
        SENT, /* the answer on connection `a` */
        DISTURB,
        CALM,
        STOP_ALL, /* SIGSTOP to a job that is suspended, for the `a`th time */
        KILL_STEP,
        EXIT_KNOWN, /* srun learns of the end of rank `a` */
        SIGNAL, /* of Slurm's, `b`, to the supervisor of rank `a` */
        GIVE_UP_NODE, /* Slurm does: `a` */
        SLURM_ANSWERS, /* the rendezvous */
    } kind;
    int a, b;
    int64_t since;
};

struct node {
    bool dead;
    int64_t cut_since, cut_until; /* no path to srun's host */
    int64_t refused_until; /* ... and its firewall says so */
    int64_t blocked_until; /* ... for Slurm neither */
    int64_t isolated_until; /* nor to any other host */
    struct {
        int64_t from, until;
    } outage[MOST_OUTAGES];
    int outages;
};

struct program {
    bool alive, stopped;
    int64_t stopped_at;
    int life, place, generation;
    const struct script *script;
    int64_t began, ends, ended; /* NEVER */
    int base; /* the step after which it goes on */
    int status;
    enum end_cause cause;
    bool ending; /* it handles SIGTERM */
    bool asked; /* its supervisor has asked it to end */
    bool others; /* a process in the background, */
    int64_t others_end;
};

struct supervisor {
    bool alive, frozen, left;
    int64_t busy_until; /* it passes output on */
    struct supervisor_config config;
    struct machine machine;
    bool fork_server, child_ended, had_life, orphaned;
    /* Its connection. */
    enum { CONNECTED_STATE, CONNECTING, PAUSING } state;
    int connection, attempt;
    int64_t next, stable;
    int pause_ms;
    struct link link;
    bool known, fresh;
    int report; /* the number of the report in its last status, or 0 */
    struct goal goal; /* the last */
    int inbox[MOST_INBOX], inbox_count;
    /* The answer. */
    bool has_answer;
    struct message answer;
    int generation, place;
    bool watched;
    enum signs_source told_source;
    bool told_overdue, asked_to_end;
    bool suspended; /* as it has told last */
    int told_step, highest; /* of its lives before this one */
    int64_t step_told_at;
    struct check_order check; /* the last one, */
    int64_t check_ends; /* ... or NEVER */
    struct check_report checked;
    struct signal pending[8];
    int pendings;
};

struct world {
    const struct plan *plan;
    struct history *history;
    bool print;
    uint64_t random;
    int64_t now;
    struct event event[MOST_EVENTS];
    int events, nth;
    struct message message[MOST_MESSAGES];
    int messages;
    struct connection connection[MOST_CONNECTIONS];
    int connections;
    struct node node[MOST_NODES];
    struct program program[MOST_RANKS];
    struct supervisor supervisor[MOST_RANKS];
    /* The rendezvous. */
    struct job *job;
    struct rank rank[MOST_RANKS];
    struct place place[MOST_RANKS];
    int places;
    char node_name[MOST_NODES][16];
    bool runs; /* the rendezvous */
    int its[MOST_RANKS]; /* connection of a rank, or -1 */
    int64_t asked_heard;
    bool rendezvous_frozen;
    bool dying; /* it is killed before it sends what it decides at this moment */
    int64_t frozen_until;
    int busy; /* performing facts */
    /* srun and Slurm. */
    bool srun, suspended;
    int suspensions;
    bool known[MOST_RANKS]; /* srun knows that it has ended */
    int exit_status[MOST_RANKS];
    int reached; /* the highest step of all programs that have ended */
    bool overflow;
};

/* The one that is played. */
extern struct world w;

/* events.c */

int events_below (int number);
struct event *events_push (int64_t at, int kind, int a, int b);
struct event events_pop (void);

/* notes.c */

void notes_hash (int64_t value);
struct note *notes_add (enum note_kind kind, int rank, int number);
void __attribute__ ((format (printf, 1, 2))) notes_say (const char *fmt, ...);

/* wire.c */

struct node *wire_node (int rank);
bool wire_is_cut (const struct node *node);
int64_t wire_delay (void);
void wire_send (int connection, enum side to, const struct message *message);
int64_t wire_heard (int rank, enum side side);
bool wire_awaits_answer (const struct supervisor *s);
int wire_broken_ms (int rank, enum side side);
void wire_close (int connection, enum side side, bool reset);
void wire_cut (int number);

/* programs.c */

int program_step (int rank);
void program_tell_clear (int rank);
void program_signal (int rank, int number, enum end_cause cause);
void program_kill_tree (int rank, enum end_cause cause);
void program_begin (int rank, int life);
struct signs program_signs (int rank);
int64_t program_signs_due (int rank);
int64_t program_others_due (const struct program *p);
void programs_stop (bool stop);
void programs_age (void);

/* links.c */

void link_hear (int rank);
void link_pause (int rank);
void link_fail (int rank, bool refused);
void link_connect (int rank);
void link_tell_status (int rank);
void link_connected (int rank);
void link_tell_suspension (int rank);

/* supervisors.c */

void supervisor_tell_srun (int rank);
void supervisor_perform (int rank);
int64_t supervisor_due (int rank);
void supervisor_run (int rank);
void supervisor_begin (int i);

/* rendezvous.c */

/* What it writes down. */
struct input {
    enum { LAUNCHED, TOLD_STATUS, ABSENT, RETURNED, TIMED, WIRED, ANSWERED } kind;
    int64_t now, heard;
    int rank, ms;
    bool silent;
    enum rank_link link;
    struct status status;
    char cannot[64];
    struct slurm_job slurm;
};

/* Its journal is empty. */
void rendezvous_forget (void);
void rendezvous_take (const struct input *in);
bool rendezvous_is_up (int rank);
void rendezvous_lose (int rank, int ms);
void rendezvous_note_places (void);
void rendezvous_perform_facts (void);
void rendezvous_end (void);
void rendezvous_begin_again (void);
void rendezvous_check (void);
void rendezvous_receive (struct message *message);
void rendezvous_hear_slurm (void);
void rendezvous_begin_rank (int i);

/* slurm.c */

void slurm_end_srun (int least);
void slurm_know_exit (int rank);
void slurm_lose_supervisor (int rank);
void slurm_kill_supervisor (int rank);
void slurm_kill_step (void);
/* To a supervisor. */
void slurm_signal (int rank, int number, bool from_slurm);
void slurm_signal_step (int number);
void slurm_suspend (int64_t lasts);
void slurm_freeze (bool freeze);
void slurm_resume (void);

/* disturbances.c */

void disturbance_begin (int number);
void disturbance_end (int number);

#endif
