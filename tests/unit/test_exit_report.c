/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

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
        { "killed after 10 s",
          { .kind = EXIT_REPORT_STOPPED, .killed = true, .killed_after = 10 },
          false,
          0 },
        { "hung", { .kind = EXIT_REPORT_HUNG }, true, 124 },
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        struct exit_report_text room;

        assert_string_equal (exit_report_cell (&row[i].report, &room), row[i].text);
        assert_int_equal (exit_report_failed (&row[i].report), row[i].failed);
        assert_int_equal (exit_report_code (&row[i].report), row[i].code);
    }
}
