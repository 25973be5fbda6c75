/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "reconnect.h"

#include "hello.h"

struct frame *reconnect_encode (const struct reconnect *reconnect)
{
    const struct hello hello = { .token = reconnect->token, .node = reconnect->node, .reconnects = true };
    struct frame *frame = frame_create ();

    if (!frame)
        return NULL;
    hello_encode (frame, &hello);
    frame_add (frame, "RANK", "%d", reconnect->rank);
    frame_add_flag (frame, "SUSPENDED", reconnect->suspended);
    if (reconnect->ended) {
        exit_report_add (frame, &reconnect->report);
        life_report_add (frame, &reconnect->life);
        failure_text_add (frame, &reconnect->failure);
    }
    return frame;
}

int reconnect_decode (struct reconnect *reconnect, const struct frame *frame, int tasks, struct errtext *err)
{
    *reconnect = (struct reconnect){ .rank = frame_get_number (frame, "RANK", 0, tasks - 1) };
    if (reconnect->rank < 0)
        return errtext_set (err, "a supervisor without its rank");
    reconnect->suspended = frame_has (frame, "SUSPENDED");
    life_report_decode (&reconnect->life, frame);
    failure_text_decode (&reconnect->failure, frame);
    reconnect->ended = exit_report_is_in (frame);
    return reconnect->ended ? exit_report_decode (&reconnect->report, frame, err) : 0;
}
