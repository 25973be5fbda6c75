/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "restart_rule.h"

#include <signal.h>

#include "common/value.h"

/*
 * PreemptionCheckpointHandler exits with 42, or on Google's cloud with 143, when all its tasks have
 * saved. 143 is also the exit code of a shell, or of a handler, that SIGTERM ended.
 */
#define EXIT_SAVED 42
#define EXIT_TERMINATED EXIT_REPORT_SIGNAL_CODE (SIGTERM)
/* What another try cannot change: a wrong argument; a program that is not executable, or missing. */
#define EXIT_USAGE 2
#define EXIT_NOT_EXECUTABLE 126
#define EXIT_NOT_FOUND 127

static bool _shows_defect (int number)
{
    return number == SIGSEGV || number == SIGILL || number == SIGFPE || number == SIGABRT;
}

static bool _is_final (int code)
{
    return code == EXIT_USAGE || code == EXIT_NOT_EXECUTABLE || code == EXIT_NOT_FOUND;
}

bool restart_rule_saved (const struct exit_report *report)
{
    return report->kind == EXIT_REPORT_EXIT
           && (report->number == EXIT_SAVED || report->number == EXIT_TERMINATED);
}

bool restart_rule_covers (const struct restart_rule *rule, const struct exit_report *report)
{
    if (rule->times == 0 || report->kind == EXIT_REPORT_STOPPED)
        return false;
    if (report->kind == EXIT_REPORT_HUNG)
        return true;
    if (report->kind == EXIT_REPORT_SIGNAL)
        return rule->any || !_shows_defect (report->number);
    if (report->kind == EXIT_REPORT_EXIT && report->number == 0)
        return false;
    return rule->any ? !_is_final (report->number) : restart_rule_saved (report);
}

int restart_rule_pause (const struct restart_rule *rule, int nth)
{
    int pause = 1;

    for (int i = 1; i < nth && pause < rule->longest_pause; i++)
        pause *= 2;
    return pause < rule->longest_pause ? pause : rule->longest_pause;
}
