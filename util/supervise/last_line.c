/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "last_line.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/child.h"
#include "common/python_stack.h"
#include "find_cause.h"
#include "log_tail.h"
#include "protocol/supervisor_config.h"

#define ANSWER_MS 2000

/* So much of a file is read: the last bytes of a log file, the first ones of an error file. */
#define WINDOW LOG_TAIL_WINDOW

/* Texts. */

static void _set_last_line (struct failure_text *text, struct text log)
{
    struct text line;
    struct failure_text found = { .text = "" };

    while (text_take_line (&log, &line)) {
        failure_text_set (&found, FAILURE_TEXT_LOG, line.at, text_length (line));
        if (found.source != FAILURE_TEXT_NONE)
            *text = found;
    }
}

static bool _has_word (struct text line)
{
    while (line.at < line.end && !isalnum ((unsigned char)*line.at))
        line.at++;
    return line.at < line.end;
}

/* "ChildFailedError: " has its text on a line behind it. */
static void _set_exception (struct failure_text *text, struct text exception, struct text log)
{
    struct text rest = { exception.at, log.end }, line, next;
    char both[2 * FAILURE_TEXT_MAX];

    text_take_line (&rest, &line);
    while (line.end > line.at && line.end[-1] == ' ')
        line.end--;
    if (line.end[-1] == ':')
        while (text_take_line (&rest, &next))
            if (_has_word (next)) {
                snprintf (both, sizeof (both), "%.*s %.*s", (int)text_length (line), line.at,
                          (int)text_length (next), next.at);
                failure_text_set (text, FAILURE_TEXT_LOG, both, strlen (both));
                return;
            }
    failure_text_set (text, FAILURE_TEXT_LOG, line.at, text_length (line));
}

static int _count_dumps (const char *bytes, size_t length)
{
    static const char begin[] = "Fatal Python error: ";
    const char *end = bytes + length;
    int dumps = 0;

    for (const char *line = bytes; line && (size_t)(end - line) >= sizeof (begin) - 1;) {
        dumps += memcmp (line, begin, sizeof (begin) - 1) == 0;
        line = memchr (line, '\n', (size_t)(end - line));
        line = line ? line + 1 : NULL;
    }
    return dumps;
}

/*
 * Where a Python program hung, in the stacks that it has printed at SIGABRT (faulthandler). Nothing is known
 * where two processes have printed theirs, or the main thread's is not complete.
 */
static void _set_stack (struct failure_text *text, struct text log)
{
    size_t length = text_length (log);
    char found[1100];

    if (length > 0 && _count_dumps (log.at, length) == 1
        && python_stack_find (found, sizeof (found), log.at, length))
        failure_text_set (text, FAILURE_TEXT_STACK, found, strlen (found));
}

static void _set_traceback (struct last_words *words, const struct log_tail *tail,
                            const struct exception *exception, const char *bytes, size_t length)
{
    _set_exception (&words->exception, exception->text, tail->text);
    words->exception.cause.kind = exception->lost ? CAUSE_CONNECTION : CAUSE_NONE;
    words->traceback = (off_t)log_tail_offset (tail, exception->traceback, bytes, length);
}

struct last_words last_line_running (const char *bytes, size_t length)
{
    struct last_words words = { .traceback = 0 };
    struct exception exception;
    struct log_tail tail;

    log_tail_read (&tail, bytes, length);
    if (find_exception (tail.text, &exception) && !exception.followed)
        _set_traceback (&words, &tail, &exception, bytes, length);
    return words;
}

struct last_words last_line_words (const struct exit_report *report, const char *bytes, size_t length)
{
    struct last_words words = last_line_running (bytes, length);
    struct exception exception;
    struct cause cause;
    struct log_tail tail;

    log_tail_read (&tail, bytes, length);
    if (report->kind == EXIT_REPORT_HUNG)
        _set_stack (&words.text, tail.text);
    if (!exit_report_failed (report) || report->kind == EXIT_REPORT_HUNG)
        return words;
    cause = find_cause (report, tail.text, &exception);
    if (exception.traceback) {
        _set_traceback (&words, &tail, &exception, bytes, length);
        words.text = words.exception;
    } else if (exception.text.at)
        failure_text_set (&words.text, FAILURE_TEXT_LOG, exception.text.at, text_length (exception.text));
    else
        _set_last_line (&words.text, tail.text);
    if (words.text.source != FAILURE_TEXT_NONE)
        words.text.cause = cause;
    return words;
}

/* What is read of a JSON text. */
struct json {
    const char *at, *end;
};

