/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "restart_fields.h"

#include "common/number.h"
#include "common/value.h"
#include "common/variables.h"

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
