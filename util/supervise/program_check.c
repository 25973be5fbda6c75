/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "program_check.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child that has ended is noticed so late, if something else has its output. */
#define LOOK_MS 50
/* At the end so much of its output is still looked at. */
#define MOST_LEFT (1 << 20)

/* The last line that is not blank, and the present one. */
struct lines {
    char last[200], line[200];
    size_t used;
};

static void _take_output (struct lines *lines, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] == '\n' || text[i] == '\r') {
            lines->line[lines->used] = '\0';
            if (strspn (lines->line, " \t") < lines->used)
                memcpy (lines->last, lines->line, sizeof (lines->last));
            lines->used = 0;
        } else if (lines->used < sizeof (lines->line) - 1 && text[i] != '\0')
            lines->line[lines->used++] = text[i];
}

/* In the child. Only the failure of exec is written to `failed`. */
static void __attribute__ ((noreturn)) _execute (const char *path, int output, int failed)
{
    char *const argv[] = { (char *)(uintptr_t)path, NULL };
    int error;

    dup2 (output, STDOUT_FILENO);
    dup2 (output, STDERR_FILENO);
    execv (path, argv);
    error = errno;
    if (write (failed, &error, sizeof (error)) < 0)
        _exit (126);
    _exit (127);
}

static int _read_output (int fd, struct lines *lines)
{
    char buf[65536];
    ssize_t n = read (fd, buf, sizeof (buf));

    if (n > 0)
        _take_output (lines, buf, (size_t)n);
    return (int)n;
}

/* Its wait status. */
static int _await (pid_t child, int output, struct lines *lines)
{
    struct pollfd pfd = { .fd = output, .events = POLLIN };
    int status = 0, n, left = MOST_LEFT;

    while (waitpid (child, &status, WNOHANG) == 0)
        if (poll (&pfd, 1, LOOK_MS) > 0 && _read_output (output, lines) == 0)
            pfd.fd = -1;
    fcntl (output, F_SETFL, O_NONBLOCK);
    while (left > 0 && (n = _read_output (output, lines)) > 0)
        left -= n;
    _take_output (lines, "\n", 1);
    return status;
}

static int _judge_end (int status, const struct lines *lines, struct errtext *err)
{
    if (status == 0)
        return 0;
    if (*lines->last)
        return errtext_set (err, "\"%s\"", lines->last);
    if (WIFSIGNALED (status))
        return errtext_set (err, "signal %d, and no output", WTERMSIG (status));
    return errtext_set (err, "exit code %d, and no output", WEXITSTATUS (status));
}

int program_check (const char *path, struct errtext *err)
{
    struct lines lines = { .used = 0 };
    int output[2], failed[2], error = 0, status;
    pid_t child;

    if (pipe2 (output, O_CLOEXEC) < 0 || pipe2 (failed, O_CLOEXEC) < 0 || (child = fork ()) < 0)
        return errtext_set (err, "cannot be started: %s", strerror (errno));
    if (child == 0)
        _execute (path, output[1], failed[1]);
    close (output[1]);
    close (failed[1]);
    if (read (failed[0], &error, sizeof (error)) == sizeof (error)) {
        waitpid (child, &status, 0);
        return errtext_set (err, "cannot be executed: %s", strerror (error));
    }
    return _judge_end (_await (child, output[0], &lines), &lines, err);
}
