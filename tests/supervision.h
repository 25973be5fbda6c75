/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A supervised task without Slurm: the test plays slurmstepd and the rendezvous, and one of its
 * functions is the task's program. tf-supervise is the real program and is started as a task's
 * process starts it.
 *
 *     SPANK_TF_SUPERVISE       the program to start instead of this build's tf-supervise; may
 *                              begin with a wrapper such as valgrind
 *
 * A function that finds something wrong prints one line and exits with 1.
 */
#ifndef TF_SUPERVISION_H
#define TF_SUPERVISION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdnoreturn.h>
#include <sys/types.h>

#include "protocol/goal.h"
#include "protocol/status.h"

#define TASK_TOKEN "0123456789abcdef0123456789abcdef"
#define TASK_SERVER_TOKEN "fedcba9876543210fedcba9876543210"

/* Something that must not happen would have happened within this time. */
#define MOMENT_MS 300

/* Programs. One that returns exits with 0. */

/* No process of a program lives longer than this, even if the test is killed. */
#define PROGRAM_LIFE_S 120

noreturn void program_wait (void);      /* until a signal ends it */
void program_print (const char *text);  /* to stdout */

void program_sleeps (void);             /* prints "up " */
void program_ignores_sigterm (void);    /* prints "up " */
void program_exits_3 (void);

/*
 * Prints "up ", and then the number of every signal that it gets. At SIGQUIT it exits with 5.
 */
void program_prints_signals (void);

/* What a goal changes. All but ORDER_STOP say that the last report has arrived. */
enum order {
    ORDER_RUN,
    ORDER_STOP,
    ORDER_WAIT,                 /* nothing is to run */
    ORDER_TELL,
    ORDER_EXIT,
};

struct task {
    void (*program) (void);     /* the test sets these: */
    int stop_grace;             /* seconds from SIGTERM to SIGKILL */
    int kill_wait;              /* Slurm's KillWait in seconds, 0: tf-supervise does not know it */
    bool forward_signals, serves, prints;
    int restarts;               /* after any failure; 0: the task may not be restarted */
    int lost_after;             /* ... with spare tasks; 0: there are none */
    bool spare;                 /* ... and it is one */
    int watchdog; /* seconds; 0: the task is not watched */
    int notify; /* its socket for messages, above those of tf-supervise; 0: none */
    int sender; /* ... and the other end, which exec does not close; */
    const char *early; /* this is sent on it before tf-supervise learns of a life; or NULL */
    bool slurmstepd_dies;       /* the test can kill it: slurmstepd is not this process */
    bool misconfigured;         /* STOP_GRACE is malformed in tf-supervise's configuration */
    bool starts_nothing;        /* the program does not start */
    int stderr_fd;              /* of both, 0: a file for task_expect_stderr () */

    pid_t slurmstepd;           /* task_start () sets these; this one only if it is 0 */
    pid_t pid;                  /* of tf-supervise */
    pid_t fork_server;
    pid_t program_pid;          /* of the first life */
    int listener, port;         /* the rendezvous' */
    int connection;             /* the rendezvous' end */
    int output;                 /* where the program's stdout can be read */
    int life;                   /* task_expect_reconnect () sets it: which one has ended, or -1 */
    int ago_ms;                 /* the last exit report says how long ago, */
    int report;                 /* ... and its number */
    struct goal goal;           /* the last */
};

/*
 * Longer than REACTION_MS: the fork bombs of the tests take the processors from all others that run beside
 * them. A wrapper or a sanitizer makes tf-supervise slow as well.
 */
int task_reaction_ms (void);

/* tf-supervise runs under a wrapper; or with a sanitizer or under a wrapper. */
bool task_is_wrapped (void);
bool task_is_instrumented (void);

/* Start tf-supervise and its program, and wait until tf-supervise can handle signals. */
void task_start (struct task *task);

/* Kill every descendant of this process. Every test does it at its end. */
void task_kill_descendants (void);

/* The rendezvous' side. */

/* Listen on the rendezvous' port; or close the socket, so that connections are refused. */
void task_open_listener (struct task *task);
void task_close_listener (struct task *task);

/* Close the rendezvous' end of the connection. */
void task_close_connection (struct task *task);
void task_reset_connection (struct task *task);

void task_send_order (struct task *task, enum order order);

/* The same, and a life is to begin. */
void task_send_life (struct task *task, int life);

/* Send ORDER_EXIT. tf-supervise resets the connection and exits with that wait status. */
void task_order_exit (struct task *task, int status);

/* The next frame on the connection that is not about activity; NULL: there is none. */
struct frame *task_receive_report (struct task *task, struct status *status);
/* ... is this exit report. */
void task_expect_report (struct task *task, const char *report);

/* The next frame on the connection is about activity. */
struct signs task_expect_signs (const struct task *task);

/* tf-supervise closes the connection without sending anything more. */
void task_expect_close (struct task *task);

/* tf-supervise connects again, with this exit report, or without one if that is NULL. */
void task_expect_reconnect (struct task *task, const char *report);

/* What slurmstepd sees. */

/* tf-supervise exits with that wait status now (so without a core file). */
void task_expect_exit (struct task *task, int status);

/* The usual end: exit report, ORDER_EXIT, exit. */
void task_expect_report_and_exit (struct task *task, const char *report, int status);

/* The end of a stopped task: the same; no descendant is left, and nothing was printed. */
void task_expect_stopped (struct task *task);

/* tf-supervise still runs after MOMENT_MS, in which it could have exited. */
void task_expect_running (const struct task *task);

/* This process has no descendants any more, and no zombies. */
void task_expect_no_descendants (void);

/* The program's next output is this text; or there is none for MOMENT_MS. */
void task_expect_output (const struct task *task, const char *text);
void task_expect_no_output (const struct task *task);

/* All that tf-supervise and the program have printed to stderr, now or soon. */
void task_expect_stderr (const struct task *task, const char *text);

/* The state of any process as in /proc/PID/stat: R, S, T, Z, ...; '-' if it does not exist. */
char process_state (pid_t pid);
void process_await_state (pid_t pid, char state);

/* All that a process can block: SIGKILL and SIGSTOP are not, nor 32 and 33, which glibc reserves. */
void send_all_signals (pid_t pid);

/* For a second tf-supervise uses no CPU time and does not wake up. */
void task_expect_idle (const struct task *task);

/* tf-supervise has one connection, and keepalive is on. */
void task_expect_keepalive (const struct task *task);

/*
 * tf-supervise has replaced its stdin, stdout and stderr, and closed a descriptor that it
 * inherited.
 */
void task_expect_descriptors (const struct task *task);

#endif
