/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "messages.h"

#include "protocol/fields.h"
#include "protocol/signs.h"

static struct frame *signs_encode (const struct signs *signs)
{
    struct frame *frame = frame_create ();

    fields_encode (&signs_fields, frame, signs);
    return frame;
}

static int signs_decode (struct signs *signs, const struct frame *frame, struct errtext *err)
{
    memset (signs, 0, sizeof (*signs));
    return fields_decode (&signs_fields, signs, frame, err);
}

/* clang-format off */
static const struct signs full = {
    .life = 3, .source = SIGNS_MESSAGES, .overdue = true, .stopped = true, .busy = true, .messages = 20,
    .log_grew = true, .silent_ms = 300000, .ago_ms = 360000, .started_ms = 7000, .step = 1200,
    .status = "step 1200",
    .traceback = { .source = FAILURE_TEXT_LOG, .text = "ValueError: NaN" }, .traceback_ms = 2500,
    .unanswered = {
        { { AF_INET, { 10, 0, 0, 1 } }, 40001 }, { { AF_INET6, { 0xfd, [15] = 1 } }, 40002 },
    },
    .unanswered_count = 2,
};
/* clang-format on */

static void check_equal (const struct signs *a, const struct signs *b)
{
    assert_int_equal (a->life, b->life);
    assert_int_equal (a->source, b->source);
    assert_int_equal (a->overdue, b->overdue);
    assert_int_equal (a->stopped, b->stopped);
    assert_int_equal (a->busy, b->busy);
    assert_int_equal (a->messages, b->messages);
    assert_int_equal (a->log_grew, b->log_grew);
    assert_int_equal (a->silent_ms, b->silent_ms);
    assert_int_equal (a->ago_ms, b->ago_ms);
    assert_int_equal (a->started_ms, b->started_ms);
    assert_int_equal (a->step, b->step);
    assert_string_equal (a->status, b->status);
    assert_int_equal (a->traceback.source, b->traceback.source);
    assert_string_equal (a->traceback.text, b->traceback.text);
    assert_int_equal (a->traceback_ms, b->traceback_ms);
    assert_int_equal (a->unanswered_count, b->unanswered_count);
    for (int i = 0; i < a->unanswered_count; i++) {
        assert_true (address_equal (&a->unanswered[i].address, &b->unanswered[i].address));
        assert_int_equal (a->unanswered[i].port, b->unanswered[i].port);
    }
}

static void check_round_trip (const struct signs *signs)
{
    struct frame *frame = signs_encode (signs);
    struct signs decoded;

    memset (&decoded, 0xff, sizeof (decoded));
    assert_int_equal (signs_decode (&decoded, frame, NULL), 0);
    check_equal (&decoded, signs);
    frame_destroy (frame);
}

TEST (signs_of_life_have_these_strings_and_are_decoded)
{
    const struct signs none = { .source = SIGNS_NONE };
    struct signs one = none;

    assert_string_equal (
        message_text (signs_encode (&full)),
        "SIGNS=messages\nLIFE=3\nOVERDUE=1\nSTOPPED=1\nBUSY=1\nMESSAGES=20\n"
        "LOG_GREW=1\nSILENT_MS=300000\nSIGN_AGO_MS=360000\nSTARTED_MS=7000\nSTEP=1200\nSTATUS=step 1200\n"
        "TRACEBACK=ValueError: NaN\nTRACEBACK_MS=2500\n"
        "UNANSWERED=10.0.0.1:40001 [fd00::1]:40002\n");
    assert_string_equal (
        message_text (signs_encode (&none)),
        "SIGNS=none\nLIFE=0\nMESSAGES=0\nSILENT_MS=0\nSIGN_AGO_MS=0\nSTARTED_MS=0\nSTEP=0\nTRACEBACK_MS=0\n");
    check_round_trip (&full);
    check_round_trip (&none);
    for (int source = SIGNS_UNKNOWN; source <= SIGNS_DONE; source++) {
        one.source = (enum signs_source)source;
        check_round_trip (&one);
    }
    one.overdue = true;
    check_round_trip (&one);
    one =
        (struct signs){ .stopped = true, .life = 1000, .messages = SIGNS_MAX_MS, .silent_ms = SIGNS_MAX_MS };
    check_round_trip (&one);
}

