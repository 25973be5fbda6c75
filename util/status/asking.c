/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "asking.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/printable.h"
#include "stacks.h"

/* For srun, with a slurmctld that is busy, and for the answer. */
#define ROUND_MS 30000

/* Names. */

static bool _is_this_host (const char *host)
{
    char own[256] = "";
    /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): a job that runs has a host. */
    size_t length = strcspn (host, ".");

    gethostname (own, sizeof (own) - 1);
    own[strcspn (own, ".")] = '\0';
    return strncmp (own, host, length) == 0 && strlen (own) == length;
}

/* Jobs. */

static void __attribute__ ((format (printf, 2, 3))) _note (struct asked_job *job, const char *fmt, ...)
{
    va_list ap;

    va_start (ap, fmt);
    vsnprintf (job->note, sizeof (job->note), fmt, ap);
    va_end (ap);
    printable_make_line (job->note);
}

static void _begin_relay (const struct asking *a, struct asked_job *job)
{
    char seconds[32], stacks[96] = "--stacks", step[48];
    const char *words[RELAY_WORDS] = { seconds, step };
    int used = 2;
    struct errtext err;

    snprintf (seconds, sizeof (seconds), "--relay=%d", a->seconds);
    snprintf (step, sizeof (step), "%u%s%.20s", job->info.leader, a->wanted.step ? "." : "",
              a->wanted.step ? a->wanted.step : "");
    if (a->look.role)
        snprintf (stacks, sizeof (stacks), "--stacks=%s", a->look.role);
    if (a->look.lines)
        words[used++] = "--lines";
    if (a->look.json)
        words[used++] = "--json";
    if (a->look.all)
        words[used++] = "--all";
    if (a->look.stacks)
        words[used++] = stacks;
    if (relay_begin (&job->relay, &job->info, job->info.batch ? job->info.host : NULL, 1, words, &err) < 0)
        _note (job, "%.180s", err.text);
}

/* Why it is not asked, or may not answer. True if it is to be asked, on another host. */
static bool _is_elsewhere (struct asked_job *job)
{
    const struct job_info *info = &job->info;
    bool here = _is_this_host (info->host);

    _note (job, "%s", "no job step with --tf-tasks now");
    if (geteuid () != 0 && info->uid != geteuid ())
        _note (job, "%s", "it is another user's");
    else if (info->phase == JOB_IS_OVER)
        _note (job, "it is over: %s (sacct -j %s)", info->state, info->name);
    else if (strcmp (info->state, "SUSPENDED") == 0 && !here)
        _note (job, "%s", "it is suspended, and answers when it is resumed");
    else if (info->phase != JOB_RUNS)
        _note (job, "it does not run yet: %s", info->state);
    else if (here && info->batch)
        return false;
    else {
        if (!info->batch && !here)
            _note (job,
                   "no job step with --tf-tasks on its first node; its salloc or srun runs on %s: call "
                   "tf-status there",
                   info->host);
        return true;
    }
    return false;
}

