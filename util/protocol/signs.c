/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "signs.h"

#include <stdio.h>
#include <string.h>

#include "common/number.h"
#include "common/printable.h"
#include "fields.h"
#include "life_report.h"

static const char *const source_name[] = {
    [SIGNS_UNKNOWN] = "unknown",   [SIGNS_NONE] = "none", [SIGNS_LOG] = "log",
    [SIGNS_MESSAGES] = "messages", [SIGNS_DONE] = "done",
};

static void _add_program_status (struct frame *frame, const char *key, const void *message)
{
    const struct signs *signs = message;

    frame_add_text (frame, key, signs->status[0] ? signs->status : NULL);
}

/* It is printed by srun, and a program has written it. */
static int _take_program_status (void *message, const struct frame *frame, const char *key)
{
    const char *status = frame_get (frame, key);
    struct signs *signs = message;

    printable_line (signs->status, sizeof (signs->status), status, strlen (status));
    return 0;
}

static void _add_traceback (struct frame *frame, const char *key, const void *message)
{
    const struct failure_text *text = &((const struct signs *)message)->traceback;

    frame_add_text (frame, key, text->source == FAILURE_TEXT_NONE ? NULL : text->text);
}

static int _take_traceback (void *message, const struct frame *frame, const char *key)
{
    const char *line = frame_get (frame, key);

    failure_text_set (&((struct signs *)message)->traceback, FAILURE_TEXT_LOG, line, strlen (line));
    return 0;
}

static void _add_unanswered (struct frame *frame, const char *key, const void *message)
{
    char text[SIGNS_MOST_UNANSWERED * sizeof (struct address_text)] = "";
    const struct signs *signs = message;
    struct address_text room;

    for (int i = 0; i < signs->unanswered_count; i++)
        snprintf (text + strlen (text), sizeof (text) - strlen (text), "%s%s", i > 0 ? " " : "",
                  address_print_port (&signs->unanswered[i].address, signs->unanswered[i].port, &room));
    frame_add_text (frame, key, *text ? text : NULL);
}

/* "10.0.0.1:40000" or "[fd00::1]:40000" */
static int _decode_destination (struct signs_address *to, char *text)
{
    char *colon = strrchr (text, ':');
    size_t length;

    if (!colon || number_parse (&to->port, colon + 1, 1, 65535) < 0)
        return -1;
    *colon = '\0';
    length = strlen (text);
    if (length > 2 && text[0] == '[' && text[length - 1] == ']') {
        text[length - 1] = '\0';
        text++;
    }
    return address_parse (&to->address, text);
}

/* What is malformed, or too much, is left out. */
static int _take_unanswered (void *message, const struct frame *frame, const char *key)
{
    struct signs *signs = message;
    const char *text = frame_get (frame, key);
    char copy[SIGNS_MOST_UNANSWERED * sizeof (struct address_text)], *rest = copy, *word;

    if (strlen (text) >= sizeof (copy))
        return 0;
    strcpy (copy, text);
    while (signs->unanswered_count < SIGNS_MOST_UNANSWERED && (word = strsep (&rest, " ")))
        if (_decode_destination (&signs->unanswered[signs->unanswered_count], word) == 0)
            signs->unanswered_count++;
    return 0;
}

static const struct field_other status = { .add = _add_program_status, .take = _take_program_status };
static const struct field_other traceback = { .add = _add_traceback, .take = _take_traceback };
static const struct field_other unanswered = { .add = _add_unanswered, .take = _take_unanswered };

#define MESSAGE struct signs

/* clang-format off */
static const struct field row[] = {
    FIELD ("SIGNS", source, NAME, FIELD_NEEDED, 0, SIGNS_DONE, .names = source_name),
    FIELD ("LIFE", life, NUMBER, FIELD_NEEDED, 0, LIFE_REPORT_MAX),
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
    FIELD_BY ("STATUS", status, FIELD_OPTIONAL),
    FIELD_BY ("TRACEBACK", traceback, FIELD_OPTIONAL),
    FIELD ("TRACEBACK_MS", traceback_ms, NUMBER, FIELD_TOLERANT, 0, SIGNS_MAX_MS),
    FIELD ("TRACEBACK_LOST", traceback_lost, FLAG, FIELD_OPTIONAL),
    FIELD_BY ("UNANSWERED", unanswered, FIELD_OPTIONAL),
};
/* clang-format on */

const struct fields signs_fields = FIELDS ("signs of life", row);

bool signs_are_in (const struct frame *frame)
{
    return frame_has (frame, "SIGNS");
}
