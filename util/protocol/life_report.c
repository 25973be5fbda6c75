/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "life_report.h"

void life_report_add (struct frame *frame, const struct life_report *report)
{
    if (report->life >= 0)
        frame_add (frame, "LIFE", "%d", report->life);
    frame_add_text (frame, "CANNOT_RESTART", report->cannot);
    frame_add_flag (frame, "ASKED_TO_END", report->asked_to_end);
}

void life_report_decode (struct life_report *report, const struct frame *frame)
{
    report->life = frame_get_number (frame, "LIFE", 0, LIFE_REPORT_MAX);
    report->cannot = frame_get (frame, "CANNOT_RESTART");
    report->asked_to_end = frame_has (frame, "ASKED_TO_END");
}
