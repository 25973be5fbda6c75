/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * fail-once DIR: a task that notes in DIR/RANK.LIFE when a life of it begins, and in DIR/RANK.end when its
 * first one ends. When all tasks have begun, rank 0 fails; the others end by SIGTERM. The second life ends
 * with 0; so does the only one in a plain step, which has no SLURM_TF_ADDRESS.
 */
#include "config.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define POLL_US 20000
#define CALM_US 300000

static struct timespec _now (void)
{
    struct timespec now;

    clock_gettime (CLOCK_MONOTONIC, &now);
    return now;
}

static void _note (const char *dir, const char *name, struct timespec at)
{
    char path[4096], text[64];
    int fd, length = snprintf (text, sizeof (text), "%lld.%09ld\n", (long long)at.tv_sec, at.tv_nsec);

    snprintf (path, sizeof (path), "%s/%s", dir, name);
    if ((fd = open (path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644)) < 0
        || write (fd, text, (size_t)length) != length)
        exit (2);
    close (fd);
}

/* Until all tasks have begun their first life, and their supervisors have nothing left to do. */
static void _await_all (const char *dir, int tasks)
{
    char path[4096];

    for (int rank = 0; rank < tasks; rank++) {
        snprintf (path, sizeof (path), "%s/%d.0", dir, rank);
        while (access (path, F_OK) < 0)
            usleep (POLL_US);
    }
    usleep (CALM_US);
}

static int _number (const char *name)
{
    const char *value = getenv (name);

    return value ? atoi (value) : 0;
}

int main (int argc, char *argv[])
{
    struct timespec begun = _now ();
    int rank = _number ("SLURM_PROCID"), life = _number ("SLURM_TF_RESTART");
    char name[32];
    sigset_t term;
    int number;

    if (argc != 2) {
        fprintf (stderr, "usage: fail-once DIR\n");
        return 2;
    }
    sigemptyset (&term);
    sigaddset (&term, SIGTERM);
    sigprocmask (SIG_BLOCK, &term, NULL);
    snprintf (name, sizeof (name), "%d.%d", rank, life);
    _note (argv[1], name, begun);
    if (life > 0 || !getenv ("SLURM_TF_ADDRESS"))
        return 0;
    if (rank > 0)
        sigwait (&term, &number);
    else
        _await_all (argv[1], _number ("SLURM_NTASKS"));
    snprintf (name, sizeof (name), "%d.end", rank);
    _note (argv[1], name, _now ());
    raise (SIGKILL);
    return 1;
}
