/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "console.h"

#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/iso_time.h"
#include "common/logdir.h"
#include "common/printable.h"
#include "writer.h"

#define LOG_NAME "master.log"

#define OPEN_MS 5000
/* How often to look whether a writer that is late takes more. */
#define LATE_MS 200

/* NULL: not needed yet, or not wanted. */
static struct writer *out, *log_writer;
static char log_path[PATH_MAX + sizeof ("/" LOG_NAME)];
static bool muted;
/* What console_hold () keeps, or NULL, until then; never: nothing is to be kept. */
static char *held;
static struct deadline held_until = { INT64_MAX };

static int _open_stderr (const void *unused __attribute__ ((unused)),
                         struct errtext *err __attribute__ ((unused)))
{
    return STDERR_FILENO;
}

/* If there can be no child, a message is better than none: print it here, unless a full pipe would block. */
static void _print_here (const char *text)
{
    struct pollfd pfd = { .fd = STDERR_FILENO, .events = POLLOUT };

    if (poll (&pfd, 1, 0) == 1 && write (STDERR_FILENO, text, strlen (text)) < 0)
        return;
}

static void _print_stderr (const char *text)
{
    if (!writer_pump (out)) {
        writer_close (out);
        out = NULL;
    }
    if (!out)
        out = writer_create (_open_stderr, NULL, NULL);
    if (out)
        writer_put (out, text);
    else
        _print_here (text);
}

struct log_file {
    const char *dir;
    bool append;
};

/* In the child, which must not keep srun's stderr. */
static int _open_master_log (const void *arg, struct errtext *err)
{
    const struct log_file *file = arg;
    struct logdir dir;
    bool used = false;
    int fd;

    dup2 (STDIN_FILENO, STDERR_FILENO);
    snprintf (dir.path, sizeof (dir.path), "%s", file->dir);
    if (logdir_make (&dir, err) < 0)
        return -1;
    fd = logdir_open_first (&dir, file->append, LOG_NAME, &used, err);
    logdir_close (&dir);
    if (used)
        errtext_set (err, "it is used");
    return fd;
}

int console_open_log (const char *dir, bool append, struct errtext *err)
{
    const struct log_file file = { dir, append };

    snprintf (log_path, sizeof (log_path), "%s/" LOG_NAME, dir);
    printable_make_line (log_path);
    if (!(log_writer = writer_create (_open_master_log, &file, err)))
        return -1;
    if (writer_await_open (log_writer, OPEN_MS, err) == 0)
        return err->text[0] ? 1 : 0;
    writer_close (log_writer);
    log_writer = NULL;
    return -1;
}

/* A copy that no terminal obeys, to be freed; NULL if there is no memory. */
static char *_make_copy (const char *text, void make (char *))
{
    char *copy = strdup (text);

    if (copy)
        make (copy);
    return copy;
}

static void _note (const char *text)
{
    char at[ISO_TIME_SIZE], *lines = NULL;
    size_t size;
    FILE *file = log_writer && !muted ? open_memstream (&lines, &size) : NULL;

    if (!file)
        return;
    iso_time (time (NULL), at);
    while (*text) {
        size_t length = strcspn (text, "\n");

        fprintf (file, "%s %.*s\n", at, (int)length, text);
        text += length + (text[length] == '\n');
    }
    if (fclose (file) == 0)
        writer_put (log_writer, lines);
    free (lines);
}

void console_note (const char *text)
{
    char *copy = _make_copy (text, printable_make_lines);

    if (copy)
        _note (copy);
    free (copy);
}

/* False if there is no memory: then it is printed at once. */
static bool _hold (const char *text)
{
    char *more;

    if (asprintf (&more, "%s%s", held ? held : "", text) < 0)
        return false;
    free (held);
    held = more;
    return true;
}

void console_print (const char *text)
{
    char *copy;

    if (muted || (deadline_is_set (held_until) && _hold (text))
        || !(copy = _make_copy (text, printable_make_lines)))
        return;
    _note (copy);
    _print_stderr (copy);
    free (copy);
}

void console_mute (bool mute)
{
    muted = mute;
}

bool console_is_muted (void)
{
    return muted;
}

void console_hold (int ms)
{
    held_until = deadline_in_ms (ms);
}

void console_drop (void)
{
    held_until = deadline_never ();
    free (held);
    held = NULL;
}

void console_release (void)
{
    held_until = deadline_never ();
    if (held)
        console_print (held);
    console_drop ();
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
    printable_make_line (text);
    if (asprintf (&line, "srun: %s\n", text) >= 0) {
        console_print (line);
        free (line);
    }
    free (text);
}

/* Once. */
static void _report_late_log (void)
{
    static bool reported;
    char *line;

    if (reported)
        return;
    reported = true;
    if (asprintf (&line, "srun: spank_tf: %s is not written in time; lines may be missing in it\n", log_path)
        >= 0) {
        _print_stderr (line);
        free (line);
    }
}

void console_flush (void)
{
    if (!writer_flush (log_writer))
        _report_late_log ();
    writer_flush (out);
}

static bool _is_written (struct writer *w)
{
    writer_pump (w);
    if (!writer_is_busy (w))
        writer_set_late (w);
    return !writer_is_busy (w) || writer_is_late (w);
}

bool console_is_written (void)
{
    bool log = _is_written (log_writer), text = _is_written (out);

    return log && text;
}

bool console_has_passed_on (void)
{
    return !held && !writer_keeps (out) && !writer_keeps (log_writer);
}

void console_give_up (void)
{
    if (writer_is_busy (log_writer) && !writer_is_late (log_writer))
        _report_late_log ();
    writer_set_late (log_writer);
    writer_set_late (out);
}

void console_check_time (void)
{
    if (deadline_passed (held_until))
        console_release ();
    writer_pump (log_writer);
    writer_pump (out);
}

struct deadline console_next (void)
{
    bool busy = writer_is_busy (log_writer) || writer_is_busy (out);

    return deadline_min (held_until, busy ? deadline_in_ms (LATE_MS) : deadline_never ());
}

void console_end (void)
{
    console_flush ();
    writer_close (log_writer);
    writer_close (out);
    log_writer = out = NULL;
}
