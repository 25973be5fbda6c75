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

/* Expand the line into so many bytes: that succeeds if there is room, and writes no other byte. */
static void _check (const char *line, const struct pattern_values *values, const char *whole, size_t room)
{
    char *buf = malloc (room + 8);
    struct errtext err;

    CHECK (buf);
    memset (buf, '#', room + 8);
    CHECK (fuzz_succeeded (pattern_expand (line, values, buf, room, &err), &err) == (strlen (whole) < room));
    CHECK (strlen (whole) >= room || strcmp (buf, whole) == 0);
    CHECK (memcmp (buf + room, "########", 8) == 0);
    free (buf);
}

FUZZ_TARGET (pattern)
{
    char *text = fuzz_text (data, size), *rest = text, *line = fuzz_line (&rest);
    /* clang-format off */
    const struct pattern_values values = {
        .job = "17", .step = "0", .node = "n1", .user = "ann", .job_name = fuzz_line (&rest),
        .array_job = "17",
    };
    /* clang-format on */

    size_t room = 32 * size + 64;
    struct errtext err;
    char *whole;

    fuzz_allow (room);
    CHECK (whole = malloc (room));
    if (fuzz_succeeded (pattern_expand (line, &values, whole, room, &err), &err)) {
        CHECK (strpbrk (line, "%\\") || strcmp (whole, line) == 0);
        CHECK (!strchr (line, '\\') || !strchr (whole, '\\'));
        _check (line, &values, whole, strlen (whole) + 1);
        _check (line, &values, whole, strlen (whole) ? strlen (whole) : 1);
        _check (line, &values, whole, strlen (whole) / 2 + 1);
    } else
        CHECK (strchr (line, '%'));
    free (whole);
    free (text);
}
