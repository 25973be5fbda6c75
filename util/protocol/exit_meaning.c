/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What an exit report means, for those who decide; exit_report.c has the message.
 */
#include "config.h"

#include "exit_report.h"

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
