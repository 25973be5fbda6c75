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

FUZZ_TARGET (pattern)
{
    char *text = fuzz_text (data, size), *rest = text, *line = fuzz_line (&rest);
    const struct pattern_values values = {
        .job = "17", .step = "0", .node = "n1", .user = "ann", .job_name = fuzz_line (&rest),
        .array_job = "17", .node_index = "0", .rank = "1",
    };
    char *room = malloc (size + 64);
    struct errtext err;

    CHECK (room);
    if (fuzz_succeeded (pattern_expand (line, &values, room, size + 64, &err), &err)) {
        CHECK (strlen (room) < size + 64);
        CHECK (strpbrk (line, "%\\") || strcmp (room, line) == 0);
        CHECK (!strchr (line, '\\') || !strchr (room, '\\'));
    } else
        CHECK (strchr (line, '%'));
    free (room);
    free (text);
}
