/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tf-status: what does a job do now? It asks the tf-rendezvous of each step, by a tf-status on srun's host
 * if that is another one.
 */
#include "config.h"

#include <ctype.h>
#include <getopt.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "asking.h"
#include "common/errtext.h"
#include "common/number.h"
#include "common/printable.h"
#include "common/version.h"
#include "stacks.h"
#include "status_json.h"
#include "status_text.h"

/* Exit codes. */
enum { FOUND, NOT_FOUND, FAILED };

/* Seconds between two looks, on a terminal and elsewhere, and at a job that has no step. */
#define WATCH_TERMINAL 2
#define WATCH_LINES 30
#define WATCH_JOB 5
#define WATCH_MOST 86400

static const char help[] =
    "Usage: tf-status [OPTIONS] [JOB[.STEP]]\n"
    "\n"
    "Print what the tasks of a job with --tf-tasks do now. Without a job: a line for each of your jobs.\n"
    "\n"
    "  -a, --all              print each task, even if there are many\n"
    "  -w, --watch[=SECONDS]  redraw it until the job ends\n"
    "      --stacks[=ROLE]    print where the Python of each task is, without ending it\n"
    "      --json             print one JSON object\n"
    "      --local            ask on this host only\n"
    "  -h, --help             print this\n"
    "      --version          print the version\n"
    "\n"
    "The exit code is 0 if a job step was found, 1 if none was, and 2 after errors.\n"
    "See tf-status(1).\n";

struct options {
    char *job, *step; /* "12", "11_3", "14+0"; "0"; or NULL */
    bool all, stacks, json, local, help, version;
    const char *role; /* of the tasks whose stacks are asked for, or NULL */
    int watch; /* seconds; 0: once */
    int relay; /* what another tf-status asks for: seconds; -1: it is none */
};

static const struct option known[] = {
    { "all", no_argument, NULL, 'a' },
    { "watch", optional_argument, NULL, 'w' },
    { "stacks", optional_argument, NULL, 's' },
    { "json", no_argument, NULL, 'j' },
    { "local", no_argument, NULL, 'l' },
    { "help", no_argument, NULL, 'h' },
    { "version", no_argument, NULL, 'v' },
    /* Between two tf-status. */
    { "relay", required_argument, NULL, 'r' },
    { NULL, 0, NULL, 0 },
};

/* The command line. */

/* It gets into the command lines of squeue and srun. */
static int _read_job (struct options *options, char *text)
{
    size_t length = strlen (text);
    char *dot = strchr (text, '.');

    if (!isdigit ((unsigned char)text[0]) || length >= 32 || strspn (text, "0123456789_+.") != length)
        return -1;
    if (dot)
        *dot++ = '\0';
    if (dot && (!*dot || strspn (dot, "0123456789") != strlen (dot)))
        return -1;
    options->job = text;
    options->step = dot;
    return 0;
}

static int _read_seconds (int *seconds, const char *text, int least)
{
    if (number_parse (seconds, text, least, WATCH_MOST) == 0)
        return 0;
    fprintf (stderr, "tf-status: --watch takes seconds, 1 to %d\n", WATCH_MOST);
    return -1;
}

static int _read_option (struct options *options, int letter)
{
    switch (letter) {
        case 'a': options->all = true; break;
        case 'w':
            options->watch = isatty (STDOUT_FILENO) ? WATCH_TERMINAL : WATCH_LINES;
            return optarg ? _read_seconds (&options->watch, optarg, 1) : 0;
        case 's':
            options->stacks = true;
            options->role = optarg;
            break;
        case 'j': options->json = true; break;
        case 'l': options->local = true; break;
        case 'h': options->help = true; break;
        case 'v': options->version = true; break;
        case 'r': return _read_seconds (&options->relay, optarg, 0);
        default: return -1;
    }
    return 0;
}

