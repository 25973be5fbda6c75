/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "jobs.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/child.h"
#include "common/descriptors.h"
#include "common/number.h"
#include "common/printable.h"

/* slurmctld may be busy. */
#define SQUEUE_MS 30000
/* Some thousand jobs. */
#define SQUEUE_MOST ((size_t)2 * 1024 * 1024)

/* Columns of fixed widths, because a name may contain anything. */
#define COLUMNS \
    "JobArrayID:39,JobID:15,HetJobID:15,HetJobOffset:15,NumNodes:15,UserID:15," \
    "GroupID:15,State:23,BatchFlag:7,BatchHost:127,Name:63"

/* The next column, without the blanks behind it. */
static const char *_take (const char *line, char *buf, size_t size)
{
    size_t length = strcspn (line, "\n"), used;

    if (length > size - 1)
        length = size - 1;
    used = length;
    while (used > 0 && line[used - 1] == ' ')
        used--;
    memcpy (buf, line, used);
    buf[used] = '\0';
    return line + length;
}

/* 0 if it is none. */
static const char *_take_number (const char *line, int *number)
{
    char text[16];

    line = _take (line, text, sizeof (text));
    if (number_parse (number, text, 0, INT_MAX) < 0)
        *number = 0;
    return line;
}

/* False if it is none. */
static bool _take_id (const char **line, uint32_t *id)
{
    char text[16];

    *id = 0;
    *line = _take (*line, text, sizeof (text));
    return number_parse_id (id, text) == 0;
}

/* Words are separated by blanks. */
static bool _is_one_of (const char *state, const char *words)
{
    const char *found = strstr (words, state);
    size_t length = strlen (state);

    while (found && ((found > words && found[-1] != ' ') || (found[length] && found[length] != ' ')))
        found = strstr (found + 1, state);
    return found;
}

/* All others may still run, or run again. `state` is not empty. */
static void _set_phase (struct job_info *info)
{
    if (_is_one_of (info->state, "RUNNING SIGNALING SUSPENDED COMPLETING STOPPED"))
        info->phase = JOB_RUNS;
    else if (_is_one_of (info->state,
                         "COMPLETED CANCELLED FAILED TIMEOUT NODE_FAIL PREEMPTED BOOT_FAIL DEADLINE "
                         "OUT_OF_MEMORY REVOKED LAUNCH_FAILED RECONFIG_FAIL"))
        info->phase = JOB_IS_OVER;
    else
        info->phase = JOB_WAITS;
}

/* NULL if it is another text. */
static const char *_parse_line (struct job_info *info, const char *line)
{
    char batch[8];
    bool has_user;

    line = _take (line, info->name, sizeof (info->name));
    _take_id (&line, &info->number);
    _take_id (&line, &info->leader);
    line = _take_number (line, &info->component);
    line = _take_number (line, &info->nodes);
    has_user = _take_id (&line, &info->uid);
    has_user = _take_id (&line, &info->gid) && has_user;
    line = _take (line, info->state, sizeof (info->state));
    line = _take (line, batch, sizeof (batch));
    line = _take (line, info->host, sizeof (info->host));
    line = _take (line, info->title, sizeof (info->title));
    line += strcspn (line, "\n");
    printable_make_line (info->title);
    info->batch = strcmp (batch, "0") != 0;
    if (info->leader == 0) {
        info->leader = info->number;
        info->component = -1;
    }
    if (strcmp (info->host, "n/a") == 0)
        info->host[0] = '\0';
    if (info->number == 0 || !has_user || !*info->state)
        return NULL;
    _set_phase (info);
    return line + (*line == '\n');
}

const char *jobs_parse (struct job_info *info, const char *text)
{
    const char *next;

    /* The name of a job may have several lines. */
    while (!(next = _parse_line (info, text)) && *(text += strcspn (text, "\n")))
        text++;
    return next;
}

static int _run (void *arg)
{
    /* A user's own filters. */
    static const char *const hiding[] = { "SQUEUE_ACCOUNT",   "SQUEUE_LICENSES", "SQUEUE_NAMES",
                                          "SQUEUE_PARTITION", "SQUEUE_QOS",      "SQUEUE_STATES",
                                          "SQUEUE_USERS" };
    const char *job = arg;
    char filter[64];
    const char *const argv[] = {
        "squeue", "--noheader", ("--Format=" COLUMNS), filter, job ? "--states=all" : NULL, NULL
    };

    for (size_t i = 0; i < sizeof (hiding) / sizeof (*hiding); i++)
        unsetenv (hiding[i]);
    if (job)
        snprintf (filter, sizeof (filter), "--jobs=%s", job);
    else
        snprintf (filter, sizeof (filter), "--user=%u", geteuid ());
    execvp (argv[0], (char *const *)(uintptr_t)argv);
    dprintf (STDERR_FILENO, "squeue cannot be executed here\n");
    return 1;
}

/* 0: there is no such job. */
static int _ask (char *text, const char *job, struct errtext *err)
{
    int errors = descriptors_memory_file ("squeue", "", 0);
    ssize_t length = child_ask ("squeue", _run, (void *)(uintptr_t)job, errors, text, SQUEUE_MOST, SQUEUE_MS);
    char why[256];
    int rc = 0;

    text[length > 0 ? length : 0] = '\0';
    if (length < 0 && !descriptors_first_line (errors, why, sizeof (why)))
        rc = errtext_set (err, "squeue does not answer");
    else if (length < 0 && !(job && strstr (why, "Invalid job id")))
        rc = errtext_set (err, "%s", why);
    if (errors >= 0)
        close (errors);
    return rc;
}

static int _read_list (struct job_info **list, const char *text, struct errtext *err)
{
    struct job_info info, *more;
    int count = 0;

    while ((text = jobs_parse (&info, text))) {
        if (!(more = reallocarray (*list, (size_t)count + 1, sizeof (*more))))
            return errtext_set (err, "%s", strerror (ENOMEM));
        *list = more;
        more[count++] = info;
    }
    return count;
}

int jobs_find (struct job_info **list, const char *name, struct errtext *err)
{
    char job[32], *text = malloc (SQUEUE_MOST + 1);
    int count = -1;

    *list = NULL;
    /* squeue knows no component by such a name. */
    snprintf (job, sizeof (job), "%.*s", name ? (int)strcspn (name, "+") : 0, name ? name : "");
    if (!text)
        return errtext_set (err, "%s", strerror (ENOMEM));
    if (_ask (text, name ? job : NULL, err) == 0)
        count = _read_list (list, text, err);
    free (text);
    return count;
}
