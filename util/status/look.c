/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "look.h"

#include <stdio.h>
#include <stdlib.h>

#include "stacks.h"
#include "status_json.h"
#include "status_text.h"

/* -1: stderr says why. */
static int _ask_stacks (const struct look *look, struct reply *reply)
{
    struct errtext err;

    if (stacks_ask (reply, look->role, &err) == 0)
        return 0;
    fprintf (stderr, "tf-status: %s\n", err.text);
    return -1;
}

json_t *look_json (const struct look *look, const struct replies *replies)
{
    json_t *steps = json_array ();

    for (int i = 0; i < replies->count; i++) {
        if (look->stacks)
            _ask_stacks (look, &replies->reply[i]);
        json_array_append_new (steps, status_json (&replies->reply[i]));
    }
    return steps;
}

static char *_json_text (const struct look *look, const struct replies *replies)
{
    json_t *steps = look_json (look, replies);
    char *text = json_dumps (steps, JSON_COMPACT | JSON_REAL_PRECISION (6));

    json_decref (steps);
    return text;
}

static char *_table (const struct look *look, struct reply *reply)
{
    if (!look->stacks)
        return status_text (reply, look->all);
    if (_ask_stacks (look, reply) < 0)
        return NULL;
    return stacks_text (reply, look->role, look->all ? reply->overview.rows : STATUS_TEXT_ROWS);
}

static int _print_one (FILE *f, const struct look *look, struct reply *reply)
{
    char *table = look->lines && !look->stacks ? NULL : _table (look, reply);
    bool has_line = look->stacks ? table != NULL : look->lines;
    char *line = has_line ? status_text_line (&reply->overview) : NULL;
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

char *look_text (const struct look *look, const struct replies *replies)
{
    char *text = NULL;
    size_t size;
    FILE *f = look->json ? NULL : open_memstream (&text, &size);
    int rc = f ? 0 : -1;

    /* gcc -fanalyzer is wrong: that of JSON has no stream. */
    if (look->json)
        return _json_text (look, replies);
    for (int i = 0; i < replies->count && rc == 0; i++)
        rc = _print_one (f, look, &replies->reply[i]);
    if (f && fclose (f) == 0 && rc == 0)
        return text;
    free (text);
    return NULL;
}
