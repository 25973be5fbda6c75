/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The input is the name of a log directory with Slurm's patterns; a second line is the job's name.
 */
#include "config.h"

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "common/pattern.h"

/* Expand the line into so many bytes. */
static void _check (const char *line, const struct pattern_values *values, size_t room)
{
    char *buf = malloc (room);
    struct errtext err;

    CHECK (buf);
    if (fuzz_succeeded (pattern_expand (line, values, buf, room, &err), &err)) {
        CHECK (strlen (buf) < room);
        CHECK (strpbrk (line, "%\\") || strcmp (buf, line) == 0);
        CHECK (!strchr (line, '\\') || !strchr (buf, '\\'));
    } else
        CHECK (strchr (line, '%') || strlen (line) >= room);
    free (buf);
}

FUZZ_TARGET (pattern)
{
    char *text = fuzz_text (data, size), *rest = text, *line = fuzz_line (&rest);
    const struct pattern_values values = {
        .job = "17", .step = "0", .node = "n1", .user = "ann", .job_name = fuzz_line (&rest),
        .array_job = "17", .node_index = "0", .rank = "1",
    };

    _check (line, &values, size + 64);
    _check (line, &values, strlen (line) + 1);
    _check (line, &values, strlen (line) ? strlen (line) : 1);
    free (text);
}
