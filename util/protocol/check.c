/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "check.h"

#include <limits.h>

#include "fields.h"

static const char *const result_name[] = {
    [CHECK_PASSED] = "passed", [CHECK_FILES] = "files",     [CHECK_GPUS] = "gpus",
    [CHECK_LINK] = "link",     [CHECK_PROGRAM] = "program", [CHECK_UNABLE] = "unable",
};

/* clang-format off */
#define MESSAGE struct check_order
static const struct field peer[] = {
    FIELD ("CHECK_PORT", port, NUMBER, FIELD_OPTIONAL, 1, 65535),
    FIELD ("CHECK_PEER", peer, ADDRESS, FIELD_NEEDED),
    FIELD ("CHECK_SERVES", serves, FLAG, FIELD_OPTIONAL),
};
static const struct fields peer_fields = FIELDS ("a goal", peer);

static const struct field order[] = {
    FIELD ("CHECK", number, NUMBER, FIELD_OPTIONAL, 1, INT_MAX),
    FIELD ("CHECK_SENT", sent, SECONDS, FIELD_TOLERANT),
    { .type = FIELD_PART, .need = FIELD_OPTIONAL, .part = &peer_fields },
};
#undef MESSAGE

#define MESSAGE struct check_report
static const struct field report[] = {
    FIELD ("CHECKED", number, NUMBER, FIELD_OPTIONAL, 1, INT_MAX),
    FIELD ("CHECK_RESULT", result, NAME, FIELD_NEEDED, CHECK_PASSED, CHECK_UNABLE, .names = result_name),
    FIELD ("CHECK_TEXT", text, LINE, FIELD_TOLERANT, 0, FAILURE_TEXT_MAX),
    FIELD ("CHECK_SENT", sent, SECONDS, FIELD_TOLERANT),
    FIELD ("CHECK_CLOCK", clock, SECONDS, FIELD_TOLERANT),
    FIELD ("CHECK_RATE", rate, NUMBER, FIELD_OPTIONAL, 1, INT_MAX),
};
#undef MESSAGE
/* clang-format on */

const struct fields check_order_fields = FIELDS ("a goal", order),
                    check_report_fields = FIELDS ("a status", report);
