/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How a launch ends that does not succeed: srun is gone, ranks do not come, vanish, or cannot
 * take part. tf-rendezvous says so once, refuses every rank, and ends by itself.
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "config.h"
#include "simulation.h"

#define TASKS 8
/* Answers of 22 KB, sent from 4 KB. */
#define READERS 1000

/* Ranks from..TASKS-1 come. */
static void _come (const struct launch *launch, int rank[TASKS], int from)
{
    for (int i = from; i < TASKS; i++)
        rank[i] = rank_come (launch, i);
    knock (launch);
}

/* All of them are refused, also the ones that come only now; then it ends, with srun. */
static void _expect_refused (struct launch *launch, int rank[TASKS], int from)
{
    for (int i = from; i < TASKS; i++)
        expect_refused (launch, rank[i]);
    for (int i = 0; i < from; i++)
        expect_refused (launch, rank_come (launch, i));
    launch_abandon (launch);
    launch_expect_end (launch);
}

/* Until it has said so, as long as that may take. */
static void _await_word (const struct launch *launch, int64_t at_least_us, int64_t at_most_us)
{
    const struct timespec breath = { .tv_nsec = 10000000 };
    int64_t begin = now_us ();

    while (console_text (launch)[0] == '\0') {
        if (now_us () - begin > at_most_us)
            die ("tf-rendezvous has said nothing after %.1f s", (double)at_most_us / 1e6);
        nanosleep (&breath, NULL);
    }
    if (now_us () - begin < at_least_us)
        die ("too early, tf-rendezvous said \"%s\"", console_text (launch));
}

/* srun is gone. */

static void _gone_before_configuration (const void *with __attribute__ ((unused)))
{
    struct launch launch = { .tasks = TASKS };
    struct frame *frame;
    const void *bytes;
    size_t length;
    int status;

    launch_begin_unconfigured (&launch);
    frame = launch_configuration (&launch);
    bytes = frame_bytes (frame, 0, &length);
    give (launch.srun, bytes, length / 2);
    frame_destroy (frame);
    launch_abandon (&launch);
    if (waitpid (launch.pid, &status, 0) < 0 || !WIFEXITED (status) || WEXITSTATUS (status) != 1)
        die ("tf-rendezvous ended with status %#x", (unsigned int)status);
}

static void _gone_before_ranks (const void *with __attribute__ ((unused)))
{
    struct launch launch = { .tasks = TASKS };
    int fd;

    launch_begin (&launch);
    fd = dial (&launch);
    launch_abandon (&launch);
    launch_expect_end (&launch);
    expect_nothing (fd);
    console_expect (&launch, "");
}

static void _gone_in_barrier (const void *with __attribute__ ((unused)))
{
    struct launch launch = { .tasks = TASKS };
    int rank[TASKS];

    launch_begin (&launch);
    _come (&launch, rank, 1);
    launch_abandon (&launch);
    launch_expect_end (&launch);
    for (int i = 1; i < TASKS; i++)
        expect_nothing (rank[i]);
    console_expect (&launch, "");
}

/* As scancel does it: the ranks die one after the other, then srun. */
static void _gone_with_its_ranks (const void *with __attribute__ ((unused)))
{
    struct launch launch = { .tasks = TASKS };
    int rank[TASKS];

    launch_begin (&launch);
    _come (&launch, rank, 1);
    for (int i = 1; i < TASKS; i++) {
        const struct timespec tenth = { .tv_nsec = 100000000 };

        close (rank[i]);
        nanosleep (&tenth, NULL);
    }
    launch_abandon (&launch);
    launch_expect_end (&launch);
    console_expect (&launch, "");
}

static void _gone_while_answering (const void *with __attribute__ ((unused)))
{
    struct launch launch = { .tasks = READERS, .buffer = 4096 };
    int rank[READERS];

    launch_begin (&launch);
    for (int i = 0; i < READERS; i++)
        rank[i] = rank_come (&launch, i);
    expect_right (&launch, 0, rank[0]);
    launch_abandon (&launch);
    launch_expect_end (&launch);
    for (int i = 1; i < READERS; i++)
        expect_partial (rank[i]);
    console_expect (&launch, "");
}

/* Ranks do not come. */

static void _late (const void *with __attribute__ ((unused)))
{
    struct launch launch = { .tasks = TASKS, .timeout = 1 };
    int rank[TASKS];

    launch_begin (&launch);
    _come (&launch, rank, 3);
    _await_word (&launch, 0, 3000000);
    _expect_refused (&launch, rank, 3);
    console_expect (&launch, "srun: error: spank_tf: step 12.0: 3 of 8 ranks did not register "
                    "within 1 s: rank 0 (ps 0) on n0, rank 1 (worker 0) on n0, rank 2 (worker 1) "
                    "on n1\n");
}

static void _nobody (const void *with __attribute__ ((unused)))
{
    struct launch launch = { .tasks = TASKS, .timeout = 1 };
    int rank[TASKS];

    launch_begin (&launch);
    _await_word (&launch, 0, 3000000);
    _expect_refused (&launch, rank, TASKS);
    console_expect (&launch, "srun: error: spank_tf: step 12.0: no rank registered within 1 s\n");
}

