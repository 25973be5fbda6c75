/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A launch without Slurm: the program plays srun and every rank, tf-rendezvous is the real
 * one, started as srun starts it. Its list is "ps,worker:rest"; two ranks share a node, n0,
 * n1, ..., and nodes have addresses from 10.200.100.0 on.
 *
 *     SPANK_TF_RENDEZVOUS      the program to start, if not this build's; words before it are
 *                              a wrapper, as in "valgrind -q /usr/libexec/tf-rendezvous"
 *
 * Whatever is not as it should be ends the process with one line.
 */
#ifndef TF_SIMULATION_H
#define TF_SIMULATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdnoreturn.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "frame.h"
#include "rank.h"
#include "rendezvous.h"

/* Everything that is answered is answered within this: less than any patience of ours. */
#define AT_ONCE_MS 5000

/* tf-rendezvous runs under a wrapper; or at its own speed, in its own memory, not sanitized. */
bool wrapped (void);
bool as_built (void);

noreturn void die (const char *fmt, ...) __attribute__ ((format (printf, 1, 2)));

int64_t now_us (void);

/* As many open files as we may have. Where these are too few the process ends as skipped. */
void files_raise (int needed);

struct launch {
    int tasks;              /* what the caller chooses ... */
    int timeout;            /* seconds, 0: 300 */
    bool show;
    int files;              /* tf-rendezvous' limit on open files, 0: ours */
    int buffer;             /* bytes that the kernel takes of an answer ahead of its reader, 0: any */
    int console;            /* its stderr, 0: a file for console_text () */
    int short_ports;        /* so many ranks have a port of four digits */

    pid_t pid;              /* ... and what launch_begin () fills in */
    int srun;               /* srun's end of the socket */
    struct rendezvous rendezvous;
    struct rusage usage;    /* when it has ended */
};

/* Start tf-rendezvous, and wait until it is up; or without the configuration it needs. */
void launch_begin (struct launch *launch);
void launch_begin_unconfigured (struct launch *launch);
struct frame *launch_configuration (const struct launch *launch);

/* srun is gone. */
void launch_abandon (struct launch *launch);

/* It ends by itself, now, without an error. */
void launch_expect_end (struct launch *launch);

/* All that it has said: the text is static. */
const char *console_text (const struct launch *launch);
void console_expect (const struct launch *launch, const char *text);

/* What a rank tells. Strings live in *rank. */
struct simulated {
    struct rank rank;
    char node[16];
    char node_ranks[32];
    char step_nodes[32];
    char step_node_tasks[32];
};

void rank_simulate (const struct launch *launch, int number, struct simulated *rank);

/* The length of the longest TF_CONFIG, the last worker's. */
size_t config_longest (const struct launch *launch);

/* The registration of that rank as a frame. */
struct frame *rank_frame (const struct launch *launch, int number);

/* A connection to the rendezvous; non-blocking. */
int dial (const struct launch *launch);
/* Whoever closes early is the one to complain, or not: false when not all could be sent. */
bool give (int fd, const void *bytes, size_t length);
bool give_frame (int fd, struct frame *frame);

/* A rank registers: dial, and give its frame. */
int rank_come (const struct launch *launch, int number);

/* The whole answer, to be destroyed; NULL when the connection ends before, or at the time. */
struct frame *answer_await (int fd, int ms);

/* Wait until tf-rendezvous has heard what was said before: it shows somebody the door. */
void knock (const struct launch *launch);

/* One connection's end, closed after it: */
void expect_right (const struct launch *launch, int number, int fd);
void check_right (const struct launch *launch, int number, const struct frame *answer);
void expect_refused (const struct launch *launch, int fd);
void expect_nothing (int fd);           /* not a byte */
void expect_partial (int fd);           /* some bytes, and never the whole */

/*
 * All ranks at once, played by this process: each dials the port, sends its registration and
 * reads its answer, of which `hear` is told.
 */
typedef void crowd_hear (void *arg, int number, struct frame *answer);
void crowd_play (int port, struct frame *const *registration, int ranks, crowd_hear *hear,
                 void *arg);

/*
 * A promise, one line on stdout. It is kept when keep (with) returns, in a process of its own,
 * so that the next one does not suffer from it; skip () says that it cannot be tried here.
 */
noreturn void skip (const char *reason);
bool promise (const char *sentence, void (*keep) (const void *with), const void *with);

/* A process that goes on with it until its parent ends. */
pid_t meanwhile (void (*act) (const struct launch *launch), const struct launch *launch);

#endif
