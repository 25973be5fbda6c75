/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "python_stack.h"

#include <stdio.h>
#include <string.h>

/* The longest line of a frame; faulthandler cuts each of its two names at 500 characters. */
#define LINE_SIZE 1280

struct stack_frame {
    char path[512], function[512];
    int line;
};

/* Take the next line, without its end. A longer one is cut. False at the end. */
static bool _take_stack_line (const char **at, const char *end, char line[LINE_SIZE])
{
    const char *newline = *at < end ? memchr (*at, '\n', (size_t)(end - *at)) : NULL;
    size_t length = (size_t)((newline ? newline : end) - *at);

    if (*at == end)
        return false;
    snprintf (line, LINE_SIZE, "%.*s", length < LINE_SIZE ? (int)length : LINE_SIZE - 1, *at);
    *at = newline ? newline + 1 : end;
    return true;
}

static bool _line_begins (const char *line, const char *word)
{
    return strncmp (line, word, strlen (word)) == 0;
}

static bool _parse (const char *line, struct stack_frame *frame)
{
    int end = 0;

    /* NOLINTNEXTLINE(cert-err34-c): nine digits do not overflow. */
    return sscanf (line, "  File \"%511[^\"]\", line %9d in %511[^\n]%n", frame->path, &frame->line,
                   frame->function, &end)
               == 3
           && line[end] == '\0';
}

/*
 * "<frozen runpy>", "/usr/lib/python3.11/threading.py" and what pip or a distribution installed are not;
 * nor is the copy of contrib/examples that stands beside the user's script, and tells that the program
 * waits.
 */
static bool _is_users (const struct stack_frame *frame)
{
    if (strcmp (basename (frame->path), "spank_tf_watchdog.py") == 0)
        return false;
    return frame->path[0] != '<' && !strstr (frame->path, "/lib/python3")
           && !strstr (frame->path, "/lib64/python3") && !strstr (frame->path, "/site-packages/")
           && !strstr (frame->path, "/dist-packages/");
}

/* Is it the outermost frame of the main thread? That of another one is _bootstrap. */
static bool _is_main (const struct stack_frame *frame)
{
    return strcmp (frame->function, "<module>") == 0 || strcmp (frame->function, "_run_module_as_main") == 0;
}

/* The main thread is the last one; where the signal came to a thread of C++, none is "Current". */
bool python_stack_find (char *buf, size_t size, const char *bytes, size_t length)
{
    const char *at = bytes;
    struct stack_frame frame, outermost = { .line = 0 }, innermost = outermost, own = outermost;
    char line[LINE_SIZE];
    bool inside = false;

    while (_take_stack_line (&at, bytes + length, line)) {
        if (_line_begins (line, "Current thread 0x") || _line_begins (line, "Thread 0x")) {
            inside = true;
            innermost.line = outermost.line = own.line = 0;
        } else if (inside && (inside = _parse (line, &frame))) {
            outermost = frame;
            innermost = innermost.line ? innermost : frame;
            own = !own.line && _is_users (&frame) ? frame : own;
        }
    }
    if (!own.line || !_is_main (&outermost))
        return false;
    snprintf (buf, size, "%s:%d %s%s%s", basename (own.path), own.line, own.function,
              _is_users (&innermost) ? "" : ", in ", _is_users (&innermost) ? "" : innermost.function);
    return true;
}
