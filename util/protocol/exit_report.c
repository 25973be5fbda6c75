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

static const char *const memory_name[] = {
    [EXIT_REPORT_MEMORY_UNKNOWN] = "unknown", [EXIT_REPORT_MEMORY_TASK] = "task",
    [EXIT_REPORT_MEMORY_STEP] = "step",       [EXIT_REPORT_MEMORY_JOB] = "job",
    [EXIT_REPORT_MEMORY_NODE] = "node",
};

#define MESSAGE struct exit_report

/* clang-format off */
static const struct field row[] = {
    FIELD ("ENDED", kind, NAME, FIELD_NEEDED, 0, EXIT_REPORT_HUNG, .names = kind_name),
    FIELD ("NUMBER", number, NUMBER, FIELD_OPTIONAL, 1, EXIT_REPORT_MAX_CODE),
    FIELD ("OUT_OF_MEMORY", out_of_memory, NAME, FIELD_TOLERANT, EXIT_REPORT_MEMORY_UNKNOWN,
           EXIT_REPORT_MEMORY_NODE, .names = memory_name),
    FIELD ("KILLED_AFTER", killed_after, NUMBER, FIELD_GIVEN, 0, FRAME_MAX_SECONDS,
           .given = FIELD_AT (killed, bool)),
};
/* clang-format on */

const struct fields exit_report_fields = FIELDS ("an exit report", row);

const char *exit_report_print (const struct exit_report *report, struct exit_report_text *room)
{
    const char *kind = kind_name[report->kind];

    if (report->kind == EXIT_REPORT_STOPPED || report->kind == EXIT_REPORT_HUNG)
        snprintf (room->text, sizeof (room->text), "%s", kind);
    else
        snprintf (room->text, sizeof (room->text), "%s %d", kind, report->number);
    return room->text;
}

const char *exit_report_describe (const struct exit_report *report, struct exit_report_text *room)
{
    exit_report_print (report, room);
    if (report->kind == EXIT_REPORT_UNSTARTED)
        snprintf (room->text, sizeof (room->text), "exit %d" EXIT_REPORT_NOT_STARTED, report->number);
    else if (report->killed)
        snprintf (room->text, sizeof (room->text), "killed after %d s", report->killed_after);
    else if (report->out_of_memory) {
        const char *whose = exit_report_memory (report);
        bool node = report->out_of_memory == EXIT_REPORT_MEMORY_NODE;
        size_t used = strlen (room->text);

        snprintf (room->text + used, sizeof (room->text) - used, " (out of memory%s%s%s)",
                  *whose ? ": its " : "", whose,
                  node     ? " has no more"
                  : *whose ? "'s limit"
                           : "");
    }
    return room->text;
}

const char *exit_report_memory (const struct exit_report *report)
{
    return report->out_of_memory < EXIT_REPORT_MEMORY_TASK ? "" : memory_name[report->out_of_memory];
}
