/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "failure_text.h"

#include "common/printable.h"
#include "fields.h"

static const char *const source_name[] = {
    [FAILURE_TEXT_LOG] = "log",
    [FAILURE_TEXT_ERROR_FILE] = "error-file",
    [FAILURE_TEXT_STACK] = "stack",
};

#define MESSAGE struct failure_text

/* clang-format off */
static const struct field row[] = {
    FIELD ("FAILURE", source, NAME, FIELD_OPTIONAL, FAILURE_TEXT_LOG, FAILURE_TEXT_STACK,
           .names = source_name),
    FIELD ("FAILURE_TEXT", text, LINE, FIELD_NEEDED, 0, FAILURE_TEXT_MAX),
    FIELD_ROWS_AT (cause, cause_fields),
};
/* clang-format on */

const struct fields failure_text_fields = FIELDS ("a failure text", row);

void failure_text_set (struct failure_text *text, enum failure_text_source source, const char *line,
                       size_t length)
{
    size_t used = printable_line (text->text, sizeof (text->text), line, length);

    text->source = used > 0 ? source : FAILURE_TEXT_NONE;
}
