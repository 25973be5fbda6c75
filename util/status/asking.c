/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "asking.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* For srun, with a slurmctld that is busy, and for the answer. */
#define ROUND_MS 30000

/* Names. */

static bool _is_this_host (const char *host)
{
    char own[256] = "";
    size_t length = strcspn (host, ".");

    gethostname (own, sizeof (own) - 1);
    own[strcspn (own, ".")] = '\0';
    return strncmp (own, host, length) == 0 && strlen (own) == length;
}

/* "3" of its array or all of it, any component of a heterogeneous job: as tf-rendezvous knows its job. */
static struct wanted _wanted (const struct asking *a, const struct job_info *job, char number[16])
{
    snprintf (number, 16, "%d", job->leader);
    return (struct wanted){ number, a->step, true };
}

/* Jobs. */

static void __attribute__ ((format (printf, 2, 3))) _note (struct asked_job *job, const char *fmt, ...)
{
    va_list ap;

    va_start (ap, fmt);
    vsnprintf (job->note, sizeof (job->note), fmt, ap);
    va_end (ap);
}

static void _begin_relay (const struct asking *a, struct asked_job *job)
{
    char seconds[32], step[48];
    const char *const words[] = { seconds, a->asks == OVERVIEW_ASKS_RANKS ? "--all" : step,
                                  a->asks == OVERVIEW_ASKS_RANKS ? step : NULL, NULL };
    struct errtext err;

    snprintf (seconds, sizeof (seconds), "--relay=%d", a->seconds);
    snprintf (step, sizeof (step), "%d%s%.20s", job->info.leader, a->step ? "." : "", a->step ? a->step : "");
    if (relay_begin (&job->relay, &job->info, job->info.batch ? job->info.host : NULL, 1, words, &err) < 0)
        _note (job, "%.180s", err.text);
}

/* Who is asked, or why nobody is. */
static void _begin_job (const struct asking *a, struct asked_job *job, int *relays)
{
    const struct job_info *info = &job->info;
    bool here = _is_this_host (info->host);

    _note (job, "%s", "no job step with --tf-tasks now");
    if (geteuid () != 0 && info->uid != geteuid ())
        _note (job, "%s", "it is another user's");
    else if (job_is_over (info))
        _note (job, "it is over: %s (sacct -j %s)", info->state, info->name);
    else if (strcmp (info->state, "SUSPENDED") == 0 && !here)
        _note (job, "%s", "it is suspended, and answers when it is resumed");
    else if (!job_runs (info))
        _note (job, "it does not run yet: %s", info->state);
    else if (here && info->batch)
        return;
    else if (++*relays > ASKING_MOST)
        _note (job, "%s", "not asked, because there are many: name it");
    else {
        if (!info->batch && !here)
            _note (job,
                   "no job step with --tf-tasks on its first node; its salloc or srun runs on %s: call "
                   "tf-status there",
                   info->host);
        _begin_relay (a, job);
    }
}

/* Of a heterogeneous job the first component has all steps. */
static int _find_jobs (struct asking *a, struct errtext *err)
{
    struct job_info *list;
    int found = jobs_find (&list, a->job, err);
    char leader[16];

    if (found == 1 && list[0].component > 0) {
        snprintf (leader, sizeof (leader), "%d", list[0].leader);
        free (list);
        found = jobs_find (&list, leader, err);
    }
    a->jobs = found < 0 ? NULL : calloc ((size_t)found + 1, sizeof (*a->jobs));
    for (int i = 0; i < found && a->jobs; i++)
        if (list[i].component <= 0)
            a->jobs[a->count++] = (struct asked_job){ .info = list[i], .relay = { .fd = -1, .errors = -1 } };
    free (list);
    return found < 0 ? -1 : 0;
}

/* This host's are asked first: that needs no Slurm. */
static int _look_here (struct asking *a, struct errtext *err)
{
    const struct wanted wanted = { a->job, a->step, false };

    return a->job && !strchr (a->job, '+') ? replies_ask (&a->first, &wanted, a->asks, err) : 0;
}

int asking_begin (struct asking *a, struct errtext *err)
{
    int relays = 0;

    if (_look_here (a, err) < 0)
        return -1;
    if (a->first.count > 0 || a->local)
        return 0;
    if (_find_jobs (a, err) < 0)
        return -1;
    for (int i = 0; i < a->count; i++)
        _begin_job (a, &a->jobs[i], &relays);
    return 0;
}

/* A round. */

static void _read_relay (const struct asking *a, struct asked_job *job, struct replies *replies)
{
    struct relay *relay = &job->relay;
    int before = replies->count;
    struct errtext err;

    if (relay->srun == 0)
        return;
    if (replies_read (replies, &relay->reader, relay->fd, deadline_in_ms (ROUND_MS), &err) == 0) {
        relay->over = a->seconds == 0;
        if (!relay->over)
            return;
    } else {
        relay_why (relay, err.text, &err);
        _note (job, "%.180s", err.text);
        /* What came before is not all. */
        while (replies->count > before)
            reply_clear (&replies->reply[--replies->count]);
    }
    relay_end (relay);
}

bool asking_round (struct asking *a, struct replies *replies, struct errtext *err)
{
    struct wanted wanted = { a->job, a->step, false };
    char number[16];
    bool known = true;

    if (a->first.count > 0) {
        *replies = a->first;
        a->first = (struct replies){ NULL, 0 };
        return true;
    }
    if (a->job && a->count == 1)
        wanted = _wanted (a, &a->jobs[0].info, number);
    known = replies_ask (replies, &wanted, a->asks, err) == 0;
    for (int i = 0; i < a->count; i++)
        _read_relay (a, &a->jobs[i], replies);
    return known;
}

bool asking_goes_on (const struct asking *a)
{
    for (int i = 0; i < a->count; i++)
        if (a->jobs[i].relay.srun > 0)
            return true;
    return false;
}

void asking_end (struct asking *a)
{
    for (int i = 0; i < a->count; i++)
        if (a->jobs[i].relay.srun > 0)
            relay_end (&a->jobs[i].relay);
    free (a->jobs);
    replies_clear (&a->first);
    a->jobs = NULL;
    a->count = 0;
}
