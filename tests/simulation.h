/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A launch without Slurm: the test plays srun and every rank; tf-rendezvous is the real program
 * and is started as srun starts it. The task list is "ps,worker:rest". Two ranks share a node;
 * nodes are called n0, n1, ... and have addresses from 10.200.100.0 on.
 *
 *     SPANK_TF_RENDEZVOUS      the program to start instead of this build's tf-rendezvous; may
 *                              begin with a wrapper: "valgrind -q /usr/libexec/tf-rendezvous"
 *
 * A function that finds something wrong prints one line and exits with 1.
 */
#ifndef TF_SIMULATION_H
#define TF_SIMULATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdnoreturn.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "protocol/contact.h"
#include "protocol/frame.h"
#include "protocol/registration.h"

/*
 * A program that has something to do at once does it within this time. It is shorter than every
 * timeout of tf-rendezvous and tf-supervise, so a reaction cannot be a timeout.
 */
#define REACTION_MS 5000

#define COUNT(array) (sizeof (array) / sizeof ((array)[0]))

/*
 * Execute the program that the variable has, which may begin with a wrapper such as valgrind, or otherwise
 * this build's; does it begin with one?
 */
noreturn void program_execute (const char *variable, const char *built);
bool program_is_wrapped (const char *variable);

bool rendezvous_is_wrapped (void);

/* ... or with a sanitizer: its speed and its memory are not those of an installed one. */
bool rendezvous_is_instrumented (void);

/* Print the line and exit with 1. */
noreturn void die (const char *fmt, ...) __attribute__ ((format (printf, 1, 2)));

/* CLOCK_MONOTONIC in microseconds. */
int64_t now_us (void);

/* Raise the limit on open files to the hard limit. If that is below `needed`, skip the test. */
void raise_file_limit (int needed);

/* Tests. */

/*
 * TEST ("what it shows") { ... } is a test: it runs because it is there. run_tests () runs those of the file
 * in their order, each in a child process, and prints the sentence with its result. It returns true if all
 * have passed or were skipped. It is all that main () does, unless a program has one of its own.
 * A SLOW_TEST, which mostly waits, runs beside all others.
 */
/* clang-format off */
#define TEST(sentence) TEST_OF_LINE (sentence, false, __LINE__)
#define SLOW_TEST(sentence) TEST_OF_LINE (sentence, true, __LINE__)
#define TEST_OF_LINE(sentence, slow, line) TEST_WITH_LINE (sentence, slow, line)
#define TEST_WITH_LINE(sentence, slow, line) \
    static void _test_of_line_##line (const void *arg); \
    static void __attribute__ ((constructor (101 + (line)))) _add_test_of_line_##line (void) \
    { \
        add_test (sentence, slow, _test_of_line_##line, NULL); \
    } \
    static void _test_of_line_##line (const void *arg __attribute__ ((unused)))
/* clang-format on */

void add_test (const char *sentence, bool slow, void (*function) (const void *arg), const void *arg);
bool run_tests (void);

/* Called by a test that cannot run here. */
noreturn void skip (const char *reason);

struct launch;

/* Call the function again and again in a child process, until this process exits. */
pid_t repeat_in_background (void (*function) (const struct launch *launch), const struct launch *launch);

/* srun's side. */

struct launch {
    int tasks;              /* the test sets these: */
    int timeout;            /* seconds, 0: 300 */
    bool show;              /* --tf-show, which makes the tasks supervised */
    bool stops;             /* the ps is stopped in the end */
    int watchdog;           /* seconds; 0: the tasks are not watched */
    int file_limit;         /* tf-rendezvous' hard limit on open files; 0: this process' limits.
                               The soft limit is 1,024 then, as most users have it */
    int socket_buffer;      /* of both ends of a connection, in bytes; 0: the kernel's default */
    int stderr_fd;          /* tf-rendezvous' stderr, 0: a file for stderr_text () */
    int short_ports;        /* so many ranks have a port of four digits */

    pid_t pid;              /* launch_start () sets these: */
    int srun;               /* srun's end of the socket to tf-rendezvous */
    struct contact contact;
    struct rusage usage;    /* after launch_expect_exit () */
};

/* Start tf-rendezvous and wait until it accepts connections. */
void launch_start (struct launch *launch);

/* Start tf-rendezvous. It waits for the configuration on launch->srun. */
void launch_start_unconfigured (struct launch *launch);
struct frame *launch_encode_config (const struct launch *launch);

/* srun ends: its end of the socket is closed. */
void launch_end_srun (struct launch *launch);

/* Wait until tf-rendezvous has processed everything that was sent to it before. */
void launch_wait_processed (const struct launch *launch);

/* tf-rendezvous exits with 0 now; if the tasks are supervised, when srun ends. */
void launch_expect_exit (struct launch *launch);

/* What tf-rendezvous has printed to stderr. The text is static. */
const char *stderr_text (const struct launch *launch);

/*
 * Require that it is this. On a busy machine it may take so long until all ranks have registered that
 * tf-rendezvous prints how many are late: such lines may come besides, if the text has none.
 */
void expect_stderr (const struct launch *launch, const char *text);

/* The ranks' side. */

/* A rank's registration, and room for its strings. */
struct simulated {
    struct registration rank;
    char node[16];
    char step_nodes[32];
    char step_node_tasks[32];
};

void simulate_rank (const struct launch *launch, int number, struct simulated *rank);

/* The registration of that rank as a frame. */
struct frame *encode_registration (const struct launch *launch, int number);

/* The length of the launch's longest TF_CONFIG, the last worker's. */
size_t longest_tf_config (const struct launch *launch);

/* A new connection to the rendezvous. It is non-blocking. */
int connect_to_rendezvous (const struct launch *launch);

/* False if the other end does not take all bytes, or has closed the connection. */
bool send_all (int fd, const void *bytes, size_t length);

/* The same for a frame, which is destroyed. */
bool send_frame (int fd, struct frame *frame);

/* Connect and send that rank's registration. Returns the connection. */
int register_rank (const struct launch *launch, int number);

/* The same for all ranks; rank[] is for their connections. */
void register_all (const struct launch *launch, int rank[]);

/* A frame, to be destroyed; NULL if none is complete when the connection or the time ends. */
struct frame *receive_frame (int fd, int ms);

/* The answer is the right one for that rank; or it is a refusal. */
void check_answer (const struct launch *launch, int number, const struct frame *answer);
void check_refusal (const struct launch *launch, const struct frame *answer);

/* Receive and check what comes on the connection, reply to an answer, then close it. */
void expect_answer (const struct launch *launch, int number, int fd);
void expect_refusal (const struct launch *launch, int fd);

/* Every rank gets its answer, and then tf-rendezvous exits. */
void expect_launched (struct launch *launch, const int rank[]);

void expect_no_data (int fd);           /* it is closed without a single byte */
void expect_incomplete_answer (int fd); /* it is closed before the answer is complete */

/*
 * All ranks at once: each connects, sends registration[number], receives its answer and
 * acknowledges it. The answer is passed to on_answer ().
 */
typedef void answer_callback (void *arg, int number, struct frame *answer);
void register_ranks (int port, struct frame *const *registration, int ranks, answer_callback *on_answer,
                     void *arg);

#endif
