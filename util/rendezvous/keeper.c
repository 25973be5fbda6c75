/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/deadline.h"
#include "common/descriptors.h"

/* A rendezvous that dies MOST_DEATHS times within DEATHS_MS is not restarted. */
#define MOST_DEATHS 3
#define DEATHS_MS 60000

/* The end of a pipe on which nothing is written: its other end shows when this process has died. Or -1. */
static int alive = -1;

/* The child sees *end; its parent, or the next rendezvous, has the other one. As fork (). */
static pid_t _fork (int *end)
{
    int pair[2];
    pid_t pid;

    if (pipe2 (pair, O_CLOEXEC) < 0)
        return -1;
    pid = fork ();
    *end = pair[0];
    alive = pair[1];
    return pid;
}

static void _await_death (int end)
{
    char byte;

    while (read (end, &byte, 1) < 0 && errno == EINTR)
        ;
    close (end);
    /* The first rendezvous is srun's child. */
    while (waitpid (-1, NULL, 0) > 0)
        ;
}

/*
 * Print that the rendezvous is not restarted, and why. stderr may block, so the sockets are closed first: the
 * connections of supervisors are then refused, and they print the consequences.
 */
static void _say_that_it_ends (struct journal *journal, const char *why)
{
    struct journal_entry entry;
    struct frame *config = NULL;
    const char *step = NULL;

    descriptors_close_above (STDERR_FILENO);
    if (journal_read (journal, &entry, &config) && config)
        step = frame_get (config, "STEP");
    dprintf (STDERR_FILENO,
             "srun: error: spank_tf: step %s: tf-rendezvous was killed and cannot be restarted: %s\n",
             step ? step : "?", why);
}

/* In the keeper, when one has died that was useful, or full. */
static void _stop_keeping (struct journal *journal, const char *why)
{
    char full[64];

    snprintf (full, sizeof (full), "its state needs more than %d MiB", JOURNAL_MOST_MIB);
    if (journal_use (journal) == JOURNAL_USEFUL)
        _say_that_it_ends (journal, why);
    else if (journal_use (journal) == JOURNAL_FULL)
        _say_that_it_ends (journal, full);
    _exit (0);
}

/* The keeper. It returns in the next rendezvous. */
static int _keep_rendezvous (struct journal *journal, int end)
{
    int64_t death[MOST_DEATHS] = { 0 };
    pid_t pid;

    prctl (PR_SET_NAME, "tf-keeper");
    for (int births = 1;; births++) {
        int64_t *now = &death[births % MOST_DEATHS];
        const int64_t *first = &death[(births + 1) % MOST_DEATHS];

        _await_death (end);
        *now = deadline_in_ms (0).at_ms;
        if (journal_use (journal) != JOURNAL_USEFUL || (births >= MOST_DEATHS && *now - *first < DEATHS_MS))
            _stop_keeping (journal, "it was the third time within a minute");
        if ((pid = _fork (&end)) < 0)
            _stop_keeping (journal, strerror (errno));
        close (pid == 0 ? end : alive);
        if (pid == 0) {
            prctl (PR_SET_NAME, "tf-rendezvous");
            return births;
        }
    }
}

int keeper_start (struct journal *journal)
{
    int end = -1;
    pid_t pid = journal ? _fork (&end) : -1;

    if (end >= 0)
        close (pid == 0 ? alive : end);
    return pid == 0 ? _keep_rendezvous (journal, end) : 0;
}

void keeper_end (struct journal *journal)
{
    journal_set_use (journal, JOURNAL_OVER);
    if (alive >= 0)
        close (alive);
    alive = -1;
}
