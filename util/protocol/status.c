/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "status.h"

#include "common/number.h"
#include "hello.h"

#define MESSAGE struct status

/* clang-format off */
static const struct field ended[] = {
    FIELD_ROWS_AT (report, exit_report_fields),
    FIELD_ROWS_AT (life, life_report_fields),
    FIELD_PART_AT (failure, failure_text_fields),
};
static const struct fields ended_fields = FIELDS ("a status", ended);

static const struct field row[] = {
    { .type = FIELD_PART, .need = FIELD_GIVEN, .part = &ended_fields, .given = FIELD_AT (ended, bool) },
    FIELD_ROWS_AT (life, life_report_asked_fields),
    FIELD_ROWS_AT (signs, signs_fields),
    FIELD_PART_AT (check, check_report_fields),
};
/* clang-format on */

const struct fields status_fields = FIELDS ("a status", row);

struct frame *status_encode_first (const struct status *status, const char *token, const char *node, int rank)
{
    const struct hello hello = {
        .token = token, .node = node, .release = PACKAGE_VERSION, .reconnects = true
    };
    struct frame *frame = frame_create ();

    if (!frame)
        return NULL;
    fields_encode (&hello_fields, frame, &hello);
    frame_add (frame, "RANK", "%d", rank);
    fields_encode (&status_fields, frame, status);
    return frame;
}

int status_rank (const struct frame *frame, int tasks)
{
    int rank;

    return number_parse (&rank, frame_get (frame, "RANK"), 0, tasks - 1) == 0 ? rank : -1;
}

static bool _has_its_number (const struct exit_report *report)
{
    switch (report->kind) {
        case EXIT_REPORT_EXIT:
        case EXIT_REPORT_UNSTARTED: return true;
        case EXIT_REPORT_SIGNAL: return report->number > 0 && report->number <= EXIT_REPORT_MAX_SIGNAL;
        case EXIT_REPORT_STOPPED:
        case EXIT_REPORT_HUNG: break;
    }
    return report->number == 0;
}

int status_decode (struct status *status, const struct frame *frame, struct errtext *err)
{
    *status = (struct status){ 0 };
    if (fields_decode (&status_fields, status, frame, err) < 0)
        return -1;
    return _has_its_number (&status->report) ? 0 : errtext_set (err, "NUMBER of a status contradicts ENDED");
}