static bool _take (struct json *json, const char *token)
{
    size_t length = strlen (token);

    while (json->at < json->end && strchr (" \t\r\n", *json->at) && *json->at)
        json->at++;
    if ((size_t)(json->end - json->at) < length || memcmp (json->at, token, length) != 0)
        return false;
    json->at += length;
    return true;
}

/*
 * Behind \u. A character that is not ASCII becomes one byte that is not either, and the second half of
 * one that has two codes a byte that failure_text_set () leaves out.
 */
static int _take_code (struct json *json)
{
    char digits[5] = "", *end;
    unsigned long code;

    if (json->end - json->at >= 4)
        memcpy (digits, json->at, 4);
    code = strtoul (digits, &end, 16);
    if (end != digits + 4 || !isxdigit ((unsigned char)digits[0])) {
        json->at = json->end;
        return -1;
    }
    json->at += 4;
    if (code < 0x80)
        return (int)code;
    return code >= 0xdc00 && code < 0xe000 ? 0x80 : 0xff;
}

/* The next byte of a string; -1 at its end, and for what cannot be in it. */
static int _take_char (struct json *json)
{
    if (json->at == json->end || *json->at == '"')
        return -1;
    if (*json->at != '\\')
        return (unsigned char)*json->at++;
    if (++json->at == json->end)
        return -1;
    switch (*json->at++) {
        case 'u': return _take_code (json);
        case 'b':
        case 'f':
        case 'n':
        case 'r':
        case 't': return ' ';
        default: return (unsigned char)json->at[-1];
    }
}

/* The whole text need not be here: only what is shown. */
bool last_line_find_message (struct failure_text *text, const char *bytes, size_t length)
{
    struct json json = { bytes, bytes + length };
    char line[WINDOW];
    size_t used = 0;
    int depth, c;

    for (depth = 0; depth < 2 && _take (&json, "{"); depth++)
        if (!_take (&json, "\"message\"") || !_take (&json, ":"))
            return false;
    if (depth == 0 || !_take (&json, "\""))
        return false;
    while (used < sizeof (line) && (c = _take_char (&json)) >= 0)
        line[used++] = (char)c;
    if (used <= FAILURE_TEXT_MAX && !_take (&json, "\""))
        return false;
    failure_text_set (text, FAILURE_TEXT_ERROR_FILE, line, used);
    return text->source != FAILURE_TEXT_NONE;
}

/* Files. */

/* Some file systems show another owner of the file to which the task writes: that is the child's stderr. */
static bool _is_trusted (const struct stat *st)
{
    struct stat log;

    return st->st_uid == geteuid () || st->st_uid == 0
           || (fstat (STDERR_FILENO, &log) == 0 && st->st_dev == log.st_dev && st->st_ino == log.st_ino);
}

/* Read the beginning of a file, or its end, into bytes[WINDOW]. Returns how much, 0 without such a file. */
static size_t _read_file (const char *path, bool end, char *bytes, off_t *begin)
{
    int fd = path ? open (path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -1;
    struct stat st;
    ssize_t n = 0;

    if (fd < 0)
        return 0;
    if (fstat (fd, &st) == 0 && S_ISREG (st.st_mode) && _is_trusted (&st)) {
        *begin = end && st.st_size > WINDOW ? st.st_size - WINDOW : 0;
        n = pread (fd, bytes, WINDOW, *begin);
    }
    close (fd);
    return n > 0 ? (size_t)n : 0;
}

struct question {
    const struct exit_report *report;
    const char *log, *error_file;
};

/* The child. */
static int _answer (void *arg)
{
    const struct question *q = arg;
    struct failure_text message = { .text = "" };
    struct last_words words;
    char bytes[WINDOW];
    off_t begin = 0;
    size_t length;

    length = _read_file (q->log, true, bytes, &begin);
    words = last_line_words (q->report, bytes, length);
    words.traceback += begin;
    length = _read_file (q->error_file, false, bytes, &begin);
    if (q->report->kind != EXIT_REPORT_HUNG && last_line_find_message (&message, bytes, length)) {
        message.cause = words.text.cause;
        words.text = message;
    }
    return write (STDOUT_FILENO, &words, sizeof (words)) != sizeof (words);
}

struct last_words last_line_read (const struct exit_report *report, const char *log, const char *error_file)
{
    const struct last_words nothing = { .traceback = 0 };
    struct question question = { report, log, error_file };
    struct last_words words;

    if ((log || error_file)
        && child_ask ("tf-last-line", _answer, &question, SUPERVISOR_LOG_FD, &words, sizeof (words),
                      ANSWER_MS)
               == sizeof (words))
        return words;
    return nothing;
}
