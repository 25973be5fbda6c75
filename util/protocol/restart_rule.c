/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "restart_rule.h"

#include <signal.h>
#include <string.h>

#include "common/number.h"
#include "common/value.h"
#include "common/variables.h"

/*
 * PreemptionCheckpointHandler exits with 42, or on Google's cloud with 143, when all its tasks have
 * saved. 143 is also the exit code of a shell, or of a handler, that SIGTERM ended.
 */
#define EXIT_SAVED 42
#define EXIT_TERMINATED (128 + SIGTERM)
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
    if (rule->times == 0 || !exit_report_failed (report))
        return false;
    if (report->kind == EXIT_REPORT_HUNG)
        return true;
    if (report->kind == EXIT_REPORT_SIGNAL)
        return rule->any || !_shows_defect (report->number);
    return rule->any ? !_is_final (report->number) : restart_rule_saved (report);
}

int restart_rule_pause (const struct restart_rule *rule, int nth)
{
    int pause = 1;

    for (int i = 1; i < nth && pause < rule->longest_pause; i++)
        pause *= 2;
    return pause < rule->longest_pause ? pause : rule->longest_pause;
}

static const char times[] = "RESTART", any[] = "RESTART_ANY", longest_pause[] = "RESTART_BACKOFF";

void restart_rule_add (struct frame *frame, const struct restart_rule *rule)
{
    if (rule->times == 0)
        return;
    frame_add (frame, times, "%d", rule->times);
    frame_add_flag (frame, any, rule->any);
    frame_add (frame, longest_pause, "%d", rule->longest_pause);
}

/* A text is NULL where a key is missing. */
static int _parse (struct restart_rule *rule, const char *number, bool has_any, const char *seconds)
{
    struct restart_rule parsed = { .any = has_any };

    *rule = (struct restart_rule){ 0 };
    if (!number)
        return 0;
    if (number_parse (&parsed.times, number, 1, VALUE_MAX_RESTARTS) < 0
        || number_parse (&parsed.longest_pause, seconds, 1, FRAME_MAX_SECONDS) < 0)
        return -1;
    *rule = parsed;
    return 0;
}

int restart_rule_decode (struct restart_rule *rule, const struct frame *frame)
{
    return _parse (rule, frame_get (frame, times), frame_has (frame, any), frame_get (frame, longest_pause));
}

int restart_rule_decode_environment (struct restart_rule *rule, char *const env[])
{
    return _parse (rule, variable_get (env, times), variable_get (env, any),
                   variable_get (env, longest_pause));
}

static const char lost_after[] = "LOST_AFTER";

void lost_after_add (struct frame *frame, int seconds)
{
    if (seconds > 0)
        frame_add (frame, lost_after, "%d", seconds);
}

static int _parse_lost_after (int *seconds, const char *text)
{
    *seconds = 0;
    return text ? number_parse (seconds, text, VALUE_MIN_LOST_AFTER, FRAME_MAX_SECONDS) : 0;
}

int lost_after_decode (int *seconds, const struct frame *frame)
{
    return _parse_lost_after (seconds, frame_get (frame, lost_after));
}

int lost_after_decode_environment (int *seconds, char *const env[])
{
    return _parse_lost_after (seconds, variable_get (env, lost_after));
}
