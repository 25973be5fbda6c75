/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the steps cost that programs say: N simulated supervisors tell tf-rendezvous of them as often as
 * their answers ask them to (supervise/watch.h), as those of a step that has just begun, and each program
 * says one again and again. Measured is tf-rendezvous: its time, what it is sent, and how much of it its
 * journal keeps.
 *
 *     supervisors [N [SECONDS [no-turns]]]     1024 60; no-turns: as if each told its steps for itself
 *
 * Exits with 0 if the targets are met.
 */
#include "config.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/deadline.h"
#include "protocol/status.h"
#include "simulation.h"

#define MAX_PERCENT 1.0
/* From the 50th minute on a supervisor tells a thirtieth of what it tells at first. */
#define OLD_PARTS 30
#define MAX_OLD_MIB_HOUR 2.0
#define PAUSE_MS 1000
#define LOOK_MS 10
#define ANSWER_MS 60000

struct supervisor {
    int fd, turns;
    int64_t due;
    struct status status;
};

struct usage {
    int64_t ns; /* of a CPU */
    long journal_kib;
};

static int64_t _now (void)
{
    return deadline_in_ms (0).at_ms;
}

static FILE *_open (pid_t pid, const char *name)
{
    char path[64];
    FILE *f;

    snprintf (path, sizeof (path), "/proc/%d/%s", (int)pid, name);
    if (!(f = fopen (path, "re")))
        die ("%s cannot be read", path);
    return f;
}

/* The journal is all of its memory that is shared. */
static struct usage _usage (pid_t pid)
{
    static const char key[] = "RssShmem:";
    FILE *f = _open (pid, "schedstat");
    struct usage usage = { 0 };
    char line[256];

    if (fgets (line, sizeof (line), f))
        usage.ns = strtoll (line, NULL, 10);
    fclose (f);
    f = _open (pid, "status");
    while (fgets (line, sizeof (line), f))
        if (strncmp (line, key, sizeof (key) - 1) == 0)
            usage.journal_kib = strtol (line + sizeof (key) - 1, NULL, 10);
    fclose (f);
    return usage;
}

static void _take_answer (struct supervisor *s, bool turns)
{
    struct frame *answer = receive_frame (s->fd, ANSWER_MS);
    const char *value = answer ? frame_get (answer, "WATCHDOG_TURNS") : NULL;

    if (!answer)
        die ("a rank gets no answer");
    s->turns = turns && value ? atoi (value) : 1;
    s->status.signs = (struct signs){ .source = SIGNS_MESSAGES, .messages = 1, .second_ms = 3000 };
    frame_destroy (answer);
}

/* The bytes of it. */
static size_t _tell (struct supervisor *s)
{
    struct signs *signs = &s->status.signs;
    struct frame *frame;
    size_t bytes;

    signs->messages++;
    signs->step = 1000 + signs->messages;
    snprintf (signs->status, sizeof (signs->status), "step %d", signs->step);
    if (!(frame = fields_frame (&status_fields, &s->status)))
        die ("no memory");
    frame_bytes (frame, 0, &bytes);
    if (!send_frame (s->fd, frame))
        die ("tf-rendezvous takes no status");
    return bytes;
}

/* The first step of all comes at the same time, and then their turns begin. */
static void _begin (struct supervisor *s, int n)
{
    for (int i = 0; i < n; i++) {
        _tell (&s[i]);
        s[i].due = _now () + PAUSE_MS * (i % s[i].turns + 1);
    }
}

static void _play (struct supervisor *s, int n, int seconds, int64_t *signs, int64_t *bytes)
{
    int64_t end = _now () + seconds * INT64_C (1000);

    while (_now () < end) {
        for (int i = 0; i < n; i++)
            if (_now () >= s[i].due) {
                *bytes += (int64_t)_tell (&s[i]);
                ++*signs;
                s[i].due += PAUSE_MS * s[i].turns;
            }
        poll (NULL, 0, LOOK_MS);
    }
}

static bool _met (bool met, const char *target, double found)
{
    printf ("%s: %s: %.2f\n", met ? "met" : "MISSED", target, found);
    return met;
}

static bool _judge (int n, int seconds, int64_t signs, int64_t bytes, struct usage before, struct usage after)
{
    double percent = (double)(after.ns - before.ns) / 1e7 / seconds;
    double mib = (double)(after.journal_kib - before.journal_kib) / 1024 * 3600 / seconds;
    bool met;

    printf (
        "%d supervisors, %d s: %.1f signs/s, %.1f KiB/s, %.2f %% of a core; the journal had %.1f MiB, and "
        "grows by %.1f MiB/h\n",
        n, seconds, (double)signs / seconds, (double)bytes / 1024 / seconds, percent,
        (double)before.journal_kib / 1024, mib);
    met = _met (percent <= MAX_PERCENT, "% of a core, at most 1", percent);
    met &= _met (mib / OLD_PARTS <= MAX_OLD_MIB_HOUR, "MiB/h after 50 minutes, at most 2", mib / OLD_PARTS);
    return met;
}

int main (int argc, char *argv[])
{
    int n = argc > 1 ? atoi (argv[1]) : 1024, seconds = argc > 2 ? atoi (argv[2]) : 60;
    struct launch launch = { .tasks = n, .show = true, .watchdog = 300 };
    struct supervisor *s = n > 1 && seconds > 0 ? calloc ((size_t)n, sizeof (*s)) : NULL;
    int64_t signs = 0, bytes = 0;
    struct usage before, after;

    if (!s)
        die ("usage: supervisors [N [SECONDS [no-turns]]]");
    raise_file_limit (2 * n + 100);
    launch_start (&launch);
    for (int i = 0; i < n; i++)
        s[i].fd = register_rank (&launch, i);
    for (int i = 0; i < n; i++)
        _take_answer (&s[i], argc < 4);
    _begin (s, n);
    /* All of these have arrived. */
    poll (NULL, 0, PAUSE_MS / 2);
    before = _usage (launch.pid);
    _play (s, n, seconds, &signs, &bytes);
    after = _usage (launch.pid);
    free (s);
    return _judge (n, seconds, signs, bytes, before, after) ? 0 : 1;
}
