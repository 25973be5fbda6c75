/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The input is the strings of an acknowledgement, one a line.
 */
#include "config.h"

#include "fuzz.h"

#include "protocol/answer.h"

FUZZ_TARGET (acknowledgement)
{
    struct frame *frame = fuzz_frame (data, size), *again;

    if (acknowledgement_is_in (frame)) {
        CHECK (again = fuzz_resend (acknowledgement_encode (), FRAME_MAX_EXIT_REPORT));
        CHECK (acknowledgement_is_in (again));
        frame_destroy (again);
    }
    frame_destroy (frame);
}
