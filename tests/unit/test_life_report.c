/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "messages.h"
#include "unit.h"

#include "protocol/life_report.h"

static struct frame *encode (const struct life_report *report)
{
    struct frame *frame = frame_create ();

    assert_non_null (frame);
    life_report_add (frame, report);
    /* Of the signs of life, in a status. */
    frame_add (frame, "LIFE", "%d", report->life < 0 ? 7 : report->life);
    return frame;
}

TEST (a_report_has_these_strings_and_is_decoded)
{
    static const struct {
        struct life_report report;
        const char *text;
    } row[] = {
        { { .life = -1 }, "LAST=1\nLIFE=7\n" },
        { { .life = 0 }, "LIFE=0\n" },
        { { .life = 3, .ago_ms = 60000 }, "AGO_MS=60000\nLIFE=3\n" },
        { { 1, 1000, NULL, 64, INT64_C (253402300799), 0, ADDRESS_UNKNOWN },
          "ASKED_SIGNAL=64\nASKED_AT=253402300799\nLIFE=1000\n" },
        { { 2, 2, NULL, 15, 0, 0, ADDRESS_UNKNOWN }, "REPORT=2\nASKED_SIGNAL=15\nLIFE=2\n" },
        { { .life = 0, .address = ADDRESS_UNUSED }, "ADDRESS_USED=0\nLIFE=0\n" },
        { { .life = -1, .address = ADDRESS_USED }, "LAST=1\nADDRESS_USED=1\nLIFE=7\n" },
        { { 1, -1, "it is in a container", 1, 1, 0, ADDRESS_UNKNOWN },
          "LAST=1\nCANNOT_RESTART=it is in a container\nASKED_SIGNAL=1\nASKED_AT=1\nLIFE=7\n" },
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        struct frame *frame = encode (&row[i].report);
        struct life_report decoded = { 7, 7, "?", 7, 7, 7, ADDRESS_USED };

        life_report_decode (&decoded, frame);
        assert_int_equal (decoded.number, row[i].report.number ? row[i].report.number : 1);
        assert_int_equal (decoded.life, row[i].report.life);
        assert_int_equal (decoded.asked_signal, row[i].report.asked_signal);
        assert_int_equal (decoded.asked_at, row[i].report.asked_at);
        assert_int_equal (decoded.ago_ms, row[i].report.ago_ms);
        assert_int_equal (decoded.address, row[i].report.address);
        if (row[i].report.cannot)
            assert_string_equal (decoded.cannot, row[i].report.cannot);
        else
            assert_null (decoded.cannot);
        assert_string_equal (message_text (frame), row[i].text);
    }
}

TEST (a_life_out_of_bounds_cannot_be_followed_by_another)
{
    static const struct message_string good[] = { { "LIFE", "5" } };
    static const struct {
        const char *value;
        int life;
    } row[] = {
        { NULL, -1 },    { "", -1 },   { "-1", -1 },         { "0", 0 },  { "10000", 10000 },
        { "10001", -1 }, { "1 ", -1 }, { "4294967296", -1 }, { "x", -1 },
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        struct frame *frame = message_with (good, COUNT (good), "LIFE", row[i].value);
        struct life_report decoded;

        life_report_decode (&decoded, frame);
        assert_int_equal (decoded.life, row[i].life);
        frame_destroy (frame);
    }
}

TEST (a_time_that_is_too_long_or_malformed_is_not_known)
{
    static const struct life_report late = { .life = 0, .ago_ms = 60001 };
    static const struct message_string good[] = { { "LIFE", "0" }, { "AGO_MS", "5" } };
    static const char *const value[] = { NULL, "", "-1", "60001", "1 ", "4294967296", "x" };

    assert_string_equal (message_text (encode (&late)), "LIFE=0\n");
    for (size_t i = 0; i < COUNT (value); i++) {
        struct frame *frame = message_with (good, COUNT (good), "AGO_MS", value[i]);
        struct life_report decoded;

        life_report_decode (&decoded, frame);
        assert_int_equal (decoded.ago_ms, 0);
        frame_destroy (frame);
    }
}

/* The task was asked to end, whatever the number is. */
TEST (a_malformed_signal_counts_as_sigterm_and_a_malformed_time_as_not_known)
{
    static const struct message_string good[] = { { "ASKED_SIGNAL", "1" }, { "ASKED_AT", "5" } };
    static const struct {
        const char *value;
        int signal;
        int64_t at;
    /* clang-format off */
    } row[] = {
        { NULL, 0, 0 }, { "", 15, 0 }, { "-1", 15, 0 }, { "0", 15, 0 }, { "1", 1, 1 }, { "64", 64, 64 },
        { "65", 15, 65 }, { "2 ", 15, 0 }, { "x", 15, 0 }, { "4294967297", 15, INT64_C (4294967297) },
        { "253402300799", 15, INT64_C (253402300799) }, { "253402300800", 15, 0 },
        { "0000000000001", 1, 0 }, { "18446744073709551617", 15, 0 },
    };
    /* clang-format on */

    for (size_t i = 0; i < COUNT (row); i++) {
        struct life_report decoded;
        struct frame *frame = message_with (good, COUNT (good), "ASKED_SIGNAL", row[i].value);

        life_report_decode (&decoded, frame);
        assert_int_equal (decoded.asked_signal, row[i].signal);
        assert_int_equal (decoded.asked_at, 5);
        frame_destroy (frame);
        frame = message_with (good, COUNT (good), "ASKED_AT", row[i].value);
        life_report_decode (&decoded, frame);
        assert_int_equal (decoded.asked_signal, 1);
        assert_int_equal (decoded.asked_at, row[i].at);
        frame_destroy (frame);
    }
}