TEST (a_missing_or_malformed_value_is_refused_or_counts_as_0)
{
    static const struct message_string good[] = {
        { "SIGNS", "log" },   { "LIFE", "1" },        { "MESSAGES", "2" },
        { "SILENT_MS", "3" }, { "SIGN_AGO_MS", "4" }, { "STATUS", "x" },
    };
    static const struct {
        const char *key, *value;
        int rc;
    } row[] = {
        { "COLOUR", "red", 0 },     { "SIGNS", NULL, -1 },   { "SIGNS", "", -1 },
        { "SIGNS", "Log", -1 },     { "SIGNS", "logs", -1 }, { "LIFE", NULL, -1 },
        { "LIFE", "-1", -1 },       { "LIFE", "10001", -1 }, { "LIFE", "", -1 },
        { "MESSAGES", NULL, 0 },    { "MESSAGES", "-1", 0 }, { "MESSAGES", "2147483648", 0 },
        { "SILENT_MS", NULL, 0 },   { "SILENT_MS", "x", 0 }, { "SIGN_AGO_MS", NULL, 0 },
        { "SIGN_AGO_MS", "1s", 0 },
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        struct frame *frame = message_with (good, COUNT (good), row[i].key, row[i].value);
        struct errtext err = { "" };
        struct signs signs;

        assert_int_equal (signs_decode (&signs, frame, &err), row[i].rc);
        assert_int_equal (strstr (err.text, " of life ") != NULL, row[i].rc < 0);
        if (row[i].rc == 0) {
            assert_int_equal (signs.messages, strcmp (row[i].key, "MESSAGES") == 0 ? 0 : 2);
            assert_int_equal (signs.silent_ms, strcmp (row[i].key, "SILENT_MS") == 0 ? 0 : 3);
            assert_int_equal (signs.ago_ms, strcmp (row[i].key, "SIGN_AGO_MS") == 0 ? 0 : 4);
        }
        frame_destroy (frame);
    }
}

TEST (unanswered_addresses_are_at_most_eight_and_what_is_malformed_is_left_out)
{
    static const struct message_string good[] = { { "SIGNS", "none" }, { "LIFE", "1" } };
    static const struct {
        const char *text;
        int count;
    } row[] = {
        { "10.0.0.1:1", 1 },
        { "10.0.0.1:65535 fd00::1:7 [fd00::1]:7", 3 },
        { "10.0.0.1:0", 0 },
        { "10.0.0.1", 0 },
        { "10.0.0.1:", 0 },
        { ":1", 0 },
        { "[]:1", 0 },
        { "host:1 10.0.0.1:65536  10.0.0.2:2 ", 1 },
        { "1.1.1.1:1 1.1.1.1:2 1.1.1.1:3 1.1.1.1:4 1.1.1.1:5 1.1.1.1:6 1.1.1.1:7 1.1.1.1:8 1.1.1.1:9", 8 },
    };
    char longest[600];

    for (size_t i = 0; i <= COUNT (row); i++) {
        struct frame *frame;
        struct signs signs;

        memset (longest, ' ', sizeof (longest));
        snprintf (longest + 580, 20, "10.0.0.1:1");
        frame = message_with (good, COUNT (good), "UNANSWERED", i < COUNT (row) ? row[i].text : longest);
        assert_int_equal (signs_decode (&signs, frame, NULL), 0);
        assert_int_equal (signs.unanswered_count, i < COUNT (row) ? row[i].count : 0);
        frame_destroy (frame);
    }
}

/* It is printed by srun, and a program has written it. */
TEST (a_status_is_made_printable_and_short)
{
    static const struct message_string good[] = { { "SIGNS", "log" }, { "LIFE", "1" } };
    struct frame *frame = message_with (good, COUNT (good), "STATUS", " \033[31mstep\t1\xc3\xa4 ");
    char longest[300], wanted[SIGNS_MAX_STATUS + 1];
    struct signs signs;

    assert_int_equal (signs_decode (&signs, frame, NULL), 0);
    assert_string_equal (signs.status, "[31mstep 1?");
    frame_destroy (frame);
    memset (longest, 'x', sizeof (longest) - 1);
    longest[sizeof (longest) - 1] = '\0';
    frame = message_with (good, COUNT (good), "STATUS", longest);
    assert_int_equal (signs_decode (&signs, frame, NULL), 0);
    snprintf (wanted, sizeof (wanted), "%.*s...", SIGNS_MAX_STATUS - 3, longest);
    assert_string_equal (signs.status, wanted);
    frame_destroy (frame);
}
