/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "last_line.h"

#include <ctype.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/child.h"
#include "common/logdir.h"
#include "find_cause.h"
#include "find_stack.h"

#define ANSWER_MS 2000

/* So much of a file is read: the last bytes of a log file, the first ones of an error file. */
#define WINDOW FIND_CAUSE_WINDOW

/* Texts. */

static bool _ends_line (char c)
{
    return c == '\n' || c == '\r';
}

/* The line in front of the output of a step, or of a life (logdir.h), without its end. */
static bool _begins_step (const char *line, size_t length)
{
    static const char restart[] = ", restart ";
    const size_t prefix = sizeof (LOGDIR_STEP_LINE) - 1;

    if (length <= prefix || memcmp (line, LOGDIR_STEP_LINE, prefix) != 0)
        return false;
    for (size_t i = prefix; i < length; i++)
        if (!isdigit ((unsigned char)line[i]) && line[i] != '.')
            return length - i > sizeof (restart) - 1 && memcmp (line + i, restart, sizeof (restart) - 1) == 0;
    return true;
}

/* A progress bar ends its lines with '\r'. */
void last_line_find (struct failure_text *text, const char *bytes, size_t length)
{
    text->source = FAILURE_TEXT_NONE;
    while (length > 0 && text->source == FAILURE_TEXT_NONE) {
        size_t begin = length;

        while (begin > 0 && !_ends_line (bytes[begin - 1]))
            begin--;
        if (_begins_step (bytes + begin, length - begin))
            return;
        failure_text_set (text, FAILURE_TEXT_LOG, bytes + begin, length - begin);
        length = begin > 0 ? begin - 1 : 0;
    }
}

/* Where in the last bytes of a log the output of the last step, or life, begins. */
static size_t _last_step (const char *bytes, size_t length)
{
    size_t begin = length;

    while (begin > 0) {
        size_t end = begin;

        while (begin > 0 && bytes[begin - 1] != '\n')
            begin--;
        if (_begins_step (bytes + begin, end - begin))
            return end;
        begin -= begin > 0;
    }
    return 0;
}

void last_line_stack (struct failure_text *text, const char *bytes, size_t length)
{
    size_t begin = _last_step (bytes, length);

    find_stack (text, bytes + begin, length - begin);
}

size_t last_line_traceback (struct failure_text *text, const char *bytes, size_t length)
{
    size_t begin = _last_step (bytes, length), found = find_exception (bytes + begin, length - begin);
    const char *exception = bytes + begin + found, *end = bytes + length, *newline;

    text->source = FAILURE_TEXT_NONE;
    if (exception == end)
        return 0;
    newline = memchr (exception, '\n', (size_t)(end - exception));
    failure_text_set (text, FAILURE_TEXT_LOG, exception, (size_t)((newline ? newline : end) - exception));
    return begin + found;
}

struct cause last_line_cause (const struct exit_report *report, const char *bytes, size_t length)
{
    size_t begin = _last_step (bytes, length);

    return find_cause (report, bytes + begin, length - begin);
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

/* Read the beginning of a file, or its end, into bytes[WINDOW]. Returns how much, 0 without such a file. */
static size_t _read_file (const char *path, bool end, char *bytes)
{
    int fd = path ? open (path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -1;
    struct stat st;
    ssize_t n = 0;

    if (fd < 0)
        return 0;
    if (fstat (fd, &st) == 0 && S_ISREG (st.st_mode) && (st.st_uid == geteuid () || st.st_uid == 0))
        n = pread (fd, bytes, WINDOW, end && st.st_size > WINDOW ? st.st_size - WINDOW : 0);
    close (fd);
    return n > 0 ? (size_t)n : 0;
}

/* The child. */
static noreturn void _answer (const struct exit_report *report, const char *log, const char *error_file,
                              pid_t parent)
{
    struct failure_text text = { .source = FAILURE_TEXT_NONE };
    char bytes[WINDOW];
    size_t length;
    bool hung = report->kind == EXIT_REPORT_HUNG, found;

    /* In this order, or the parent's death between the two would go unnoticed. */
    prctl (PR_SET_PDEATHSIG, SIGKILL);
    if (getppid () != parent)
        _exit (1);
    found = !hung && last_line_find_message (&text, bytes, _read_file (error_file, false, bytes));
    length = _read_file (log, true, bytes);
    if (hung)
        last_line_stack (&text, bytes, length);
    else if (!found)
        last_line_find (&text, bytes, length);
    if (!hung && text.source != FAILURE_TEXT_NONE)
        text.cause = last_line_cause (report, bytes, length);
    _exit (write (STDOUT_FILENO, &text, sizeof (text)) == sizeof (text) ? 0 : 1);
}

struct failure_text last_line_read (const struct exit_report *report, const char *log, const char *error_file)
{
    struct failure_text nothing = { .source = FAILURE_TEXT_NONE }, text;
    pid_t parent = getpid (), child;
    int end[2];

    if ((!log && !error_file) || pipe2 (end, O_CLOEXEC) < 0)
        return nothing;
    if ((child = child_fork ("tf-last-line", (int[]){ -1, end[1], -1 }, 3)) == 0)
        _answer (report, log, error_file, parent);
    close (end[1]);
    if (child < 0)
        close (end[0]);
    else if (child_answer (child, end[0], &text, sizeof (text), ANSWER_MS) == sizeof (text))
        return text;
    return nothing;
}