/* -1 if the command line is not valid, and stderr says why. */
static int _read_options (struct options *options, int argc, char *argv[])
{
    int letter;

    while ((letter = getopt_long (argc, argv, "ahw", known, NULL)) != -1)
        if (_read_option (options, letter) < 0)
            return -1;
    if (argc - optind > 1 || (argc > optind && _read_job (options, argv[optind]) < 0)) {
        fprintf (stderr, "tf-status: give one job, such as 4711 or 4711.0\n");
        return -1;
    }
    if ((options->watch > 0 || options->stacks) && !options->job) {
        fprintf (stderr, "tf-status: %s needs a job, such as 4711\n",
                 options->stacks ? "--stacks" : "--watch");
        return -1;
    }
    return 0;
}

/* What is printed. */

static int _number (const struct reply *reply)
{
    return (int)strtol (reply->overview.job_step, NULL, 10);
}

static int _print_line (const struct reply *reply)
{
    char *line = status_text_line (&reply->overview);
    int rc = line ? puts (line) : -1;

    free (line);
    return rc < 0 ? -1 : 0;
}

/* What the user has called it, unless that means several. */
static void _print_note (FILE *f, const char *prefix, const struct options *options,
                         const struct asking *asking, const struct asked_job *job)
{
    char title[sizeof (job->info.title)], note[sizeof (job->note)];
    const char *name = options->job && asking->count == 1 ? options->job : job->info.name;

    memcpy (title, job->info.title, sizeof (title));
    memcpy (note, job->note, sizeof (note));
    printable_make_line (title);
    printable_make_line (note);
    fprintf (f, "%sjob %s%s%s \"%s\": %s\n", prefix, name, options->step ? "." : "",
             options->step ? options->step : "", title, note);
}

/* A line for each step, in the order of the jobs. */
static int _print_lines (const struct options *options, const struct asking *asking,
                         const struct replies *replies)
{
    int rc = 0;

    for (int i = 0; i < replies->count && asking->count == 0; i++)
        rc |= _print_line (&replies->reply[i]);
    for (int k = 0; k < asking->count; k++) {
        int lines = 0;

        for (int i = 0; i < replies->count; i++)
            if (_number (&replies->reply[i]) == asking->jobs[k].info.leader) {
                rc |= _print_line (&replies->reply[i]);
                lines++;
            }
        if (lines == 0)
            _print_note (stdout, "", options, asking, &asking->jobs[k]);
    }
    return rc;
}

/* A terminal is not cleared, because that flickers: each line, and what is below the last one. */
static void _print_text (const char *text, bool redraw)
{
    for (; redraw && *text; text++) {
        if (*text == '\n')
            fputs ("\033[K", stdout);
        putchar (*text);
    }
    fputs (text, stdout);
}

/* Slurm's jobs of a step: of a heterogeneous one each component. */
static int _ask_stacks (const struct options *options, const struct reply *reply, struct stacks *stacks)
{
    const struct overview *o = &reply->overview;
    struct job_info *job;
    struct errtext err;
    char number[16];
    int found, count = 0, rc = -1;

    *stacks = (struct stacks){ NULL, 0 };
    snprintf (number, sizeof (number), "%d", _number (reply));
    found = jobs_find (&job, number, &err);
    for (int i = 0; i < found; i++)
        if (job[i].leader == _number (reply))
            job[count++] = job[i];
    if (found >= 0)
        rc = stacks_ask (stacks, o, reply->rank, job, count, options->role, &err);
    free (job);
    if (rc < 0)
        fprintf (stderr, "tf-status: %s\n", err.text);
    return rc;
}

static int _print_stacks (const struct options *options, const struct reply *reply, bool redraw)
{
    struct stacks stacks;
    char *text = NULL;

    if (_ask_stacks (options, reply, &stacks) == 0 && _print_line (reply) == 0)
        text = stacks_text (&stacks, reply->rank, options->all ? reply->overview.rows : STATUS_TEXT_ROWS);
    stacks_clear (&stacks);
    if (text)
        _print_text (text, redraw);
    free (text);
    return text ? 0 : -1;
}

