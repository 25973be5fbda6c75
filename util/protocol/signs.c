/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "signs.h"

#include "fields.h"
#include "life_report.h"

const char *const signs_source_name[] = {
    [SIGNS_UNKNOWN] = "unknown",   [SIGNS_NONE] = "none", [SIGNS_LOG] = "log",
    [SIGNS_MESSAGES] = "messages", [SIGNS_DONE] = "done",
};

static void _add_unanswered (struct frame *frame, const char *key, const void *message)
{
    const struct signs *signs = message;
    struct address_text room;

    for (int i = 0; i < signs->unanswered_count; i++)
        frame_add (frame, key, "%s",
                   address_print_port (&signs->unanswered[i].address, signs->unanswered[i].port, &room));
}

static int _take_unanswered (void *message, const struct frame *frame, const char *key)
{
    struct signs *signs = message;

    signs->unanswered_count = 0;
    for (const char *text = NULL; (text = frame_get_next (frame, key, text)); signs->unanswered_count++) {
        struct signs_address *to = &signs->unanswered[signs->unanswered_count];

        if (signs->unanswered_count == SIGNS_MOST_UNANSWERED
            || address_parse_port (&to->address, &to->port, text) < 0)
            return -1;
    }
    return 0;
}

static const struct field_other unanswered = { _add_unanswered, _take_unanswered,
                                               "an address with its port" };

#define MESSAGE struct signs

/* clang-format off */
static const struct field row[] = {
    FIELD ("SIGNS", source, NAME, FIELD_NEEDED, 0, SIGNS_DONE, .names = signs_source_name),
    FIELD ("LIFE", life, NUMBER, FIELD_OPTIONAL, 0, LIFE_REPORT_MAX, .absent = -1),
    FIELD ("OVERDUE", overdue, FLAG, FIELD_OPTIONAL),
    FIELD ("STOPPED", stopped, FLAG, FIELD_OPTIONAL),
    FIELD ("SUSPENDED", suspended, FLAG, FIELD_OPTIONAL),
    FIELD ("BUSY", busy, FLAG, FIELD_OPTIONAL),
    FIELD ("MESSAGES", messages, NUMBER, FIELD_TOLERANT, 0, SIGNS_MAX_MS),
    FIELD ("LOG_GREW", log_grew, FLAG, FIELD_OPTIONAL),
    FIELD ("SILENT_MS", silent_ms, NUMBER, FIELD_TOLERANT, 0, SIGNS_MAX_MS),
    FIELD ("SIGN_AGO_MS", ago_ms, NUMBER, FIELD_TOLERANT, 0, SIGNS_MAX_MS),
    FIELD ("STARTED_MS", started_ms, NUMBER, FIELD_TOLERANT, 0, SIGNS_MAX_MS),
    FIELD ("SLOWEST_MS", slowest_ms, NUMBER, FIELD_OPTIONAL, 1, SIGNS_MAX_MS),
    FIELD ("SECOND_MS", second_ms, NUMBER, FIELD_OPTIONAL, 1, SIGNS_MAX_MS),
    FIELD ("STEP", step, NUMBER, FIELD_TOLERANT, 0, SIGNS_MAX_STEP),
    FIELD ("ASIDE", aside, FLAG, FIELD_OPTIONAL),
    FIELD ("STATUS", status, LINE, FIELD_TOLERANT, 0, SIGNS_MAX_STATUS),
    FIELD ("TRACEBACK", traceback, LINE, FIELD_TOLERANT, 0, FAILURE_TEXT_MAX),
    FIELD ("TRACEBACK_MS", traceback_ms, NUMBER, FIELD_TOLERANT, 0, SIGNS_MAX_MS),
    FIELD ("TRACEBACK_LOST", traceback_lost, FLAG, FIELD_OPTIONAL),
    FIELD_BY ("UNANSWERED", unanswered, FIELD_OPTIONAL),
};
/* clang-format on */

const struct fields signs_fields = FIELDS ("activity", row);
