/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The input is the strings of an exit report, one a line.
 */
#include "config.h"

#include "fuzz.h"

#include <string.h>

#include "protocol/exit_report.h"

static void _check (const struct exit_report *report)
{
    struct exit_report_text room;
    struct exit_report parsed;

    CHECK (report->number >= (report->kind == EXIT_REPORT_SIGNAL)
           && report->number <= (report->kind == EXIT_REPORT_EXIT ? EXIT_REPORT_MAX_CODE
                                 : report->kind == EXIT_REPORT_SIGNAL ? EXIT_REPORT_MAX_SIGNAL
                                 : 0));
    CHECK (exit_report_parse (&parsed, exit_report_print (report, &room)) == 0);
    CHECK (parsed.kind == report->kind && parsed.number == report->number);
    CHECK (exit_report_failed (report) == (report->kind != EXIT_REPORT_STOPPED
                                           && strcmp (room.text, "exit 0") != 0));
}

FUZZ_TARGET (exit_report)
{
    struct frame *frame = fuzz_frame (data, size), *again;
    struct exit_report report, report2;
    struct errtext err;

    if (fuzz_succeeded (exit_report_decode (&report, frame, &err), &err)) {
        CHECK (exit_report_is_in (frame));
        _check (&report);
        CHECK (again = fuzz_resend (exit_report_encode (&report), FRAME_MAX_EXIT_REPORT));
        CHECK (fuzz_succeeded (exit_report_decode (&report2, again, &err), &err));
        CHECK (report2.kind == report.kind && report2.number == report.number
               && report2.out_of_memory == report.out_of_memory);
        frame_destroy (again);
    }
    frame_destroy (frame);
}
