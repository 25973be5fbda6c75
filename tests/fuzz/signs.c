/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The input is the strings of a message about signs of life, one a line.
 */
#include "config.h"

#include "fuzz.h"

#include <string.h>

#include "protocol/life_report.h"
#include "protocol/signs.h"

static void _check (const struct signs *signs)
{
    CHECK (signs->source >= SIGNS_UNKNOWN && signs->source <= SIGNS_DONE);
    CHECK (signs->life >= 0 && signs->life <= LIFE_REPORT_MAX);
    CHECK (signs->messages >= 0 && signs->silent_ms >= 0 && signs->ago_ms >= 0);
    CHECK (signs->unanswered_count >= 0 && signs->unanswered_count <= SIGNS_MOST_UNANSWERED);
    for (int i = 0; i < signs->unanswered_count; i++)
        CHECK (signs->unanswered[i].port >= 1 && signs->unanswered[i].port <= 65535);
    CHECK (strlen (signs->status) <= SIGNS_MAX_STATUS && (!signs->status[0] || fuzz_is_line (signs->status)));
}

FUZZ_TARGET (signs)
{
    struct frame *frame = fuzz_frame (data, size), *again;
    struct signs signs, signs2;
    struct errtext err;

    if (fuzz_succeeded (signs_decode (&signs, frame, &err), &err)) {
        CHECK (signs_are_in (frame));
        _check (&signs);
        CHECK (again = fuzz_resend (signs_encode (&signs), FRAME_MAX_EXIT_REPORT));
        CHECK (fuzz_succeeded (signs_decode (&signs2, again, &err), &err));
        CHECK (signs2.source == signs.source && signs2.life == signs.life && signs2.overdue == signs.overdue
               && signs2.stopped == signs.stopped && signs2.busy == signs.busy
               && signs2.messages == signs.messages && signs2.log_grew == signs.log_grew
               && signs2.silent_ms == signs.silent_ms && signs2.ago_ms == signs.ago_ms
               && strcmp (signs2.status, signs.status) == 0
               && signs2.unanswered_count == signs.unanswered_count);
        frame_destroy (again);
    }
    frame_destroy (frame);
}
