/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include <stdio.h>

#include "protocol/exit_report.h"

TEST (each_report_is_printed_as_its_text)
{
    static const struct {
        const char *text;
        struct exit_report report;
        bool failed;
        int code;               /* of srun */
    } row[] = {
        { "exit 0", { .kind = EXIT_REPORT_EXIT }, false, 0 },
        { "exit 1", { .kind = EXIT_REPORT_EXIT, .number = 1 }, true, 1 },
        { "exit 3", { .kind = EXIT_REPORT_EXIT, .number = 3 }, true, 3 },
        { "exit 255", { .kind = EXIT_REPORT_EXIT, .number = 255 }, true, 255 },
        { "signal 1", { .kind = EXIT_REPORT_SIGNAL, .number = 1 }, true, 129 },
        { "signal 11", { .kind = EXIT_REPORT_SIGNAL, .number = 11 }, true, 139 },
        { "signal 64", { .kind = EXIT_REPORT_SIGNAL, .number = 64 }, true, 192 },
        { "stopped", { .kind = EXIT_REPORT_STOPPED }, false, 0 },
        { "hung", { .kind = EXIT_REPORT_HUNG }, true, 124 },
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        struct exit_report_text room;

        assert_ptr_equal (exit_report_print (&row[i].report, &room), room.text);
        assert_string_equal (room.text, row[i].text);
        assert_int_equal (exit_report_failed (&row[i].report), row[i].failed);
        assert_int_equal (exit_report_code (&row[i].report), row[i].code);
    }
}

TEST (users_read_that_memory_was_exhausted)
{
    struct exit_report killed = { .kind = EXIT_REPORT_SIGNAL,
                                  .number = 9,
                                  .out_of_memory = true };
    const struct exit_report failed = { .kind = EXIT_REPORT_EXIT, .number = 3 };
    struct exit_report_text room;

    assert_string_equal (exit_report_describe (&killed, &room), "signal 9 (out of memory)");
    assert_string_equal (exit_report_print (&killed, &room), "signal 9");
    assert_string_equal (exit_report_describe (&failed, &room), "exit code 3");
    assert_string_equal (exit_report_cell (&failed, &room), "exit 3");
}

TEST (users_read_that_a_task_which_was_stopped_had_to_be_killed)
{
    const struct exit_report killed = { .kind = EXIT_REPORT_STOPPED, .killed = true, .killed_after = 10 };
    struct exit_report_text room;

    assert_string_equal (exit_report_describe (&killed, &room), "killed after 10 s");
    assert_string_equal (exit_report_print (&killed, &room), "stopped");
    assert_false (exit_report_failed (&killed));
    assert_int_equal (exit_report_code (&killed), 0);
}

TEST (any_number_fits_the_buffer)
{
    static const int number[] = { INT32_MIN, INT32_MAX };

    for (size_t i = 0; i < COUNT (number); i++) {
        struct exit_report report = { .kind = EXIT_REPORT_SIGNAL, .number = number[i] };
        struct exit_report_text room;
        char text[64];

        snprintf (text, sizeof (text), "signal %d", number[i]);
        assert_string_equal (exit_report_print (&report, &room), text);
    }
}
