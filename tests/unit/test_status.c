/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What supervisors say first, and what they are told; messages.golden has more of both.
 */
#include "config.h"

#include "messages.h"

#include "protocol/goal.h"
#include "protocol/status.h"

#define HELLO "TOKEN=" TOKEN "\nRELEASE=" PACKAGE_VERSION "\nNODE=n5\n"

TEST (the_rank_of_a_first_message_is_one_of_the_step)
{
    static const struct {
        const char *text;
        int rank;
    } row[] = {
        { NULL, -1 }, { "", -1 },   { "-1", -1 }, { "0", 0 },  { "7", 7 },           { "8", -1 },
        { " 1", -1 }, { "1 ", -1 }, { "+1", -1 }, { "x", -1 }, { "4294967297", -1 },
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        struct frame *frame = message_with ("", "RANK", row[i].text);

        assert_int_equal (status_rank (frame, 8), row[i].rank);
        frame_destroy (frame);
    }
}

TEST (the_first_message_of_a_supervisor_says_which_rank_reconnects)
{
    const struct status status = { .signs = { .life = 5, .source = SIGNS_NONE } };

    assert_string_equal (message_text (status_encode_first (&status, TOKEN, "n5", 17)),
                         HELLO "RECONNECTS=1\nRANK=17\nSIGNS=none\nLIFE=5\n");
}

TEST (goals_have_these_strings_and_are_decoded)
{
    static const struct {
        struct goal goal;
        const char *text;
    } row[] = {
        { GOAL_FIRST, "LIFE=0\nSTOP=no\n" },
        { { .stop = GOAL_STOP, .code = GOAL_OWN_CODE }, "LIFE=0\nSTOP=ask\n" },
        { { .life = 2, .stop = GOAL_LEASE_OVER, .code = GOAL_OWN_CODE }, "LIFE=2\nSTOP=lease-over\n" },
        { { .life = 10000, .stop = GOAL_ABORT, .code = GOAL_OWN_CODE, .question = 2 },
          "LIFE=10000\nSTOP=abort\nQUESTION=2\n" },
        { { .life = 2, .report = 3, .leave = true, .code = 255 },
          "LIFE=2\nSTOP=no\nREPORT=3\nLEAVE=1\nEXIT_CODE=255\n" },
        { { .report = 3, .leave = true, .code = 137 },
          "LIFE=0\nSTOP=no\nREPORT=3\nLEAVE=1\nEXIT_CODE=137\n" },
        { { .stop = GOAL_STOP_AT_ONCE, .leave = true }, "LIFE=0\nSTOP=at-once\nLEAVE=1\nEXIT_CODE=0\n" },
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        struct frame *frame = goal_encode (&row[i].goal, SERVER_TOKEN);
        struct goal goal = { .life = 7, .code = 7, .leave = !row[i].goal.leave };
        char text[256];

        assert_int_equal (goal_decode (&goal, frame, SERVER_TOKEN, NULL), 0);
        assert_true (goal_is_same (&goal, &row[i].goal));
        snprintf (text, sizeof (text), "SERVER_TOKEN=" SERVER_TOKEN "\n%s", row[i].text);
        assert_string_equal (message_text (frame), text);
        for (size_t j = 0; j < COUNT (row); j++)
            assert_int_equal (goal_is_same (&row[i].goal, &row[j].goal), i == j);
    }
}

TEST (a_task_that_was_killed_is_told_with_its_grace)
{
    const struct exit_report killed = { .kind = EXIT_REPORT_STOPPED, .killed = true, .killed_after = 10 };
    struct exit_report_text room;

    assert_string_equal (exit_report_describe (&killed, EXIT_REPORT_CELL, &room), "killed after 10 s");
}
