/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "rule_fields.h"

#include "common/value.h"
#include "restart_rule.h"

/* clang-format off */
#define MESSAGE struct restart_rule
static const struct field restart_rule[] = {
    FIELD ("RESTART", times, NUMBER, FIELD_OPTIONAL, 1, VALUE_MAX_RESTARTS),
    FIELD ("RESTART_TOTAL", total, NUMBER, FIELD_OPTIONAL, 1, VALUE_MAX_TOTAL),
    FIELD ("RESTART_ANY", any, FLAG, FIELD_OPTIONAL),
    FIELD ("RESTART_BACKOFF", longest_pause, NUMBER, FIELD_NEEDED, 1, FRAME_MAX_SECONDS),
};
#undef MESSAGE

#define MESSAGE struct watch_rule
static const struct field watch_rule[] = {
    FIELD ("WATCHDOG", seconds, NUMBER, FIELD_OPTIONAL, 1, VALUE_MAX_SECONDS),
    FIELD ("WATCHDOG_FIRST", first, NUMBER, FIELD_NEEDED, 1, VALUE_MAX_SECONDS),
    FIELD ("WATCHDOG_AUTO", learns, FLAG, FIELD_OPTIONAL),
    FIELD ("WATCHDOG_GIVEN", given, FLAG, FIELD_OPTIONAL),
    FIELD ("WATCHDOG_TURNS", turns, NUMBER, FIELD_OPTIONAL, 2, WATCH_RULE_MAX_TURNS),
};
#undef MESSAGE

#define MESSAGE struct task_options
static const struct field task_options[] = {
    FIELD ("BATCH_HOST", batch_host, TEXT, FIELD_OPTIONAL),
    FIELD ("IF_ABANDONED", if_abandoned, TEXT, FIELD_OPTIONAL),
    FIELD ("PREFLIGHT", preflight, TEXT, FIELD_OPTIONAL),
};
#undef MESSAGE

/* A member that is a number. */
#define NUMBER(key_, least, most) \
    { .key = (key_), .type = FIELD_NUMBER, .need = FIELD_OPTIONAL, (least), (most) }
static const struct field lost_after[] = {
    NUMBER ("LOST_AFTER", VALUE_MIN_LOST_AFTER, FRAME_MAX_SECONDS),
};
/* clang-format on */

const struct fields restart_rule_fields = FIELDS ("--tf-restart", restart_rule);
const struct fields watch_rule_fields = FIELDS ("--tf-watchdog", watch_rule);
const struct fields lost_after_fields = FIELDS ("--tf-tasks", lost_after);
const struct fields task_options_fields = FIELDS ("a task's options", task_options);
