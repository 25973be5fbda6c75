/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "messages.h"

#include "protocol/answer.h"
#include "protocol/exit_report.h"

TEST (an_acknowledgement_has_this_string_and_is_recognized)
{
    struct frame *frame = acknowledgement_encode ();

    assert_true (acknowledgement_is_in (frame));
    assert_string_equal (message_text (frame), "ACKNOWLEDGED=1\n");
}

TEST (no_other_message_is_an_acknowledgement)
{
    const struct exit_report report = { .kind = EXIT_REPORT_EXIT };
    struct frame *frame = exit_report_encode (&report);

    assert_false (acknowledgement_is_in (frame));
    frame_destroy (frame);
}
