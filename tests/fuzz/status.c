/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The input is the strings of the first message of a supervisor's connection, one a line; the step has four
 * tasks.
 */
#include "config.h"

#include "fuzz.h"

#include <string.h>

#include "protocol/hello.h"
#include "protocol/status.h"

#define TASKS 4

static const char *_text (const char *text)
{
    return text ? text : "";
}

static void _check_again (const struct status *status, const struct hello *hello, int rank)
{
    struct frame *again =
        fuzz_resend (status_encode_first (status, _text (hello->token), _text (hello->node), rank),
                     FRAME_MAX_REGISTRATION);
    struct status other;
    struct hello head;
    struct errtext err;

    if (!again)
        return;
    hello_decode (&head, again);
    CHECK (head.reconnects && head.version == FRAME_VERSION);
    CHECK (strcmp (head.token, _text (hello->token)) == 0 && strcmp (head.node, _text (hello->node)) == 0);
    CHECK (status_rank (again, TASKS) == rank);
    CHECK (fuzz_succeeded (status_decode (&other, again, &err), &err));
    CHECK (other.ended == status->ended && other.signs.source == status->signs.source);
    CHECK (other.report.kind == status->report.kind && other.report.number == status->report.number
           && other.report.out_of_memory == status->report.out_of_memory);
    CHECK (!status->ended || strcmp (other.failure.text, status->failure.text) == 0);
    CHECK (!status->ended || (other.life.life < 0) == (status->life.life < 0));
    CHECK (other.signs.life == status->signs.life);
    frame_destroy (again);
}

FUZZ_TARGET (status)
{
    struct frame *frame = fuzz_frame (data, size);
    int rank = status_rank (frame, TASKS);
    struct status status;
    struct hello hello;
    struct errtext err;

    hello_decode (&hello, frame);
    CHECK (rank >= -1 && rank < TASKS);
    if (fuzz_succeeded (status_decode (&status, frame, &err), &err) && rank >= 0)
        _check_again (&status, &hello, rank);
    frame_destroy (frame);
}
