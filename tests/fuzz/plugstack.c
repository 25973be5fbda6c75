/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The input is plugstack.conf. What it includes is the same file again, except names with
 * "missing" in them.
 */
#include "config.h"

#include "fuzz.h"

#include <string.h>

#include "check/plugstack.h"

static bool _is_word (const char *text)
{
    return *text && !strpbrk (text, " \t\n");
}

static void _check_line (const struct plugstack_line *line)
{
    const char *end = line->text + sizeof (line->text);

    CHECK (line->number >= 1 && line->arguments <= PLUGSTACK_MAX_ARGUMENTS);
    CHECK (line->plugin >= line->text && line->plugin < end && _is_word (line->plugin));
    CHECK (strstr (line->plugin, "spank_tf.so"));
    for (size_t i = 0; i < line->arguments; i++)
        CHECK (line->argument[i] > line->plugin && line->argument[i] < end && _is_word (line->argument[i]));
}

FUZZ_TARGET (plugstack)
{
    static struct plugstack stack;
    const char *path = fuzz_file (data, size);
    struct errtext err;

    fuzz_include_itself (true);
    if (fuzz_succeeded (plugstack_read (&stack, path, &err), &err)) {
        CHECK (stack.files >= 1);
        for (size_t i = 0; i < stack.lines && i < PLUGSTACK_MAX_LINES; i++)
            _check_line (&stack.line[i]);
        CHECK (!stack.ignored.text[0] || fuzz_is_line (stack.ignored.text));
    }
    fuzz_include_itself (false);
}
