/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "console.h"

#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "common/deadline.h"

/* If the reader of stderr stops reading, the launch must go on. */
#define WRITE_TIMEOUT_MS 2000

static struct master_log *kept;

void console_keep (struct master_log *log)
{
    master_log_close (kept);
    kept = log;
}

static bool _is_regular_file (void)
{
    struct stat st;

    return fstat (STDERR_FILENO, &st) == 0 && S_ISREG (st.st_mode);
}

/*
 * How much to write at once: all to a file; else whole lines, and at most PIPE_BUF, which a pipe
 * that polls as ready takes without blocking.
 */
static size_t _chunk (const char *text, size_t len)
{
    size_t chunk = len < PIPE_BUF || _is_regular_file () ? len : PIPE_BUF;

    for (size_t i = chunk; i > 0; i--)
        if (text[i - 1] == '\n')
            return i;
    return chunk;
}

static void _write (const char *text, size_t len)
{
    struct pollfd pfd = { .fd = STDERR_FILENO, .events = POLLOUT };
    struct deadline deadline = deadline_in_ms (WRITE_TIMEOUT_MS);

    while (len > 0 && poll (&pfd, 1, deadline_left_ms (deadline)) == 1) {
        ssize_t n = write (STDERR_FILENO, text, _chunk (text, len));

        if (n < 0)
            return;
        text += n;
        len -= (size_t)n;
    }
}

static void _print (const char *text)
{
    struct termios tty;
    bool raw = tcgetattr (STDERR_FILENO, &tty) == 0 && !(tty.c_oflag & OPOST);
    size_t used = 0;
    char *out = malloc (2 * strlen (text) + 1);

    if (!out)
        return;
    for (const char *p = text; *p; p++) {
        if (raw && *p == '\n')
            out[used++] = '\r';
        out[used++] = *p;
    }
    _write (out, used);
    free (out);
}

/* Once. */
static void _report_late_log (void)
{
    static bool reported;
    char *line;

    if (reported)
        return;
    reported = true;
    if (asprintf (&line, "srun: spank_tf: %s is not written in time; lines may be missing in it\n",
                  master_log_path (kept)) >= 0) {
        _print (line);
        free (line);
    }
}

void console_note (const char *text)
{
    if (kept && !master_log_write (kept, text))
        _report_late_log ();
}

void console_print (const char *text)
{
    console_note (text);
    _print (text);
}

void console_table (char *text, bool show)
{
    if (text && show)
        console_print (text);
    else if (text)
        console_note (text);
    free (text);
}

void console_say (const char *fmt, ...)
{
    char *line, *text;
    va_list ap;
    int n;

    va_start (ap, fmt);
    n = vasprintf (&text, fmt, ap);
    va_end (ap);
    if (n < 0)
        return;
    if (asprintf (&line, "srun: %s\n", text) >= 0) {
        console_print (line);
        free (line);
    }
    free (text);
}