static int _print_steps (const struct options *options, const struct replies *replies, bool redraw)
{
    for (int i = 0; i < replies->count; i++) {
        const struct reply *reply = &replies->reply[i];
        char *text;

        if (options->stacks) {
            if (_print_stacks (options, reply, redraw) < 0)
                return -1;
            continue;
        }
        text = status_text (&reply->overview, reply->rank, options->all);
        if (!text)
            return -1;
        _print_text (text, redraw);
        free (text);
    }
    return 0;
}

static int _print_json (const struct options *options, const struct replies *replies, size_t flags)
{
    json_t *steps = json_array (), *object;
    int rc;

    for (int i = 0; i < replies->count; i++) {
        const struct reply *reply = &replies->reply[i];
        struct stacks stacks = { NULL, 0 };

        if (options->stacks)
            _ask_stacks (options, reply, &stacks);
        json_array_append_new (steps, status_json (&reply->overview, reply->rank, stacks.of));
        stacks_clear (&stacks);
    }
    object = json_pack ("{s:s, s:o}", "spank_tf", PACKAGE_VERSION, "steps", steps);
    rc = object ? json_dumpf (object, stdout, flags | JSON_REAL_PRECISION (6)) : -1;
    json_decref (object);
    return rc < 0 || puts ("") == EOF ? -1 : 0;
}

/* Steps of several jobs, of an array say, are a line each. */
static bool _are_of_one_job (const struct replies *replies)
{
    for (int i = 1; i < replies->count; i++)
        if (_number (&replies->reply[i]) != _number (&replies->reply[0]))
            return false;
    return true;
}

static int _print (const struct options *options, const struct asking *asking, const struct replies *replies)
{
    bool redraw = options->watch > 0 && isatty (STDOUT_FILENO);
    int rc;

    if (options->json)
        return _print_json (options, replies, options->watch > 0 ? JSON_COMPACT : JSON_INDENT (2));
    if (redraw)
        fputs ("\033[H", stdout);
    if (!options->job || !_are_of_one_job (replies) || (options->watch > 0 && !redraw))
        rc = _print_lines (options, asking, replies);
    else
        rc = _print_steps (options, replies, redraw);
    if (redraw)
        fputs ("\033[J", stdout);
    return rc;
}

/* Why there is none. */
static void _print_missing (const struct options *options, const struct asking *asking)
{
    for (int i = 0; i < asking->count; i++)
        _print_note (stderr, "tf-status: ", options, asking, &asking->jobs[i]);
    if (asking->count == 0)
        fprintf (stderr, "tf-status: job %s has no job step with --tf-tasks whose srun runs here\n",
                 options->job);
}

/* Once, and again and again. */

static struct asking _asking (const struct options *options)
{
    return (struct asking){ .job = options->job,
                            .step = options->step,
                            .local = options->local,
                            .asks = options->job ? OVERVIEW_ASKS_RANKS : OVERVIEW_ASKS_STEP,
                            .seconds = options->watch };
}

/* FOUND if steps were printed. */
static int _show_round (const struct options *options, struct asking *asking)
{
    struct replies replies = { NULL, 0 };
    struct errtext err;
    int rc = FOUND;

    if (!asking_round (asking, &replies, &err)) {
        fprintf (stderr, "tf-status: %s\n", err.text);
        rc = FAILED;
    } else if (replies.count == 0 && options->job)
        rc = NOT_FOUND;
    if ((rc == FOUND || (rc == NOT_FOUND && options->json && options->watch == 0))
        && (_print (options, asking, &replies) < 0 || fflush (stdout) != 0))
        rc = FAILED;
    replies_clear (&replies);
    return rc;
}

