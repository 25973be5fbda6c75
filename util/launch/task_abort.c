/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "task_abort.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "launcher.h"
#include "protocol/status.h"

void task_abort (bool print, const char *fmt, ...)
{
    char text[1024];
    va_list ap;

    if (print) {
        va_start (ap, fmt);
        vsnprintf (text, sizeof (text), fmt, ap);
        va_end (ap);
        launcher_say (true, "%s", text);
    }
    _exit (1);
}

void task_abort_report (int fd, const char *node, const char *why)
{
    const struct status status = { .ended = true,
                                   .report = { .kind = EXIT_REPORT_EXIT, .number = 1 },
                                   .life = { .number = 1, .life = -1 } };
    struct frame *frame = fields_frame (&status_fields, &status);

    if (frame)
        frame_send (frame, fd, NULL);
    frame_destroy (frame);
    task_abort (true, "%s: %s", node, why);
}
