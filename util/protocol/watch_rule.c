/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "watch_rule.h"

#include "common/number.h"
#include "common/value.h"
#include "common/variables.h"

static const char seconds_key[] = "WATCHDOG", first_key[] = "WATCHDOG_FIRST";

void watch_rule_add (struct frame *frame, const struct watch_rule *rule)
{
    if (rule->seconds == 0)
        return;
    frame_add (frame, seconds_key, "%d", rule->seconds);
    frame_add (frame, first_key, "%d", rule->first);
}

/* A text is NULL where a key is missing. */
static int _parse (struct watch_rule *rule, const char *seconds, const char *first)
{
    struct watch_rule parsed;

    *rule = (struct watch_rule){ 0, 0 };
    if (!seconds)
        return 0;
    if (number_parse (&parsed.seconds, seconds, 1, VALUE_MAX_SECONDS) < 0
        || number_parse (&parsed.first, first, 1, VALUE_MAX_SECONDS) < 0)
        return -1;
    *rule = parsed;
    return 0;
}

int watch_rule_decode (struct watch_rule *rule, const struct frame *frame)
{
    return _parse (rule, frame_get (frame, seconds_key), frame_get (frame, first_key));
}

int watch_rule_decode_environment (struct watch_rule *rule, char *const env[])
{
    return _parse (rule, variable_get (env, seconds_key), variable_get (env, first_key));
}
