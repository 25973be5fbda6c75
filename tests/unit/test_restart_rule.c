/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include "protocol/restart_rule.h"

/* All numbers that an exit report can have, by the two sentences of the manual. */
TEST (every_end_counts_as_the_manual_says)
{
    for (int any = 0; any < 2; any++)
        for (int kind = EXIT_REPORT_EXIT; kind <= EXIT_REPORT_SIGNAL; kind++)
            for (int number = kind; number <= (kind ? EXIT_REPORT_MAX_SIGNAL : EXIT_REPORT_MAX_CODE);
                 number++) {
                const struct restart_rule rule = { 1, any, 60, 0 };
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

/* A hang is worth another try, and a task that was stopped did not fail. */
TEST (other_ends_count_with_any_rule_or_never_and_without_restarts_none_counts)
{
    const struct restart_rule none = { 0, true, 60, 0 }, some = { 1, false, 60, 0 };
    const struct exit_report killed = { .kind = EXIT_REPORT_SIGNAL, .number = 9 };
    const struct exit_report stopped = { .kind = EXIT_REPORT_STOPPED }, hung = { .kind = EXIT_REPORT_HUNG };

    assert_false (restart_rule_covers (&none, &killed) || restart_rule_covers (&none, &hung));
    assert_true (restart_rule_covers (&some, &killed) && restart_rule_covers (&some, &hung));
    assert_false (restart_rule_covers (&some, &stopped));
    assert_false (restart_rule_saved (&stopped) || restart_rule_saved (&hung));
}

TEST (the_pause_is_doubled_and_never_exceeds_the_longest_one)
{
    for (int longest = 1; longest <= 100; longest++) {
        const struct restart_rule rule = { 1000, false, longest, 0 };
        int wanted = 1;

        for (int nth = 1; nth <= 1000; nth++) {
            assert_int_equal (restart_rule_pause (&rule, nth), wanted);
            wanted = 2 * wanted < longest ? 2 * wanted : longest;
        }
    }
}

TEST (without_a_number_of_its_own_a_step_has_ten_times_as_many_restarts_as_in_a_row)
{
    const struct restart_rule none = { 0, true, 60, 0 }, some = { 3, true, 60, 0 }, own = { 3, true, 60, 7 };

    assert_int_equal (restart_rule_total (&none), 0);
    assert_int_equal (restart_rule_total (&some), 30);
    assert_int_equal (restart_rule_total (&own), 7);
}
