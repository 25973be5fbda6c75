/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "exit_report.h"

#include <stdio.h>
#include <string.h>

#include "fields.h"

static const char *const kind_name[] = {
    [EXIT_REPORT_EXIT] = "exit",       [EXIT_REPORT_SIGNAL] = "signal", [EXIT_REPORT_UNSTARTED] = "unstarted",
    [EXIT_REPORT_STOPPED] = "stopped", [EXIT_REPORT_HUNG] = "hung",
};

#define MESSAGE struct exit_report

/* clang-format off */
static const struct field row[] = {
    FIELD ("ENDED", kind, NAME, FIELD_NEEDED, 0, EXIT_REPORT_HUNG, .names = kind_name),
    FIELD ("NUMBER", number, NUMBER, FIELD_OPTIONAL, 1, EXIT_REPORT_MAX_CODE),
    FIELD ("OUT_OF_MEMORY", out_of_memory, FLAG, FIELD_OPTIONAL),
    FIELD ("KILLED_AFTER", killed_after, NUMBER, FIELD_GIVEN, 0, FRAME_MAX_SECONDS,
           .given = FIELD_AT (killed, bool)),
};
/* clang-format on */

const struct fields exit_report_fields = FIELDS ("an exit report", row);

const char *exit_report_describe (const struct exit_report *report, const char *exit,
                                  struct exit_report_text *room)
{
    const char *more = report->out_of_memory ? " (out of memory)" : "";

    if (report->kind == EXIT_REPORT_UNSTARTED)
        snprintf (room->text, sizeof (room->text), "%s %d" EXIT_REPORT_NOT_STARTED, exit, report->number);
    else if (report->killed)
        snprintf (room->text, sizeof (room->text), "killed after %d s", report->killed_after);
    else if (report->kind == EXIT_REPORT_EXIT)
        snprintf (room->text, sizeof (room->text), "%s %d%s", exit, report->number, more);
    else if (report->kind == EXIT_REPORT_SIGNAL)
        snprintf (room->text, sizeof (room->text), "signal %d%s", report->number, more);
    else
        snprintf (room->text, sizeof (room->text), "%s%s", kind_name[report->kind], more);
    return room->text;
}

bool exit_report_failed (const struct exit_report *report)
{
    return report->kind == EXIT_REPORT_SIGNAL || report->kind == EXIT_REPORT_UNSTARTED
           || report->kind == EXIT_REPORT_HUNG || (report->kind == EXIT_REPORT_EXIT && report->number != 0);
}

int exit_report_code (const struct exit_report *report)
{
    if (report->kind == EXIT_REPORT_HUNG)
        return EXIT_REPORT_HUNG_CODE;
    return report->kind == EXIT_REPORT_SIGNAL ? EXIT_REPORT_SIGNAL_CODE (report->number) : report->number;
}
