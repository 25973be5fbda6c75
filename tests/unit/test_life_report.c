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
    return frame;
}

TEST (a_report_has_these_strings_and_is_decoded)
{
    static const struct {
        struct life_report report;
        const char *text;
    } row[] = {
        { { -1, NULL, false }, "" },
        { { 0, NULL, false }, "LIFE=0\n" },
        { { 1000, NULL, true }, "LIFE=1000\nASKED_TO_END=1\n" },
        { { -1, "it is in a container", false }, "CANNOT_RESTART=it is in a container\n" },
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        struct frame *frame = encode (&row[i].report);
        struct life_report decoded = { 7, "?", !row[i].report.asked_to_end };

        life_report_decode (&decoded, frame);
        assert_int_equal (decoded.life, row[i].report.life);
        assert_int_equal (decoded.asked_to_end, row[i].report.asked_to_end);
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
        { NULL, -1 }, { "", -1 }, { "-1", -1 }, { "0", 0 }, { "1000", 1000 }, { "1001", -1 },
        { "1 ", -1 }, { "4294967296", -1 }, { "x", -1 },
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        struct frame *frame = message_with (good, COUNT (good), "LIFE", row[i].value);
        struct life_report decoded;

        life_report_decode (&decoded, frame);
        assert_int_equal (decoded.life, row[i].life);
        frame_destroy (frame);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_report_has_these_strings_and_is_decoded),
        cmocka_unit_test (a_life_out_of_bounds_cannot_be_followed_by_another),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
