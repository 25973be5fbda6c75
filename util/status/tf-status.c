/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tf-status: what does a job do now? It asks the tf-rendezvous of each of the user's steps on this host. If
 * the srun of a job runs on another node of the job, it starts itself there by srun.
 */
#include "config.h"

#include <ctype.h>
#include <getopt.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/errtext.h"
#include "common/version.h"
#include "reply.h"
#include "squeue.h"
#include "status_json.h"
#include "status_text.h"

#define NAMES_OF_SOCKETS "/proc/net/unix"

/* Exit codes. */
enum { FOUND, NOT_FOUND, FAILED };

static const char help[] =
    "Usage: tf-status [OPTIONS] [JOB[.STEP]]\n"
    "\n"
    "Print what the tasks of a job with --tf-tasks do now. Without a job: a line for each of\n"
    "your job steps whose srun runs on this host.\n"
    "\n"
    "  -a, --all          print each task, even if there are many\n"
    "      --json         print one JSON object\n"
    "      --local        do not look for the job on other hosts\n"
    "  -h, --help         print this\n"
    "      --version      print the version\n"
    "\n"
    "The exit code is 0 if a job step was found, 1 if none was, and 2 after errors.\n"
    "See tf-status(1).\n";

struct options {
    const char *job; /* "12", "12.0", "11_3", "11_3.0"; or NULL */
    bool all, json, local, help, version;
};

static const struct option known[] = {
    { "all", no_argument, NULL, 'a' },     { "json", no_argument, NULL, 'j' },
    { "local", no_argument, NULL, 'l' },   { "help", no_argument, NULL, 'h' },
    { "version", no_argument, NULL, 'v' }, { NULL, 0, NULL, 0 },
};

/* It gets into the command lines of squeue and srun. */
static bool _is_job (const char *text)
{
    size_t length = strlen (text);

    return isdigit ((unsigned char)text[0]) && length < 32 && strspn (text, "0123456789_+.") == length;
}

/* -1 if the command line is not valid, and stderr says why. */
static int _read_options (struct options *options, int argc, char *argv[])
{
    int letter;

    while ((letter = getopt_long (argc, argv, "ah", known, NULL)) != -1)
        switch (letter) {
            case 'a': options->all = true; break;
            case 'j': options->json = true; break;
            case 'l': options->local = true; break;
            case 'h': options->help = true; break;
            case 'v': options->version = true; break;
            default: return -1;
        }
    options->job = argv[optind];
    if (options->job && (argv[optind + 1] || !_is_job (options->job))) {
        fprintf (stderr, "tf-status: give one job, such as 4711 or 4711.0\n");
        return -1;
    }
    return 0;
}

/* Steps of this host. */

/*
 * "12" and "12.0" of the step "12.0"; "11_3" and "11_3.0" of the same one if the array's name of its job is
 * 11_3.
 */
static bool _is_wanted (const char *wanted, const struct overview *o)
{
    size_t length = strcspn (wanted, ".");
    const char *step = o->job_step + strcspn (o->job_step, ".");
    bool job = strlen (o->job_step) - strlen (step) == length && strncmp (wanted, o->job_step, length) == 0;
    bool array = o->array && strlen (o->array) == length && strncmp (wanted, o->array, length) == 0;

    return (job || array) && (wanted[length] == '\0' || strcmp (wanted + length, step) == 0);
}

static int _print (const struct options *options, const struct reply *reply, json_t *steps)
{
    char *text;

    if (options->json)
        return json_array_append_new (steps, status_json (&reply->overview, reply->rank));
    text = options->job ? status_text (&reply->overview, reply->rank, options->all)
                        : status_text_line (&reply->overview);
    if (!text)
        return -1;
    printf ("%s%s", text, options->job ? "" : "\n");
    free (text);
    return 0;
}

/*
 * One that has ended meanwhile, or that does not answer, is not the one that is looked for, as far as is
 * known.
 */
static int _show (const struct options *options, const struct reply_source *source, json_t *steps)
{
    struct reply reply;
    struct errtext err;
    int found = 0;

    if (reply_ask (&reply, source, OVERVIEW_ASKS_STEP, &err) < 0) {
        fprintf (stderr, "tf-status: a tf-rendezvous of this host: %s\n", err.text);
        return 0;
    }
    found = !options->job || _is_wanted (options->job, &reply.overview);
    if (found && options->job) {
        reply_clear (&reply);
        if (reply_ask (&reply, source, OVERVIEW_ASKS_RANKS, &err) < 0)
            return 0;
    }
    if (found && _print (options, &reply, steps) < 0)
        found = -1;
    reply_clear (&reply);
    return found;
}

