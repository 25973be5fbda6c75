/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The input is the strings of a supervisor's first frame, one a line; the step has four tasks.
 */
#include "config.h"

#include "fuzz.h"

#include <string.h>

#include "protocol/hello.h"
#include "protocol/reconnect.h"

#define TASKS 4

FUZZ_TARGET (reconnect)
{
    struct frame *frame = fuzz_frame (data, size), *again;
    struct reconnect reconnect, reconnect2;
    struct hello hello;
    struct errtext err;

    hello_decode (&hello, frame);
    if (fuzz_succeeded (reconnect_decode (&reconnect, frame, TASKS, &err), &err)) {
        CHECK (reconnect.rank >= 0 && reconnect.rank < TASKS);
        reconnect.token = hello.token ? hello.token : "";
        reconnect.node = hello.node ? hello.node : "";
        if ((again = fuzz_resend (reconnect_encode (&reconnect), FRAME_MAX_REGISTRATION))) {
            hello_decode (&hello, again);
            CHECK (hello.reconnects && hello.version == FRAME_VERSION);
            CHECK (strcmp (hello.token, reconnect.token) == 0);
            CHECK (strcmp (hello.node, reconnect.node) == 0);
            CHECK (fuzz_succeeded (reconnect_decode (&reconnect2, again, TASKS, &err), &err));
            CHECK (reconnect2.rank == reconnect.rank && reconnect2.ended == reconnect.ended);
            CHECK (reconnect2.report.kind == reconnect.report.kind
                   && reconnect2.report.number == reconnect.report.number
                   && reconnect2.report.out_of_memory == reconnect.report.out_of_memory);
            CHECK (strcmp (reconnect2.failure.text, reconnect.ended ? reconnect.failure.text : "") == 0);
            CHECK (reconnect2.life.life == (reconnect.ended ? reconnect.life.life : -1));
            frame_destroy (again);
        }
    }
    frame_destroy (frame);
}
