/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "cause.h"

#include <stdio.h>
#include <string.h>

#include "common/printable.h"

static const struct {
    const char *word, *text;    /* the detail is behind the text */
} causes[CAUSE_KINDS] = {
    [CAUSE_NONE] = { NULL, "" },
    [CAUSE_MEMORY] = { "memory", "out of memory: its node, or a limit such as ulimit -v, gave it no more" },
    [CAUSE_DEVICE_MEMORY] = { "device-memory", "out of memory on the device that it computes on" },
    [CAUSE_SPACE] = { "space", "no space is left on a file system that it writes to" },
    [CAUSE_QUOTA] = { "quota", "its disk quota is used up" },
    [CAUSE_PORT_IN_USE] = { "port-in-use", "the port that it wants to listen on is in use" },
    [CAUSE_PORT] = { "port", "it could not listen on its port" },
    [CAUSE_STALE] = { "stale", "a file that it uses is gone from the server (stale file handle)" },
    [CAUSE_IO] = { "io", "a file system or a disk failed (input/output error)" },
    [CAUSE_LIBRARY] = { "library", "a library is missing: " },
    [CAUSE_MODULE] = { "module", "a Python module is missing: " },
    [CAUSE_GPU] = { "gpu", "a GPU is broken, or gone" },
    [CAUSE_CONNECTION] = { "connection", "it lost a connection" },
    [CAUSE_VARIABLES] = { "variables", "PyTorch's variables are not set, see --tf-frameworks=torch" },
};

const char *cause_word (enum cause_kind kind)
{
    return causes[kind].word;
}

const char *cause_text (const struct cause *cause, char *buf, size_t size)
{
    snprintf (buf, size, "%s%s", causes[cause->kind].text, cause->detail);
    return buf;
}

void cause_add (struct frame *frame, const struct cause *cause)
{
    if (cause->kind != CAUSE_NONE)
        frame_add (frame, "CAUSE", "%s", causes[cause->kind].word);
    if (cause->detail[0])
        frame_add (frame, "CAUSE_DETAIL", "%s", cause->detail);
}

void cause_decode (struct cause *cause, const struct frame *frame)
{
    const char *word = frame_get (frame, "CAUSE"), *detail = frame_get (frame, "CAUSE_DETAIL");

    *cause = (struct cause){ .kind = CAUSE_NONE };
    for (int kind = CAUSE_MEMORY; word && kind < CAUSE_KINDS; kind++)
        if (strcmp (causes[kind].word, word) == 0)
            cause->kind = (enum cause_kind)kind;
    if (cause->kind != CAUSE_LIBRARY && cause->kind != CAUSE_MODULE)
        return;
    if (detail)
        printable_line (cause->detail, sizeof (cause->detail), detail, strlen (detail));
    if (!detail || strcmp (cause->detail, detail) != 0 || !*detail)
        *cause = (struct cause){ .kind = CAUSE_NONE };
}
