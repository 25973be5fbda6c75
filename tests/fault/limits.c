/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a launch does not fit into: the limit on open files, the longest string that Linux
 * takes, and a stderr that takes nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "simulation.h"

#define TASKS 8
/* OWN_FILES of tf-rendezvous.c: what it needs beside its ranks' connections. */
#define OWN_FILES 32
/* The longest TF_CONFIG: with its name, '=' and NUL it stays below 128 KiB. */
#define LONGEST 131060

/* Open files. */

static void _few_files (const void *with __attribute__ ((unused)))
{
    struct launch launch = { .tasks = TASKS, .files = OWN_FILES + TASKS - 1 };
    int rank[TASKS];

    if (wrapped ())
        skip ("the wrapper takes files of its own");
    launch_begin (&launch);
    for (int i = 0; i < TASKS; i++)
        rank[i] = rank_come (&launch, i);
    for (int i = 0; i < TASKS; i++)
        expect_refused (&launch, rank[i]);
    launch_abandon (&launch);
    launch_expect_end (&launch);
    console_expect (&launch, "srun: error: spank_tf: step 12.0 runs 8 tasks, srun may have 39 "
                    "open files, which do for 7; see `ulimit -Hn`\n");
}

/* Strangers have taken every file that ranks do not need, and those too. */
static void _just_enough_files (const void *with __attribute__ ((unused)))
{
    struct launch launch = { .tasks = TASKS, .files = OWN_FILES + TASKS };
    int rank[TASKS], stranger[100];

    if (wrapped ())
        skip ("the wrapper takes files of its own");
    launch_begin (&launch);
    for (int i = 0; i < 100; i++)
        give (stranger[i] = dial (&launch), "SpTF", 4);
    for (int i = 0; i < TASKS; i++)
        rank[i] = rank_come (&launch, i);
    for (int i = 0; i < TASKS; i++)
        expect_right (&launch, i, rank[i]);
    launch_expect_end (&launch);
    for (int i = 0; i < 100; i++)
        expect_nothing (stranger[i]);
    console_expect (&launch, "");
}

/* The length of TF_CONFIG. */

static void _hear_right (void *arg, int number, struct frame *answer)
{
    check_right (arg, number, answer);
}

static void _hear_refused (void *arg __attribute__ ((unused)), int number, struct frame *answer)
{
    if (!frame_get (answer, "REFUSED") || frame_get (answer, "TF_CONFIG"))
        die ("rank %d was not refused", number);
}

static void _play (struct launch *launch, crowd_hear *hear)
{
    struct frame **registration = calloc ((size_t)launch->tasks, sizeof (*registration));

    if (!registration)
        die ("no memory");
    for (int i = 0; i < launch->tasks; i++)
        registration[i] = rank_frame (launch, i);
    crowd_play (launch->rendezvous.port, registration, launch->tasks, hear, launch);
    for (int i = 0; i < launch->tasks; i++)
        frame_destroy (registration[i]);
    free (registration);
}

/*
 * Tasks and their ports such that the longest TF_CONFIG, which is the last worker's, has
 * exactly that length. Of 5,000 tasks it has about 115,000 bytes.
 */
static void _fit (struct launch *launch, size_t length)
{
    size_t longest;

    /* A task has 24 bytes of it at most. */
    for (launch->tasks = 5000; (longest = config_longest (launch)) < length;)
        launch->tasks += (int)((length - longest + 23) / 24);
    launch->short_ports = (int)(longest - length);
}

static void _longest (const void *with __attribute__ ((unused)))
{
    struct launch launch = { .tasks = 0 };

    _fit (&launch, LONGEST);
    launch_begin (&launch);
    _play (&launch, _hear_right);
    launch_expect_end (&launch);
    console_expect (&launch, "");
}

static void _too_long (const void *with __attribute__ ((unused)))
{
    struct launch launch = { .tasks = 0 };
    char line[256];

    _fit (&launch, LONGEST + 1);
    launch_begin (&launch);
    _play (&launch, _hear_refused);
    launch_abandon (&launch);
    launch_expect_end (&launch);
    snprintf (line, sizeof (line), "srun: error: spank_tf: the TF_CONFIG of %d tasks would have "
              "%d bytes; Linux takes %d at most\n", launch.tasks, LONGEST + 1, LONGEST);
    console_expect (&launch, line);
}

/* srun's stderr. */

static void _closed_console (const void *with __attribute__ ((unused)))
{
    struct launch launch = { .tasks = TASKS, .show = true };
    int rank[TASKS], end[2];

    if (pipe2 (end, O_CLOEXEC) < 0)
        die ("pipe: %s", strerror (errno));
    close (end[0]);
    launch.console = end[1];
    launch_begin (&launch);
    for (int i = 0; i < TASKS; i++)
        rank[i] = rank_come (&launch, i);
    for (int i = 0; i < TASKS; i++)
        expect_right (&launch, i, rank[i]);
    launch_expect_end (&launch);
}

/* A pipe that nobody reads, and which is full. */
static void _stuff (struct launch *launch, int end[2])
{
    static char bytes[4096];

    if (pipe2 (end, O_CLOEXEC) < 0 || fcntl (end[1], F_SETFL, O_NONBLOCK) < 0)
        die ("pipe: %s", strerror (errno));
    while (write (end[1], bytes, sizeof (bytes)) > 0)
        ;
    fcntl (end[1], F_SETFL, 0);
    launch->console = end[1];
}

static void _full_console (const void *with __attribute__ ((unused)))
{
    struct launch launch = { .tasks = TASKS, .show = true };
    int rank[TASKS], end[2];

    _stuff (&launch, end);
    launch_begin (&launch);
    for (int i = 0; i < TASKS; i++)
        rank[i] = rank_come (&launch, i);
    for (int i = 0; i < TASKS; i++)
        expect_right (&launch, i, rank[i]);
    launch_expect_end (&launch);
}

static void _full_console_srun_gone (const void *with __attribute__ ((unused)))
{
    struct launch launch = { .tasks = TASKS, .show = true };
    int rank[TASKS], end[2];

    _stuff (&launch, end);
    launch_begin (&launch);
    for (int i = 0; i < TASKS; i++)
        rank[i] = rank_come (&launch, i);
    /* It has answered, or is stuck. */
    frame_destroy (answer_await (rank[0], 500));
    launch_abandon (&launch);
    launch_expect_end (&launch);
}

int main (void)
{
    bool kept = true;

    files_raise (7000);
    kept &= promise ("a step that needs more files than srun may open is refused in words",
                     _few_files, NULL);
    kept &= promise ("a step that just fits is launched, whatever strangers hold open",
                     _just_enough_files, NULL);
    kept &= promise ("the longest TF_CONFIG that Linux takes reaches every rank, whole", _longest,
                     NULL);
    kept &= promise ("a TF_CONFIG of one byte more is refused with its number and length",
                     _too_long, NULL);
    kept &= promise ("a closed stderr keeps nobody from the launch", _closed_console, NULL);
    kept &= promise ("a stderr that nobody reads keeps nobody from the launch", _full_console,
                     NULL);
    kept &= promise ("srun gone, and its stderr full: tf-rendezvous ends",
                     _full_console_srun_gone, NULL);
    return kept ? 0 : 1;
}
