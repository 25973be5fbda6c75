/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * signs: the activity of a task that --tf-watchdog watches.
 *
 *     signs MOST_MS messages|pings|lines FILE
 *
 * Gives a sign at irregular times, at most MOST_MS after the one before: a message that says a step, one that
 * says no progress, or a line on stdout. A message without a socket for it is none. After the second one FILE
 * is there: from then on the task is watched. After SIGUSR1 it goes on for 1.5 s, as a task that waits for
 * another one which hangs; after SIGUSR2 it gives none any more. It ends with its parent.
 */
#include "config.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define FOLLOW_MS 1500

static struct sockaddr_un address = { .sun_family = AF_UNIX };
static socklen_t length;
static int fd = -1;
static bool messages, progress;

static int64_t _now_ms (void)
{
    struct timespec now;

    clock_gettime (CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C (1000) + now.tv_nsec / 1000000;
}

static void _open (const char *name)
{
    size_t size = strlen (name);

    if (size == 0 || size > sizeof (address.sun_path))
        return;
    memcpy (address.sun_path, name, size);
    if (name[0] == '@')
        address.sun_path[0] = '\0';
    length = (socklen_t)(offsetof (struct sockaddr_un, sun_path) + size);
    fd = socket (AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* A message that the socket does not take is dropped. */
static void _give (int number)
{
    char text[64];
    int size = snprintf (text, sizeof (text), messages ? "WATCHDOG=1\nSTATUS=step %d" : "step %d\n",
                         progress ? number : 1);

    if (messages && fd >= 0)
        sendto (fd, text, (size_t)size, 0, (struct sockaddr *)&address, length);
    if (!messages && write (STDOUT_FILENO, text, (size_t)size) < 0)
        _exit (1);
}

static void _make (const char *path)
{
    FILE *f = fopen (path, "w");

    if (f)
        fclose (f);
}

/* Wait for a signal for so long. Its number, or 0. */
static int _wait (const sigset_t *set, int64_t ms)
{
    struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
    int number = sigtimedwait (set, NULL, &time);

    return number > 0 ? number : 0;
}

int main (int argc, char *argv[])
{
    int64_t most = argc == 4 ? atoi (argv[1]) : 0, end = INT64_MAX, pause_ms;
    bool gives = true;
    sigset_t set;

    if (most < 1) {
        fprintf (stderr, "usage: signs MOST_MS messages|pings|lines FILE\n");
        return 2;
    }
    messages = strcmp (argv[2], "lines") != 0;
    progress = strcmp (argv[2], "messages") == 0;
    prctl (PR_SET_PDEATHSIG, SIGKILL);
    sigemptyset (&set);
    sigaddset (&set, SIGUSR1);
    sigaddset (&set, SIGUSR2);
    sigprocmask (SIG_BLOCK, &set, NULL);
    srandom ((unsigned int)getpid ());
    _open (getenv ("NOTIFY_SOCKET") ? getenv ("NOTIFY_SOCKET") : "");
    for (int i = 0; getppid () != 1; i++) {
        if (gives)
            _give (i);
        if (i == 1)
            _make (argv[3]);
        pause_ms = gives ? random () % most : most;
        switch (_wait (&set, end - _now_ms () < pause_ms ? end - _now_ms () : pause_ms)) {
            case SIGUSR1: end = _now_ms () + FOLLOW_MS; break;
            case SIGUSR2: gives = false; break;
        }
        if (gives && _now_ms () >= end) {
            _give (i);
            gives = false;
            end = INT64_MAX;
        }
    }
    return 0;
}
