/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The input is the strings of an order, one a line.
 */
#include "config.h"

#include "fuzz.h"

#include "protocol/order.h"

#define SERVER_TOKEN "fedcba9876543210fedcba9876543210"

FUZZ_TARGET (order)
{
    struct frame *frame = fuzz_frame (data, size), *again;
    enum order order, order2;
    struct errtext err;

    if (fuzz_succeeded (order_decode (&order, frame, SERVER_TOKEN, &err), &err)) {
        CHECK (order <= ORDER_ABORT);
        again = fuzz_resend (order == ORDER_RESTART ? order_encode_restart (order_life (frame), SERVER_TOKEN)
                             : order == ORDER_EXIT ? order_encode_exit (order_exit_code (frame), SERVER_TOKEN)
                                                   : order_encode (order, SERVER_TOKEN),
                             FRAME_MAX_ORDER);
        CHECK (again);
        CHECK (fuzz_succeeded (order_decode (&order2, again, SERVER_TOKEN, &err), &err));
        CHECK (order == order2);
        CHECK (order != ORDER_EXIT || order_exit_code (again) == order_exit_code (frame));
        CHECK (order != ORDER_RESTART || order_life (again) == order_life (frame));
        frame_destroy (again);
    }
    frame_destroy (frame);
}
