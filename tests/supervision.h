/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A supervised task without Slurm: this process plays slurmstepd and the rendezvous, a
 * function is the task's program, tf-supervise is the real one, started as a rank starts it.
 *
 *     SPANK_TF_SUPERVISE       the program to start, if not this build's; words before it are
 *                              a wrapper
 *
 * Whatever is not as it should be ends the process with one line.
 */
#ifndef TF_SUPERVISION_H
#define TF_SUPERVISION_H

#include <stdbool.h>
#include <stdnoreturn.h>
#include <sys/types.h>

#include "frame.h"

#define TASK_TOKEN "0123456789abcdef0123456789abcdef"
#define TASK_PROOF "fedcba9876543210fedcba9876543210"

/* Programs. One that returns exits with 0. */

/* Nothing that a program starts lives longer than this, whatever becomes of the test. */
#define PROGRAM_LIFE_S 120

noreturn void program_live (void);
void program_say (const char *text);    /* on stdout */

void program_lives (void);              /* "up " */
void program_is_deaf (void);            /* "up "; it ignores SIGTERM */
void program_exits_3 (void);

/*
 * "up ", and then each signal as it comes, "number:value ". At SIGHUP it signals its group, at
 * SIGQUIT it exits with 5.
 */
void program_counts_signals (void);

struct task {
    void (*program) (void);     /* what the caller chooses */
    int grace;                  /* seconds */
    bool forward, speaker;
    bool brief;                 /* the rendezvous will have no last words */
    bool late;                  /* the program has ended before there is a tf-supervise */
    bool odd;                   /* tf-supervise is not told what it needs */
    uid_t user;                 /* whose it is, 0: ours */
    bool foreign;               /* the program stays ours */
    int console;                /* its stderr, 0: a file for task_expect_said () */
    int terminal;               /* its controlling terminal, 0: none */

    pid_t pid;                  /* ... and what task_begin () fills in: tf-supervise's */
    pid_t program_pid;
    int listener, port;
    int line;                   /* the rendezvous' end of the connection */
    int output;                 /* what the program writes */
};

/* Milliseconds that are enough for everything that happens at once. */
int at_once_ms (void);

/* tf-supervise runs under a wrapper; or that or sanitized, so not as users have it. */
bool task_is_wrapped (void);
bool task_is_instrumented (void);

/* Start it, and wait until it is up; then until the program has written that, and say STOP. */
void task_begin (struct task *task);
void task_begin_and_stop (struct task *task, const char *output);

/* End all that is left; it is done at exit as well. */
void task_clean_up (void);

/* From now on there is somebody at the rendezvous' port, or nobody. */
void task_listen (struct task *task, bool listening);

/* The rendezvous says KEY=1. */
void task_tell (const struct task *task, const char *key);

/* The rendezvous closes the connection, or resets it. */
void task_hang_up (struct task *task, bool reset);

/* A report of that, and nothing before it. */
void task_expect_report (const struct task *task, const char *ended);

/* tf-supervise hangs up, or has done so. */
void task_expect_hang_up (struct task *task);

/* It dials again, and says who it is; and how its task ended, NULL if it still runs. */
void task_expect_redial (struct task *task, const char *ended);

/* It ends with that wait status, now, and without a core file. */
void task_expect_end (struct task *task, int status);
void task_expect_end_within (struct task *task, int status, int ms);

/* The report is acknowledged: it hangs up, and ends. */
void task_dismiss (struct task *task, int status);

/* Report, acknowledgement, end: as it goes when nothing is in the way. */
void task_expect_farewell (struct task *task, const char *ended, int status);

/* It goes so, nobody is left, and nobody had anything to say. */
void task_expect_stopped (struct task *task);

/* That report, and it ends, before it is answered; or else it is, and ends then. */
bool task_ends_unanswered (struct task *task, const char *ended, int status);

/* It still runs, after a moment in which it could have ended. */
void task_expect_alive (const struct task *task);

/* None of its descendants is left, nor was. */
void task_expect_nobody (void);

/* What the program writes next is that; or nothing, in that moment. */
void task_expect_output (const struct task *task, const char *text);
void task_expect_silence (const struct task *task);

/* So many bytes come until nobody has the output open any more. */
size_t task_drain (const struct task *task);

/* All that tf-supervise and the program have said on stderr. */
void task_expect_said (const struct task *task, const char *text);

/* R, S, T, Z ... of any process; - when there is none. */
char task_state (pid_t pid);
void task_await_state (pid_t pid, char state);

/* "VmRSS", ...: a number of tf-supervise's in /proc/PID/status. */
long task_status (const struct task *task, const char *key);

/* tf-supervise is linked statically. */
bool task_is_static (const struct task *task);

/* It sleeps, and goes on sleeping. */
void task_expect_idle (const struct task *task);

/* It has one connection, whose end would be noticed. */
void task_expect_keepalive (const struct task *task);

/* Its input, output and errors are nobody's, and it has nothing more than it was given. */
void task_expect_descriptors (const struct task *task);

#endif
