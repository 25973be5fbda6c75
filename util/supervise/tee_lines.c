/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "tee_lines.h"

#include <string.h>

void tee_lines_init (struct tee_lines *lines, const char *name, tee_lines_write write, void *arg)
{
    lines->name = name;
    lines->write = write;
    lines->arg = arg;
    lines->open = lines->after_cr = false;
    lines->held = lines->out = 0;
}

static void _flush (struct tee_lines *lines)
{
    if (lines->out > 0)
        lines->write (lines->arg, lines->buffer, lines->out);
    lines->out = 0;
}

static void _put (struct tee_lines *lines, const char *bytes, size_t length)
{
    while (length > 0) {
        size_t room = sizeof (lines->buffer) - lines->out, n = length < room ? length : room;

        memcpy (lines->buffer + lines->out, bytes, n);
        lines->out += n;
        bytes += n;
        length -= n;
        if (lines->out == sizeof (lines->buffer))
            _flush (lines);
    }
}

/* The line as far as it has come, and these bytes behind it. */
static void _put_line (struct tee_lines *lines, const char *bytes, size_t length)
{
    if (!lines->open)
        _put (lines, lines->name, strlen (lines->name));
    _put (lines, lines->hold, lines->held);
    _put (lines, bytes, length);
    lines->held = 0;
    lines->open = true;
}

static void _end_line (struct tee_lines *lines, const char *bytes, size_t length, char end)
{
    bool is_empty = length == 0 && lines->held == 0 && !lines->open;

    if (is_empty && (end == '\r' || lines->after_cr)) {
        lines->after_cr = lines->after_cr && end == '\r';
        return;
    }
    _put_line (lines, bytes, length);
    _put (lines, "\n", 1);
    lines->open = false;
    lines->after_cr = end == '\r';
}

static void _keep (struct tee_lines *lines, const char *bytes, size_t length)
{
    if (length == 0)
        return;
    lines->after_cr = false;
    if (lines->open || lines->held + length > sizeof (lines->hold))
        _put_line (lines, bytes, length);
    else {
        memcpy (lines->hold + lines->held, bytes, length);
        lines->held += length;
    }
}

/* The next `c`, or the end. */
static const char *_find (const char *bytes, const char *end, char c)
{
    const char *found = bytes < end ? memchr (bytes, c, (size_t)(end - bytes)) : NULL;

    return found ? found : end;
}

void tee_lines_add (struct tee_lines *lines, const char *bytes, size_t length)
{
    const char *end = bytes + length, *cr = _find (bytes, end, '\r');

    while (bytes < end) {
        const char *line_end = _find (bytes, cr, '\n');

        if (line_end == end) {
            _keep (lines, bytes, (size_t)(end - bytes));
            break;
        }
        _end_line (lines, bytes, (size_t)(line_end - bytes), *line_end);
        bytes = line_end + 1;
        if (line_end == cr)
            cr = _find (bytes, end, '\r');
    }
    _flush (lines);
}

void tee_lines_end (struct tee_lines *lines)
{
    if (lines->open || lines->held > 0)
        _end_line (lines, "", 0, '\n');
    _flush (lines);
}
