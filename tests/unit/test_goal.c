/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "messages.h"

#include "protocol/goal.h"

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

#define WRONG_TOKEN "the program that answers there is not this step's rendezvous"

TEST (a_wrong_server_token_and_a_malformed_goal_are_refused)
{
    static const char good[] = "SERVER_TOKEN=" SERVER_TOKEN "\nLIFE=3\nSTOP=ask\nEXIT_CODE=3\n";
    static const struct {
        const char *key, *value, *message;      /* message NULL: the goal is valid */
    /* clang-format off */
    } row[] = {
        { "COLOUR", "red", NULL }, { "EXIT_CODE", NULL, NULL },
        { "SERVER_TOKEN", NULL, WRONG_TOKEN }, { "SERVER_TOKEN", "", WRONG_TOKEN },
        { "SERVER_TOKEN", TOKEN, WRONG_TOKEN }, { "SERVER_TOKEN", SERVER_TOKEN "0", WRONG_TOKEN },
        { "LIFE", NULL, NULL }, { "LIFE", "-1", "LIFE of a goal is not 0 to 10000" },
        { "LIFE", "10001", "LIFE of a goal is not 0 to 10000" },
        { "STOP", NULL, "a goal lacks STOP" }, { "STOP", "Ask", "STOP of a goal is not one of these words" },
        { "STOP", "", "STOP of a goal is not one of these words" },
        { "EXIT_CODE", "256", "EXIT_CODE of a goal is not 0 to 255" },
        { "EXIT_CODE", "-1", "EXIT_CODE of a goal is not 0 to 255" },
        { "REPORT", "x", "REPORT of a goal is not 0 or more" },
    };
    /* clang-format on */

    for (size_t i = 0; i < COUNT (row); i++) {
        struct frame *frame = message_with (good, row[i].key, row[i].value);
        struct errtext err = { "" };
        struct goal goal;

        assert_int_equal (goal_decode (&goal, frame, SERVER_TOKEN, &err), row[i].message ? -1 : 0);
        assert_string_equal (err.text, row[i].message ? row[i].message : "");
        frame_destroy (frame);
    }
}