/* Ranks vanish. */

static void _vanished (const void *with __attribute__ ((unused)))
{
    struct launch launch = { .tasks = TASKS };
    int rank[TASKS];

    launch_begin (&launch);
    _come (&launch, rank, 1);
    close (rank[2]);
    _await_word (&launch, 500000, 3000000);
    rank[2] = rank_come (&launch, 2);
    _expect_refused (&launch, rank, 1);
    console_expect (&launch, "srun: error: spank_tf: step 12.0: 1 of 8 ranks ended before the "
                    "launch was complete: rank 2 (worker 1) on n1\n");
}

static void _vanished_and_back (const void *with __attribute__ ((unused)))
{
    struct launch launch = { .tasks = TASKS };
    const struct timespec tenth = { .tv_nsec = 100000000 };
    int rank[TASKS];
    char byte;

    launch_begin (&launch);
    _come (&launch, rank, 1);
    for (int i = 1; i < TASKS; i++) {
        close (rank[i]);
        rank[i] = rank_come (&launch, i);
    }
    /*
     * One that is back before the news of its end is shown out and dials again, as ranks do.
     * By the end of this they would have been missed.
     */
    for (int tenths = 0; tenths < 15; tenths++) {
        nanosleep (&tenth, NULL);
        for (int i = 1; i < TASKS; i++)
            if (recv (rank[i], &byte, 1, 0) == 0) {
                close (rank[i]);
                rank[i] = rank_come (&launch, i);
            }
    }
    rank[0] = rank_come (&launch, 0);
    for (int i = 0; i < TASKS; i++)
        expect_right (&launch, i, rank[i]);
    launch_expect_end (&launch);
    console_expect (&launch, "");
}

/* Ranks cannot take part. */

static void _no_port (const void *with __attribute__ ((unused)))
{
    struct launch launch = { .tasks = TASKS };
    struct simulated other;
    int rank[TASKS];

    launch_begin (&launch);
    _come (&launch, rank, 2);
    rank_simulate (&launch, 1, &other);
    other.rank.error = "no port of 30000-30001 is free";
    rank[1] = dial (&launch);
    give_frame (rank[1], rank_encode (&other.rank, launch.rendezvous.token));
    _expect_refused (&launch, rank, 1);
    console_expect (&launch, "srun: error: spank_tf: step 12.0: rank 1 (worker 0) on n0: no "
                    "port of 30000-30001 is free\n");
}

/* Of another protocol: nobody can count it, so the others are told, and srun ends the step. */
static void _other_version (const void *with __attribute__ ((unused)))
{
    struct launch launch = { .tasks = TASKS };
    struct frame *frame = frame_create ();
    int rank[TASKS], other;
    unsigned char bytes[512];
    const void *whole;
    size_t length;

    launch_begin (&launch);
    _come (&launch, rank, 1);
    frame_add (frame, "TOKEN", "%s", launch.rendezvous.token);
    frame_add (frame, "RELEASE", "7.0.0");
    frame_add (frame, "NODE", "n0");
    frame_add (frame, "SHAPE", "of those times");
    whole = frame_bytes (frame, 0, &length);
    memcpy (bytes, whole, length);
    frame_destroy (frame);
    bytes[5] = FRAME_VERSION + 6;
    other = dial (&launch);
    give (other, bytes, length);
    expect_refused (&launch, other);
    for (int i = 1; i < TASKS; i++)
        expect_refused (&launch, rank[i]);
    launch_abandon (&launch);
    launch_expect_end (&launch);
    console_expect (&launch, "srun: error: spank_tf: n0 has spank-tf 7.0.0 (protocol 7), srun's "
                    "host " PACKAGE_VERSION " (protocol 1): they cannot talk\n");
}

int main (void)
{
    bool kept = true;

    files_raise (2 * READERS);
    kept &= promise ("srun gone before it has told all: tf-rendezvous ends",
                     _gone_before_configuration, NULL);
    kept &= promise ("srun gone before any rank came: it ends at once, without a word",
                     _gone_before_ranks, NULL);
    kept &= promise ("srun gone while ranks wait: it ends at once, and they know",
                     _gone_in_barrier, NULL);
    kept &= promise ("srun gone after its ranks, one by one: nobody complains",
                     _gone_with_its_ranks, NULL);
    kept &= promise ("srun gone while answers are half sent: it ends at once, no half is a whole",
                     _gone_while_answering, NULL);
    kept &= promise ("ranks that do not come are named at the deadline, and all are refused",
                     _late, NULL);
    kept &= promise ("no rank at all: so it says, and refuses who comes later", _nobody, NULL);
    kept &= promise ("a rank that vanishes is named within two seconds, and all are refused",
                     _vanished, NULL);
    kept &= promise ("ranks that vanish and come back at once are right", _vanished_and_back,
                     NULL);
    kept &= promise ("a rank without a port is named with its reason, and all are refused",
                     _no_port, NULL);
    kept &= promise ("a rank of another version is named, and all are refused", _other_version,
                     NULL);
    return kept ? 0 : 1;
}
