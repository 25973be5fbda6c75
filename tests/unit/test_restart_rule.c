/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include "messages.h"
#include "protocol/restart_fields.h"

/* All numbers that an exit report can have, by the two sentences of the manual. */
TEST (every_end_counts_as_the_manual_says)
{
    for (int any = 0; any < 2; any++)
        for (int kind = EXIT_REPORT_EXIT; kind <= EXIT_REPORT_SIGNAL; kind++)
            for (int number = kind; number <= (kind ? EXIT_REPORT_MAX_SIGNAL : EXIT_REPORT_MAX_CODE);
                 number++) {
                const struct restart_rule rule = { 1, any, 60 };
                const struct exit_report report = { .kind = (enum exit_report_kind)kind, .number = number };
                bool defect = number == 11 || number == 4 || number == 8 || number == 6;
                bool final = number == 0 || number == 2 || number == 126 || number == 127;
                bool saved = !kind && (number == 42 || number == 143);

                assert_int_equal (restart_rule_covers (&rule, &report), any    ? kind || !final
                                                                        : kind ? !defect
                                                                               : saved);
                assert_int_equal (restart_rule_saved (&report), saved);
            }
}

TEST (a_task_that_was_stopped_did_not_fail_and_without_restarts_none_counts)
{
    const struct restart_rule none = { 0, true, 60 }, some = { 1, true, 60 };
    const struct exit_report killed = { .kind = EXIT_REPORT_SIGNAL, .number = 9 };
    const struct exit_report stopped = { .kind = EXIT_REPORT_STOPPED };

    assert_false (restart_rule_covers (&none, &killed));
    assert_true (restart_rule_covers (&some, &killed));
    assert_false (restart_rule_covers (&some, &stopped));
    assert_false (restart_rule_saved (&stopped));
}

TEST (a_hang_is_worth_another_try)
{
    const struct restart_rule none = { 0, true, 60 }, some = { 1, false, 60 };
    const struct exit_report hung = { .kind = EXIT_REPORT_HUNG };

    assert_false (restart_rule_covers (&none, &hung));
    assert_true (restart_rule_covers (&some, &hung));
    assert_false (restart_rule_saved (&hung));
}

TEST (the_pause_is_doubled_and_never_exceeds_the_longest_one)
{
    for (int longest = 1; longest <= 100; longest++) {
        const struct restart_rule rule = { 1000, false, longest };
        int wanted = 1;

        for (int nth = 1; nth <= 1000; nth++) {
            assert_int_equal (restart_rule_pause (&rule, nth), wanted);
            wanted = 2 * wanted < longest ? 2 * wanted : longest;
        }
    }
}

static void check_strings (const struct restart_rule *rule, const char *text)
{
    struct frame *frame = frame_create ();
    struct restart_rule decoded = { 7, true, 7 };

    assert_non_null (frame);
    restart_rule_add (frame, rule);
    assert_int_equal (restart_rule_decode (&decoded, frame), 0);
    assert_int_equal (decoded.times, rule->times);
    assert_int_equal (decoded.any, rule->any);
    assert_int_equal (decoded.longest_pause, rule->longest_pause);
    assert_string_equal (message_text (frame), text);
}

TEST (a_rule_has_these_strings_and_is_decoded)
{
    check_strings (&(struct restart_rule){ 0, false, 0 }, "");
    check_strings (&(struct restart_rule){ 3, false, 60 }, "RESTART=3\nRESTART_BACKOFF=60\n");
    check_strings (&(struct restart_rule){ 1000, true, 1 },
                   "RESTART=1000\nRESTART_ANY=1\nRESTART_BACKOFF=1\n");
}

TEST (a_rule_is_decoded_from_an_environment)
{
    static char one[] = "RESTARTS=1", two[] = "RESTART=2", three[] = "RESTART_ANY=1",
                four[] = "RESTART_BACKOFF=4", bad[] = "RESTART_BACKOFF=0";
    char *const good[] = { one, two, three, four, NULL }, *const wrong[] = { two, bad, NULL };
    char *const none[] = { one, NULL };
    struct restart_rule rule;

    assert_int_equal (restart_rule_decode_environment (&rule, good), 0);
    assert_int_equal (rule.times, 2);
    assert_true (rule.any);
    assert_int_equal (rule.longest_pause, 4);
    assert_int_equal (restart_rule_decode_environment (&rule, wrong), -1);
    assert_int_equal (rule.times, 0);
    assert_int_equal (restart_rule_decode_environment (&rule, none), 0);
    assert_int_equal (rule.times, 0);
}
