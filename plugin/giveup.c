/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "giveup.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "frame.h"

void give_up (bool who, const char *fmt, ...)
{
    char text[1024];
    va_list ap;

    if (who) {
        va_start (ap, fmt);
        vsnprintf (text, sizeof (text), fmt, ap);
        va_end (ap);
        dprintf (STDERR_FILENO, "slurmstepd: error: spank_tf: %s\n", text);
    }
    _exit (1);
}

void give_up_answered (int fd, const char *node, const char *why)
{
    frame_send_one (fd, "ENDED", "exit 1", NULL);
    give_up (true, "%s: %s", node, why);
}
