/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "status.h"

#include "fields.h"
#include "hello.h"

static void _add_parts (struct frame *frame, const struct status *status)
{
    if (status->ended) {
        exit_report_add (frame, &status->report);
        life_report_add (frame, &status->life);
        failure_text_add (frame, &status->failure);
    } else
        life_report_add_asked (frame, &status->life);
    fields_encode (&signs_fields, frame, &status->signs);
}

struct frame *status_encode (const struct status *status)
{
    struct frame *frame = frame_create ();

    if (frame)
        _add_parts (frame, status);
    return frame;
}

struct frame *status_encode_first (const struct status *status, const char *token, const char *node, int rank)
{
    const struct hello hello = { .token = token, .node = node, .reconnects = true };
    struct frame *frame = frame_create ();

    if (!frame)
        return NULL;
    hello_encode (frame, &hello);
    frame_add (frame, "RANK", "%d", rank);
    _add_parts (frame, status);
    return frame;
}

int status_rank (const struct frame *frame, int tasks)
{
    return frame_get_number (frame, "RANK", 0, tasks - 1);
}

/* A task that fails before it has a supervisor reports that alone. */
int status_decode (struct status *status, const struct frame *frame, struct errtext *err)
{
    *status = (struct status){ .ended = exit_report_is_in (frame) };
    if (status->ended && exit_report_decode (&status->report, frame, err) < 0)
        return -1;
    life_report_decode (&status->life, frame);
    failure_text_decode (&status->failure, frame);
    return status->ended && !signs_are_in (frame) ? 0
                                                  : fields_decode (&signs_fields, &status->signs, frame, err);
}