static int _begin (const struct options *options, struct asking *asking)
{
    struct errtext err;

    *asking = _asking (options);
    if (asking_begin (asking, &err) == 0)
        return FOUND;
    fprintf (stderr, "tf-status: %s\n", err.text);
    asking_end (asking);
    return options->job ? NOT_FOUND : FAILED;
}

static int _show (const struct options *options)
{
    struct asking asking;
    int rc = _begin (options, &asking);

    if (rc != FOUND)
        return rc;
    rc = _show_round (options, &asking);
    if (rc == NOT_FOUND)
        _print_missing (options, &asking);
    asking_end (&asking);
    return rc;
}

static bool _is_to_come (const struct asking *asking)
{
    for (int i = 0; i < asking->count; i++)
        if (!job_is_over (&asking->jobs[i].info))
            return true;
    return false;
}

static void _print_waiting (const struct options *options, const struct asking *asking)
{
    const struct replies none = { NULL, 0 };

    if (!options->json)
        _print (options, asking, &none);
    fflush (stdout);
}

/* As long as there are steps, or another host is asked. How many rounds had some. */
static int _watch_steps (const struct options *options, struct asking *asking, int *rc)
{
    int rounds = 0;

    for (;;) {
        *rc = _show_round (options, asking);
        rounds += *rc == FOUND;
        if (*rc == FAILED
            || (*rc == NOT_FOUND && (!asking_goes_on (asking) || (rounds > 0 && options->step))))
            return rounds;
        if (*rc == NOT_FOUND)
            _print_waiting (options, asking);
        sleep ((unsigned int)options->watch);
    }
}

/*
 * A job may have no step for a while. What asking_begin () knew of it is old after a round, so that squeue is
 * asked again before a line says why there is none.
 */
static int _watch (const struct options *options)
{
    bool shown = false, over = false;
    struct asking asking;
    int rc = FOUND;

    if (isatty (STDOUT_FILENO))
        fputs ("\033[2J", stdout);
    while (!over && (rc = _begin (options, &asking)) == FOUND) {
        int rounds = _watch_steps (options, &asking, &rc);

        shown = shown || rounds > 0;
        over = rc == FAILED || (shown && options->step)
               || (rounds == 0 && (asking.count > 0 ? !_is_to_come (&asking) : options->local));
        if (over && !shown)
            _print_missing (options, &asking);
        else if (rounds == 0)
            _print_waiting (options, &asking);
        if (!over)
            sleep (rounds == 0 ? WATCH_JOB : 1);
        asking_end (&asking);
    }
    return shown && rc == NOT_FOUND ? FOUND : rc;
}

/* For a tf-status on another host. */
static int _relay (const struct options *options)
{
    const struct wanted wanted = { options->job, options->step, true };

    do {
        struct replies replies = { NULL, 0 };
        struct errtext err;
        int rc =
            replies_ask (&replies, &wanted, options->all ? OVERVIEW_ASKS_RANKS : OVERVIEW_ASKS_STEP, &err);

        if (rc < 0)
            fprintf (stderr, "tf-status: %s\n", err.text);
        else
            rc = replies_pass (&replies, STDOUT_FILENO);
        replies_clear (&replies);
        if (rc < 0)
            return FAILED;
        sleep ((unsigned int)options->relay);
    } while (options->relay > 0);
    return FOUND;
}

int main (int argc, char *argv[])
{
    struct options options = { .relay = -1 };

    if (_read_options (&options, argc, argv) < 0) {
        fprintf (stderr, "See tf-status --help.\n");
        return FAILED;
    }
    if (options.version)
        return version_print ();
    if (options.help)
        return fputs (help, stdout) == EOF ? FAILED : FOUND;
    if (options.relay >= 0 && options.stacks)
        return stacks_print_here (options.job, options.step ? options.step : "", options.role) < 0 ? FAILED
                                                                                                   : FOUND;
    if (options.relay >= 0)
        return _relay (&options);
    return options.watch > 0 ? _watch (&options) : _show (&options);
}
