/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The input is the strings of an exit report, one a line. What a task has written about its failure is a
 * part of it.
 */
#include "config.h"

#include "fuzz.h"

#include <string.h>

#include "protocol/exit_report.h"
#include "protocol/failure_text.h"

static void _check_failure_text (const struct frame *frame)
{
    struct frame *again = frame_create ();
    struct failure_text text, text2;

    failure_text_decode (&text, frame);
    CHECK (text.source == FAILURE_TEXT_NONE ? !text.text[0] : fuzz_is_line (text.text));
    CHECK (strlen (text.text) <= FAILURE_TEXT_MAX);
    failure_text_add (again, &text);
    failure_text_decode (&text2, again);
    CHECK (text2.source == text.source && strcmp (text2.text, text.text) == 0);
    frame_destroy (again);
}

static void _check (const struct exit_report *report)
{
    struct exit_report_text room;
    struct exit_report parsed;

    CHECK (report->number >= (report->kind == EXIT_REPORT_SIGNAL)
           && report->number <= (report->kind == EXIT_REPORT_EXIT || report->kind == EXIT_REPORT_UNSTARTED
                                     ? EXIT_REPORT_MAX_CODE
                                 : report->kind == EXIT_REPORT_SIGNAL ? EXIT_REPORT_MAX_SIGNAL
                                                                      : 0));
    CHECK (exit_report_parse (&parsed, exit_report_print (report, &room)) == 0);
    CHECK (parsed.kind == report->kind && parsed.number == report->number);
    CHECK (exit_report_failed (report)
           == (report->kind != EXIT_REPORT_STOPPED && strcmp (room.text, "exit 0") != 0));
}

/* The text of a report is what is printed, but for leading zeros. */
static void _check_printed (const struct exit_report *report, const char *text)
{
    struct exit_report_text room;
    const char *printed = exit_report_print (report, &room), *number = strpbrk (text, "0123456789");
    size_t word = number ? (size_t)(number - text) : strlen (text);

    CHECK (strncmp (printed, text, word) == 0);
    if (number) {
        number += strspn (number, "0");
        CHECK (strcmp (printed + word, *number ? number : "0") == 0);
    }
}

FUZZ_TARGET (exit_report)
{
    struct frame *frame = fuzz_frame (data, size), *again;
    struct exit_report report, report2;
    struct errtext err;

    _check_failure_text (frame);
    if (fuzz_succeeded (exit_report_decode (&report, frame, &err), &err)) {
        CHECK (exit_report_is_in (frame));
        _check (&report);
        _check_printed (&report, frame_get (frame, "EXIT_REPORT"));
        CHECK (again = fuzz_resend (exit_report_encode (&report), FRAME_MAX_EXIT_REPORT));
        CHECK (fuzz_succeeded (exit_report_decode (&report2, again, &err), &err));
        CHECK (report2.kind == report.kind && report2.number == report.number
               && report2.out_of_memory == report.out_of_memory && report2.killed == report.killed
               && report2.killed_after == report.killed_after);
        frame_destroy (again);
    }
    frame_destroy (frame);
}
