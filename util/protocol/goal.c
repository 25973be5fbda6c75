/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "goal.h"

#include <limits.h>

#include "exit_report.h"
#include "fields.h"
#include "hello.h"
#include "life_report.h"

static const char *const stop_name[] = {
    [GOAL_RUN] = "no",
    [GOAL_STOP] = "ask",
    [GOAL_STOP_AT_ONCE] = "at-once",
    [GOAL_LEASE_OVER] = "lease-over",
    [GOAL_ABORT] = "abort",
    [GOAL_SAVE] = "save",
};

#define MESSAGE struct goal

/* clang-format off */
static const struct field row[] = {
    FIELD ("LIFE", life, NUMBER, FIELD_OPTIONAL, 0, LIFE_REPORT_MAX, .absent = GOAL_NO_LIFE),
    FIELD ("STOP", stop, NAME, FIELD_NEEDED, 0, GOAL_SAVE, .names = stop_name),
    FIELD ("REPORT", report, NUMBER, FIELD_OPTIONAL, 0, INT_MAX),
    FIELD ("LEAVE", leave, FLAG, FIELD_OPTIONAL),
    FIELD ("EXIT_CODE", code, NUMBER, FIELD_OPTIONAL, 0, EXIT_REPORT_MAX_CODE, .absent = GOAL_OWN_CODE),
    FIELD ("QUESTION", question, NUMBER, FIELD_OPTIONAL, 0, INT_MAX),
    FIELD_PART_AT (check, check_order_fields),
};
/* clang-format on */

const struct fields goal_fields = FIELDS ("a goal", row);

struct frame *goal_encode (const struct goal *goal, const char *server_token)
{
    struct frame *frame = frame_create ();

    if (frame) {
        server_token_add (frame, server_token);
        fields_encode (&goal_fields, frame, goal);
    }
    return frame;
}

int goal_decode (struct goal *goal, const struct frame *frame, const char *server_token, struct errtext *err)
{
    if (server_token_check (frame, server_token, err) < 0)
        return -1;
    return fields_decode (&goal_fields, goal, frame, err);
}
