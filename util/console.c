/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "console.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

void console_print (const char *text)
{
    struct termios tty;
    bool raw = tcgetattr (STDERR_FILENO, &tty) == 0 && !(tty.c_oflag & OPOST);
    size_t len = strlen (text), used = 0;
    char *out = malloc (2 * len + 1);

    if (!out)
        return;
    for (size_t i = 0; i < len; i++) {
        if (raw && text[i] == '\n')
            out[used++] = '\r';
        out[used++] = text[i];
    }
    for (size_t done = 0; done < used;) {
        ssize_t n = write (STDERR_FILENO, out + done, used - done);

        if (n < 0 && errno != EINTR)
            break;
        done += n > 0 ? (size_t)n : 0;
    }
    free (out);
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