/* Of a heterogeneous job the first component has all steps. */
static int _find_jobs (struct asking *a, struct errtext *err)
{
    struct job_info *list;
    int found = jobs_find (&list, a->wanted.job, err);
    char leader[16];

    if (found == 1 && list[0].component > 0) {
        snprintf (leader, sizeof (leader), "%u", list[0].leader);
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

/* Several jobs, of an array say, are a line each. */
static void _begin_relays (struct asking *a)
{
    int relays = 0, begun = 0;

    for (int i = 0; i < a->count; i++)
        relays += a->jobs[i].asked = _is_elsewhere (&a->jobs[i]);
    a->look.lines = a->look.lines || relays > 1;
    for (int i = 0; i < a->count; i++)
        if (a->jobs[i].asked && begun++ < ASKING_MOST)
            _begin_relay (a, &a->jobs[i]);
        else if (a->jobs[i].asked)
            _note (&a->jobs[i], "%s", "not asked, because there are many: name it");
}

static void _forget_jobs (struct asking *a)
{
    for (int i = 0; i < a->count; i++) {
        relay_end (&a->jobs[i].relay);
        free (a->jobs[i].text);
    }
    free (a->jobs);
    a->jobs = NULL;
    a->count = 0;
}

/* This host. */

/*
 * As tf-rendezvous knows its job: "3" of its array or all of it; any component of a heterogeneous job has the
 * number of the first one, which squeue knows.
 */
static int _look_here (struct asking *a, struct errtext *err)
{
    struct wanted wanted = a->wanted;
    char number[16];

    replies_clear (&a->here);
    if (wanted.job && a->count == 1) {
        snprintf (number, sizeof (number), "%u", a->jobs[0].info.leader);
        wanted = (struct wanted){ number, a->wanted.step, true };
    }
    return wanted.job && strchr (wanted.job, '+') ? 0 : replies_ask (&a->here, &wanted, err);
}

/* Other hosts. */

/*
 * The last of its rounds that have come: this process may have been stopped for a while. What comes before
 * the first mark is another program's, such as a TaskProlog's.
 */
static char *_read_round (struct asked_job *job, struct deadline deadline)
{
    char *text = NULL, *next = relay_read (&job->relay, false, deadline);

    if (next && !job->marked) {
        job->marked = true;
        free (next);
        next = relay_read (&job->relay, false, deadline);
    }
    while (next) {
        free (text);
        text = next;
        next = deadline_passed (deadline) ? NULL : relay_read (&job->relay, false, deadline_in_ms (0));
    }
    return text;
}

static bool _runs (const struct asking *a)
{
    for (int i = 0; i < a->count; i++)
        if (a->jobs[i].relay.srun > 0)
            return true;
    return false;
}

static bool _has_answered (const struct asking *a, struct asked_job *job, struct deadline deadline)
{
    struct relay *relay = &job->relay;
    bool had_answered = job->text;

    free (job->text);
    job->text = NULL;
    if (relay->srun <= 0)
        return false;
    job->text = _read_round (job, deadline);
    if (!job->text && !had_answered) {
        relay_why (relay, "its first node does not answer", job->note, sizeof (job->note));
        printable_make_line (job->note);
    }
    relay->over = relay->over || (job->text && a->seconds == 0);
    if (!job->text || relay->over)
        relay_end (relay);
    /* The user of the job has printed it, and root may read it. jansson takes care of JSON. */
    if (job->text && !a->look.json)
        printable_make_lines (job->text);
    if (job->text && strcmp (job->text, a->look.json ? "[]" : "") == 0) {
        free (job->text);
        job->text = NULL;
    }
    return job->text;
}

int asking_round (struct asking *a, struct errtext *err)
{
    struct deadline deadline;
    int answers;

    if (_look_here (a, err) < 0)
        return -1;
    if (a->local || (a->wanted.job && a->here.count > 0))
        return a->here.count;
    if (!_runs (a)) {
        _forget_jobs (a);
        if (_find_jobs (a, err) < 0)
            return -1;
        if (a->wanted.job && a->count == 1 && _look_here (a, err) < 0)
            return -1;
        if (a->wanted.job && a->here.count > 0)
            return a->here.count;
        _begin_relays (a);
    }
    answers = a->here.count;
    deadline = deadline_in_ms (ROUND_MS + (a->look.stacks ? STACKS_MS : 0));
    for (int i = 0; i < a->count; i++)
        answers += _has_answered (a, &a->jobs[i], deadline);
    return answers;
}

/* Text. */

static void _print_note (const struct asking *a, const struct asked_job *job, const char *prefix, FILE *f)
{
    const char *step = a->wanted.step;

    /* Its name is the user's, unless that means several. */
    fprintf (f, "%sjob %s%s%s \"%s\": %s\n", prefix,
             a->wanted.job && a->count == 1 ? a->wanted.job : job->info.name, step ? "." : "",
             step ? step : "", job->info.title, job->note);
}

void asking_print_notes (const struct asking *a)
{
    const char *job = a->wanted.job;

    for (int i = 0; i < a->count; i++)
        _print_note (a, &a->jobs[i], "tf-status: ", stderr);
    if (a->count == 0 && job && a->local)
        fprintf (stderr, "tf-status: job %s has no job step with --tf-tasks whose srun runs here\n", job);
    else if (a->count == 0 && job)
        fprintf (stderr, "tf-status: job %s is over, or never was there (sacct -j %s)\n", job, job);
}

/* Its step was found on this host. */
static bool _is_here (const struct asking *a, const struct asked_job *job)
{
    for (int i = 0; i < a->here.count; i++)
        if (reply_job (&a->here.reply[i]) == job->info.leader)
            return true;
    return false;
}

static bool _are_of_several_jobs (const struct replies *replies)
{
    for (int i = 1; i < replies->count; i++)
        if (reply_job (&replies->reply[i]) != reply_job (&replies->reply[0]))
            return true;
    return false;
}

static void _print_jobs (const struct asking *a, FILE *f)
{
    struct look look = a->look;
    char *here;

    look.lines = look.lines || _are_of_several_jobs (&a->here);
    here = look_text (&look, &a->here);
    fputs (here ? here : "", f);
    free (here);
    for (int i = 0; i < a->count; i++)
        if (a->jobs[i].text)
            fputs (a->jobs[i].text, f);
        else if (!_is_here (a, &a->jobs[i]))
            _print_note (a, &a->jobs[i], "", f);
}

static char *_json (const struct asking *a)
{
    json_t *steps = look_json (&a->look, &a->here), *object;
    char *text;

    for (int i = 0; i < a->count; i++) {
        json_t *more = a->jobs[i].text ? json_loads (a->jobs[i].text, 0, NULL) : NULL;

        json_array_extend (steps, more);
        json_decref (more);
    }
    object = json_pack ("{s:s, s:o}", "spank_tf", PACKAGE_VERSION, "steps", steps);
    text = json_dumps (object, JSON_REAL_PRECISION (6) | (a->seconds > 0 ? JSON_COMPACT : JSON_INDENT (2)));
    json_decref (object);
    return text;
}

char *asking_text (const struct asking *a)
{
    char *text = NULL, *json = a->look.json ? _json (a) : NULL;
    size_t size;
    FILE *f = open_memstream (&text, &size);

    if (f && a->look.json)
        fprintf (f, "%s\n", json ? json : "null");
    else if (f)
        _print_jobs (a, f);
    free (json);
    if (f)
        fclose (f);
    return text;
}

void asking_end (struct asking *a)
{
    _forget_jobs (a);
    replies_clear (&a->here);
}
