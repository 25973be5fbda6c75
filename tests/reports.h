/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How a task ended, for tests.
 */
#ifndef TF_REPORTS_H
#define TF_REPORTS_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "protocol/status.h"

/* "exit 3", "signal 11", "unstarted 2", "stopped" or "hung". */
static inline const char *report_print (const struct exit_report *report, struct exit_report_text *room)
{
    static const char *const kind[] = { "exit", "signal", "unstarted", "stopped", "hung" };

    if (report->kind == EXIT_REPORT_STOPPED || report->kind == EXIT_REPORT_HUNG)
        return strcpy (room->text, kind[report->kind]);
    snprintf (room->text, sizeof (room->text), "%s %d", kind[report->kind], report->number);
    return room->text;
}

/* The report that is printed so; false if there is none. */
static inline bool report_parse (struct exit_report *report, const char *text)
{
    struct exit_report_text room;

    for (int kind = 0; kind <= EXIT_REPORT_HUNG; kind++)
        for (int number = 0; number <= EXIT_REPORT_MAX_CODE; number++) {
            *report = (struct exit_report){ .kind = (enum exit_report_kind)kind, .number = number };
            if (strcmp (report_print (report, &room), text) == 0)
                return true;
        }
    return false;
}

/* Of a task that cannot be restarted. */
static inline struct status status_of_end (const char *text)
{
    struct status status = { .ended = true, .life = { .number = 1, .life = -1 } };

    report_parse (&status.report, text);
    return status;
}

#endif
