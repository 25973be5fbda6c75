/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "exit_report.h"

#include <stdio.h>
#include <string.h>

#include "common/number.h"

#define EXIT "exit "
#define SIGNAL "signal "
#define UNSTARTED "unstarted "
#define STOPPED "stopped"
#define HUNG "hung"

static const char *const memory[EXIT_REPORT_MEMORIES] = {
    [EXIT_REPORT_MEMORY_LEFT] = "",     [EXIT_REPORT_MEMORY_UNKNOWN] = "", [EXIT_REPORT_MEMORY_TASK] = "task",
    [EXIT_REPORT_MEMORY_STEP] = "step", [EXIT_REPORT_MEMORY_JOB] = "job",  [EXIT_REPORT_MEMORY_NODE] = "node",
};

int exit_report_parse (struct exit_report *report, const char *text)
{
    struct exit_report parsed = { .kind = EXIT_REPORT_STOPPED };
    int rc = 0;

    if (strncmp (text, EXIT, strlen (EXIT)) == 0) {
        parsed.kind = EXIT_REPORT_EXIT;
        rc = number_parse (&parsed.number, text + strlen (EXIT), 0, EXIT_REPORT_MAX_CODE);
    } else if (strncmp (text, SIGNAL, strlen (SIGNAL)) == 0) {
        parsed.kind = EXIT_REPORT_SIGNAL;
        rc = number_parse (&parsed.number, text + strlen (SIGNAL), 1, EXIT_REPORT_MAX_SIGNAL);
    } else if (strncmp (text, UNSTARTED, strlen (UNSTARTED)) == 0) {
        parsed.kind = EXIT_REPORT_UNSTARTED;
        rc = number_parse (&parsed.number, text + strlen (UNSTARTED), 0, EXIT_REPORT_MAX_CODE);
    } else if (strcmp (text, HUNG) == 0)
        parsed.kind = EXIT_REPORT_HUNG;
    else if (strcmp (text, STOPPED) != 0)
        rc = -1;
    if (rc == 0)
        *report = parsed;
    return rc;
}

const char *exit_report_print (const struct exit_report *report, struct exit_report_text *room)
{
    static const char *const how[] = {
        [EXIT_REPORT_EXIT] = EXIT,
        [EXIT_REPORT_SIGNAL] = SIGNAL,
        [EXIT_REPORT_UNSTARTED] = UNSTARTED,
    };

    if (report->kind == EXIT_REPORT_STOPPED || report->kind == EXIT_REPORT_HUNG)
        snprintf (room->text, sizeof (room->text), report->kind == EXIT_REPORT_HUNG ? HUNG : STOPPED);
    else
        snprintf (room->text, sizeof (room->text), "%s%d", how[report->kind], report->number);
    return room->text;
}

const char *exit_report_describe (const struct exit_report *report, struct exit_report_text *room)
{
    exit_report_print (report, room);
    if (report->kind == EXIT_REPORT_UNSTARTED)
        snprintf (room->text, sizeof (room->text), EXIT "%d" EXIT_REPORT_NOT_STARTED, report->number);
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
    return memory[report->out_of_memory];
}

static enum exit_report_memory _decode_memory (const char *value)
{
    for (int i = EXIT_REPORT_MEMORY_TASK; value && i < EXIT_REPORT_MEMORIES; i++)
        if (strcmp (value, memory[i]) == 0)
            return (enum exit_report_memory)i;
    return value ? EXIT_REPORT_MEMORY_UNKNOWN : EXIT_REPORT_MEMORY_LEFT;
}

struct frame *exit_report_encode (const struct exit_report *report)
{
    struct frame *frame = frame_create ();

    if (frame)
        exit_report_add (frame, report);
    return frame;
}

int exit_report_decode (struct exit_report *report, const struct frame *frame, struct errtext *err)
{
    const char *text = frame_get (frame, "EXIT_REPORT");

    if (!text || exit_report_parse (report, text) < 0)
        return errtext_set (err, "a report that does not say how the task ended");
    report->out_of_memory = _decode_memory (frame_get (frame, "OUT_OF_MEMORY"));
    report->killed_after = frame_get_number (frame, "KILLED_AFTER", 0, FRAME_MAX_SECONDS);
    report->killed = report->kind == EXIT_REPORT_STOPPED && report->killed_after >= 0;
    if (!report->killed)
        report->killed_after = 0;
    return 0;
}

void exit_report_add (struct frame *frame, const struct exit_report *report)
{
    struct exit_report_text room;

    frame_add (frame, "EXIT_REPORT", "%s", exit_report_print (report, &room));
    if (report->out_of_memory)
        frame_add (frame, "OUT_OF_MEMORY", "%s",
                   *exit_report_memory (report) ? exit_report_memory (report) : "1");
    if (report->killed)
        frame_add (frame, "KILLED_AFTER", "%d", report->killed_after);
}

bool exit_report_is_in (const struct frame *frame)
{
    return frame_has (frame, "EXIT_REPORT");
}
