/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "checks.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/number.h"
#include "common/preflight.h"
#include "common/second.h"

#define NEVER INT64_MAX
/* A process that does not die of SIGKILL in this time hangs in the kernel. */
#define KILL_MS 2000
#define LOOK_MS 10
/* Slurm signals the processes of a step one after the other; this one not later than this (machine.c). */
#define SIGNALS_MS 300
/* A timer that is so late: this process was stopped. */
#define SUSPENDED_MS 1000

void checks_init (struct checks *c, const char *preflight)
{
    struct preflight_rule rule = { .seconds = 0 };

    if (preflight)
        preflight_parse (&rule, preflight, NULL);
    *c = (struct checks){ .seconds = rule.seconds, .output = -1, .due = NEVER };
}

void checks_take (struct checks *c, const struct check_order *order)
{
    if (c->seconds == 0 || order->number <= c->order.number)
        return;
    c->order = *order;
    c->came = time (NULL);
}

static void _set_result (struct checks *c, enum check_result result, const char *why)
{
    c->report.result = result;
    snprintf (c->report.text, sizeof (c->report.text), "%.*s", FAILURE_TEXT_MAX, why);
}

static int _seconds (const struct checks *c)
{
    return c->order.port ? CHECK_LINK_SECONDS + 2 : c->seconds;
}

void checks_begin (struct checks *c, struct lives *lives, int64_t now)
{
    const struct fork_request request = { .check = c->order };
    int pair[2] = { -1, -1 };
    struct errtext err;

    if (c->pid > 0 || c->ends || c->order.number <= c->begun)
        return;
    c->begun = c->order.number;
    c->report = (struct check_report){ .result = CHECK_UNABLE, .sent = c->order.sent, .clock = c->came };
    c->used = 0;
    c->clean = false;
    c->due = now + _seconds (c) * SECOND_MS;
    if (pipe2 (pair, O_CLOEXEC) < 0)
        errtext_set (&err, "%s", strerror (errno));
    else
        c->pid = lives_request (lives, &request, pair[1], &err);
    if (pair[1] >= 0)
        close (pair[1]);
    c->output = pair[0];
    if (c->output >= 0)
        fcntl (c->output, F_SETFL, O_NONBLOCK);
    if (c->pid > 0)
        return;
    c->pid = 0;
    _set_result (c, CHECK_UNABLE, err.text);
    c->ends = true;
    c->due = now;
    c->last = now;
}

/* Output. */

static void _take_item_line (struct checks *c, const char *item)
{
    static const struct {
        const char *name;
        enum check_result result;
    } items[] = {
        { "files", CHECK_FILES }, { "gpus", CHECK_GPUS }, { "link", CHECK_LINK }, { "program", CHECK_PROGRAM }
    };

    for (size_t i = 0; i < sizeof (items) / sizeof (items[0]); i++)
        if (strcmp (item, items[i].name) == 0)
            c->report.result = items[i].result;
}

static void _take_line (struct checks *c)
{
    static const char item[] = "item ", bad[] = "bad ", rate[] = "rate ";

    c->line[c->used] = '\0';
    c->used = 0;
    if (strncmp (c->line, item, strlen (item)) == 0)
        _take_item_line (c, c->line + strlen (item));
    else if (strncmp (c->line, bad, strlen (bad)) == 0)
        _set_result (c, c->report.result, c->line + strlen (bad));
    else if (strncmp (c->line, rate, strlen (rate)) == 0)
        number_parse (&c->report.rate, c->line + strlen (rate), 1, INT_MAX);
}

void checks_read (struct checks *c)
{
    char buf[1024];
    ssize_t n;

    while (c->output >= 0 && (n = read (c->output, buf, sizeof (buf))) >= 0) {
        for (ssize_t i = 0; i < n; i++)
            if (buf[i] == '\n')
                _take_line (c);
            else if (c->used < sizeof (c->line) - 1)
                c->line[c->used++] = buf[i];
        if (n == 0) {
            close (c->output);
            c->output = -1;
        }
    }
}

/* The end. */

static void _end_process (struct checks *c, int64_t now)
{
    c->pid = 0;
    c->ends = true;
    c->due = now;
    c->last = now + KILL_MS;
}

void checks_ended (struct checks *c, int status, int64_t now)
{
    char text[64];

    checks_read (c);
    c->clean = c->order.port > 0;
    if (status == 0)
        c->report.result = CHECK_PASSED;
    else if (!*c->report.text) {
        snprintf (text, sizeof (text),
                  WIFSIGNALED (status) ? "ended with signal %d" : "ended with exit code %d",
                  WIFSIGNALED (status) ? WTERMSIG (status) : WEXITSTATUS (status));
        _set_result (c, c->report.result, text);
    }
    _end_process (c, now);
    /* If that was Slurm's signal, the rendezvous learns first that the step was asked to end. */
    if (status != 0)
        c->due = now + SIGNALS_MS;
}

/* No check is under way. */
static void _rest (struct checks *c)
{
    if (c->output >= 0)
        close (c->output);
    c->output = -1;
    c->pid = 0;
    c->ends = false;
    c->due = NEVER;
}

void checks_cancel (struct checks *c)
{
    _rest (c);
    c->begun = c->order.number;
}

bool checks_kill (struct checks *c, bool suspended, int64_t now)
{
    /* This process wakes at that time, unless it was stopped, as the check was: the job was suspended. */
    bool renewed = c->pid > 0 && (suspended || c->suspended || now > c->due + SUSPENDED_MS);
    char text[64];

    c->suspended = suspended;
    if (renewed) {
        c->due = now + _seconds (c) * SECOND_MS;
        return false;
    }
    /* The rendezvous has its result from the other node. */
    if (c->pid > 0 && c->order.number > c->begun)
        _end_process (c, now);
    else if (c->pid > 0 && now >= c->due) {
        checks_read (c);
        snprintf (text, sizeof (text), "no result within %d s",
                  c->order.port ? CHECK_LINK_SECONDS : c->seconds);
        _set_result (c, c->report.result, text);
        _end_process (c, now);
    }
    return c->ends && now >= c->due;
}

bool checks_finish (struct checks *c, bool left, int64_t now)
{
    c->due = now + LOOK_MS;
    if (left && now < c->last)
        return false;
    _rest (c);
    c->report.number = c->begun;
    return true;
}
