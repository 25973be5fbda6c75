/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "order.h"

#include <string.h>

#include "hello.h"
#include "life_report.h"

static const char *const name[] = {
    [ORDER_STOP] = "stop", [ORDER_EXIT] = "exit",   [ORDER_WAIT] = "wait", [ORDER_RESTART] = "restart",
    [ORDER_TELL] = "tell", [ORDER_ABORT] = "abort", [ORDER_RUN] = "run",
};

struct frame *order_encode (enum order order, const char *server_token)
{
    struct frame *frame = frame_create ();

    if (frame) {
        server_token_add (frame, server_token);
        frame_add (frame, "ORDER", "%s", name[order]);
    }
    return frame;
}

struct frame *order_encode_restart (int life, const char *server_token)
{
    struct frame *frame = frame_create ();

    if (frame) {
        server_token_add (frame, server_token);
        order_add_restart (frame, life);
    }
    return frame;
}

void order_add_restart (struct frame *frame, int life)
{
    frame_add (frame, "ORDER", "%s", name[ORDER_RESTART]);
    frame_add (frame, "LIFE", "%d", life);
}

struct frame *order_encode_stop_at_once (const char *server_token)
{
    struct frame *frame = order_encode (ORDER_STOP, server_token);

    if (frame)
        frame_add_flag (frame, "AT_ONCE", true);
    return frame;
}

bool order_is_at_once (const struct frame *frame)
{
    return frame_has (frame, "AT_ONCE");
}

struct frame *order_encode_exit (int most, const char *server_token)
{
    struct frame *frame = order_encode (ORDER_EXIT, server_token);

    if (frame && most > 0)
        frame_add (frame, "EXIT_CODE", "%d", most);
    return frame;
}

int order_exit_code (const struct frame *frame)
{
    int most = frame_get_number (frame, "EXIT_CODE", 1, 255);

    return most > 0 ? most : 0;
}

int order_life (const struct frame *frame)
{
    return frame_get_number (frame, "LIFE", 1, LIFE_REPORT_MAX);
}

int order_decode (enum order *order, const struct frame *frame, const char *server_token, struct errtext *err)
{
    const char *text = frame_get (frame, "ORDER");

    if (server_token_check (frame, server_token, err) < 0)
        return -1;
    for (size_t i = 0; text && i < sizeof (name) / sizeof (name[0]); i++)
        if (strcmp (text, name[i]) == 0 && (i != ORDER_RESTART || order_life (frame) > 0)) {
            *order = (enum order)i;
            return 0;
        }
    return errtext_set (err, "an order that is not known");
}
