/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "placeholders.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

const char *const placeholders_name[PLACEHOLDERS + 1] = {
    [PLACEHOLDER_ROLE] = "role",
    [PLACEHOLDER_INDEX] = "index",
    [PLACEHOLDER_ADDRESS] = "address",
    [PLACEHOLDER_PORT] = "port",
    [PLACEHOLDER_RANK] = "rank",
    [PLACEHOLDER_NODE] = "node",
    [PLACEHOLDER_TF_CONFIG] = "tf_config",
    [PLACEHOLDER_CLUSTER] = "cluster",
    [PLACEHOLDER_CHIEF_HOSTS] = "chief_hosts",
    [PLACEHOLDER_MASTER_HOSTS] = "master_hosts",
    [PLACEHOLDER_PS_HOSTS] = "ps_hosts",
    [PLACEHOLDER_WORKER_HOSTS] = "worker_hosts",
    [PLACEHOLDER_EVALUATOR_HOSTS] = "evaluator_hosts",
    [PLACEHOLDER_NUM_PS] = "num_ps",
    [PLACEHOLDER_NUM_WORKERS] = "num_workers",
};

const char *const placeholders_variable[PLACEHOLDERS] = {
    [PLACEHOLDER_ROLE] = "SLURM_TF_ROLE",       [PLACEHOLDER_INDEX] = "SLURM_TF_INDEX",
    [PLACEHOLDER_ADDRESS] = "SLURM_TF_ADDRESS", [PLACEHOLDER_PORT] = "SLURM_TF_PORT",
    [PLACEHOLDER_RANK] = "SLURM_PROCID",        [PLACEHOLDER_NODE] = "SLURMD_NODENAME",
    [PLACEHOLDER_TF_CONFIG] = "TF_CONFIG",
};

/* A part of a text: characters that stay as they are, or one placeholder. */
struct piece {
    const char *text;
    size_t length;
    enum placeholder which;     /* PLACEHOLDERS: not one of these */
    const struct placeholder_beside *beside;    /* NULL: not one of these */
};

/* Is this placeholder, and a closing brace, at `text`? */
static bool _begins (const char *text, const char *name)
{
    size_t length = strlen (name);

    return strncmp (text, name, length) == 0 && text[length] == '}';
}

/* The placeholder whose name and closing brace are at `name`, or PLACEHOLDERS. */
static enum placeholder _find (const char *name)
{
    int which = 0;

    while (which < PLACEHOLDERS && !_begins (name, placeholders_name[which]))
        which++;
    return (enum placeholder)which;
}

/* The same for the name of an auxiliary task, or NULL. */
static const struct placeholder_beside *_find_beside (const char *name,
                                                      const struct placeholder_values *values)
{
    for (size_t i = 0; i < values->besides; i++)
        if (_begins (name, values->beside[i].name))
            return &values->beside[i];
    return NULL;
}

/* Get the next piece and move *text behind it. False at the end of the text. */
static bool _next (const char **text, const struct placeholder_values *values, struct piece *piece)
{
    const char *at = *text;

    if (!*at)
        return false;
    *piece = (struct piece){ .text = at, .length = 1, .which = PLACEHOLDERS };
    if (*at != '{')
        piece->length = strcspn (at, "{");
    else if ((piece->which = _find (at + 1)) < PLACEHOLDERS)
        piece->length = strlen (placeholders_name[piece->which]) + 2;
    else if ((piece->beside = _find_beside (at + 1, values)))
        piece->length = strlen (piece->beside->name) + 2;
    *text = at + piece->length + (at[0] == '{' && at[1] == '{');
    return true;
}

static int _not_known (enum placeholder which, struct errtext *err)
{
    const char *name = placeholders_name[which], *variable = placeholders_variable[which];

    if (variable)
        return errtext_set (err, "{%s} is not known, because %s is not set", name, variable);
    return errtext_set (err, "{%s} is not known here", name);
}

/* A string that grows. */
struct result {
    char *text;
    size_t length;
};

static int _append (struct result *result, const char *text, size_t length, struct errtext *err)
{
    char *longer = realloc (result->text, result->length + length + 1);

    if (!longer)
        return errtext_set (err, "%s", strerror (ENOMEM));
    memcpy (longer + result->length, text, length);
    result->text = longer;
    result->length += length;
    result->text[result->length] = '\0';
    return 0;
}

static int _append_piece (struct result *result, const struct piece *piece,
                          const struct placeholder_values *values, struct errtext *err)
{
    const char *value;

    if (piece->beside)
        return _append (result, piece->beside->hosts, strlen (piece->beside->hosts), err);
    if (piece->which == PLACEHOLDERS)
        return _append (result, piece->text, piece->length, err);
    if (!(value = values->of[piece->which]))
        return _not_known (piece->which, err);
    return _append (result, value, strlen (value), err);
}

int placeholders_replace (char **to, const char *text, const struct placeholder_values *values,
                          struct errtext *err)
{
    struct result result = { NULL, 0 };
    struct piece piece;
    int rc = _append (&result, "", 0, err);

    while (rc == 0 && _next (&text, values, &piece))
        rc = _append_piece (&result, &piece, values, err);
    if (rc < 0)
        free (result.text);
    else
        *to = result.text;
    return rc;
}