/* How many steps of this host were shown; -1, and stderr says why. */
static int _show_local (const struct options *options, json_t *steps)
{
    struct reply_source *list;
    struct errtext err;
    int count = reply_sources (NAMES_OF_SOCKETS, geteuid (), &list, &err), shown = 0;

    if (count < 0)
        fprintf (stderr, "tf-status: %s\n", err.text);
    for (int i = 0; i < count && shown >= 0; i++) {
        int found = _show (options, &list[i], steps);

        shown = found < 0 ? -1 : shown + found;
    }
    free (list);
    return count < 0 ? -1 : shown;
}

/* Another host. */

/* Does not return, if srun can be executed. */
static int _ask_there (const struct options *options, const struct job_info *job)
{
    char self[4096], id[48], node[sizeof (job->host) + 16];
    ssize_t length = readlink ("/proc/self/exe", self, sizeof (self) - 1);
    const char *argv[] = { "srun", "--quiet", "--overlap", "--nodes=1", "--ntasks=1", "--input=none", id,
                           node,   self,      "--local",   NULL,        NULL,         NULL,           NULL };
    int used = 10;

    if (length < 0)
        return FAILED;
    self[length] = '\0';
    snprintf (id, sizeof (id), "--jobid=%d", job->number);
    snprintf (node, sizeof (node), "--nodelist=%s", job->host);
    if (options->all)
        argv[used++] = "--all";
    if (options->json)
        argv[used++] = "--json";
    argv[used] = options->job;
    execvp (argv[0], (char *const *)(uintptr_t)argv);
    fprintf (stderr, "tf-status: srun cannot be executed\n");
    return FAILED;
}

static bool _is_this_host (const char *host)
{
    char own[256] = "";

    gethostname (own, sizeof (own) - 1);
    own[strcspn (own, ".")] = '\0';
    return strncmp (own, host, strcspn (host, ".")) == 0 && strlen (own) == strcspn (host, ".");
}

static int _look_elsewhere (const struct options *options)
{
    char name[32];
    struct job_info job;
    struct errtext err;

    snprintf (name, sizeof (name), "%.*s", (int)strcspn (options->job, "."), options->job);
    if (squeue_find (&job, name, &err) < 0) {
        fprintf (stderr, "tf-status: %s\n", err.text);
        return NOT_FOUND;
    }
    if (geteuid () != 0 && job.uid != geteuid ())
        fprintf (stderr, "tf-status: job %s is another user's\n", name);
    else if (strcmp (job.state, "RUNNING") != 0)
        fprintf (stderr, "tf-status: job %s does not run: %s\n", name, job.state);
    else if (_is_this_host (job.host))
        fprintf (stderr, "tf-status: job %s has no job step with --tf-tasks now\n", options->job);
    else if (job.batch)
        return _ask_there (options, &job);
    else
        fprintf (stderr, "tf-status: srun of job %s runs on %s; call tf-status there\n", name, job.host);
    return NOT_FOUND;
}

static int _run (const struct options *options)
{
    json_t *steps = json_array (), *object;
    int shown = _show_local (options, steps), rc = FOUND;

    if (shown == 0 && options->job && !options->local) {
        json_decref (steps);
        return _look_elsewhere (options);
    }
    if (shown == 0 && options->job)
        fprintf (stderr, "tf-status: job %s has no job step with --tf-tasks whose srun runs here\n",
                 options->job);
    if (options->json && shown >= 0) {
        object = json_pack ("{s:s, s:O}", "spank_tf", PACKAGE_VERSION, "steps", steps);
        if (!object || json_dumpf (object, stdout, JSON_INDENT (2) | JSON_REAL_PRECISION (6)) < 0
            || puts ("") == EOF)
            rc = FAILED;
        json_decref (object);
    }
    json_decref (steps);
    if (fflush (stdout) != 0 || shown < 0)
        return FAILED;
    return shown == 0 && options->job ? NOT_FOUND : rc;
}

int main (int argc, char *argv[])
{
    struct options options = { .job = NULL };

    if (_read_options (&options, argc, argv) < 0) {
        fprintf (stderr, "See tf-status --help.\n");
        return FAILED;
    }
    if (options.version)
        return version_print ();
    if (options.help)
        return fputs (help, stdout) == EOF ? FAILED : FOUND;
    return _run (&options);
}
