/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "look.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "stacks.h"
#include "status_json.h"
#include "status_text.h"

int look_job (const struct reply *reply)
{
    return (int)strtol (reply->overview.job_step, NULL, 10);
}

/* Slurm's jobs of a step: of a heterogeneous one each component. */
static int _ask_stacks (const struct look *look, const struct reply *reply, struct stacks *stacks)
{
    struct job_info *job;
    struct errtext err;
    char number[16];
    int found, count = 0, rc = -1;

    *stacks = (struct stacks){ NULL, 0 };
    snprintf (number, sizeof (number), "%d", look_job (reply));
    found = jobs_find (&job, number, &err);
    for (int i = 0; i < found; i++)
        if (job[i].leader == look_job (reply))
            job[count++] = job[i];
    if (found >= 0)
        rc = stacks_ask (stacks, &reply->overview, reply->rank, job, count, look->role, &err);
    free (job);
    if (rc < 0)
        fprintf (stderr, "tf-status: %s\n", err.text);
    return rc;
}

static char *_json (const struct look *look, const struct reply *reply, int count)
{
    json_t *steps = json_array ();
    char *text;

    for (int i = 0; i < count; i++) {
        struct stacks stacks = { NULL, 0 };

        if (look->stacks)
            _ask_stacks (look, &reply[i], &stacks);
        json_array_append_new (steps, status_json (&reply[i].overview, reply[i].rank, stacks.of));
        stacks_clear (&stacks);
    }
    text = json_dumps (steps, JSON_COMPACT | JSON_REAL_PRECISION (6));
    json_decref (steps);
    return text;
}

static char *_stacks (const struct look *look, const struct reply *reply)
{
    struct stacks stacks;
    char *text = NULL;

    if (_ask_stacks (look, reply, &stacks) == 0)
        text = stacks_text (&stacks, reply->rank, look->all ? reply->overview.rows : STATUS_TEXT_ROWS);
    stacks_clear (&stacks);
    return text;
}

static int _print_one (FILE *f, const struct look *look, const struct reply *reply)
{
    char *table = look->lines    ? NULL
                  : look->stacks ? _stacks (look, reply)
                                 : status_text (&reply->overview, reply->rank, look->all);
    char *line = look->lines || (look->stacks && table) ? status_text_line (&reply->overview) : NULL;
    int rc = line || table ? 0 : -1;

    if (line)
        fprintf (f, "%s\n", line);
    if (table)
        fputs (table, f);
    free (line);
    /* gcc -fanalyzer is wrong: there are two texts. */
    free (table);
    return rc;
}

char *look_text (const struct look *look, const struct reply *reply, int count)
{
    char *text = NULL;
    size_t size;
    FILE *f = look->json ? NULL : open_memstream (&text, &size);
    int rc = f ? 0 : -1;

    /* gcc -fanalyzer is wrong: that of JSON has no stream. */
    if (look->json)
        return _json (look, reply, count);
    for (int i = 0; i < count && rc == 0; i++)
        rc = _print_one (f, look, &reply[i]);
    if (f && fclose (f) == 0 && rc == 0)
        return text;
    free (text);
    return NULL;
}
