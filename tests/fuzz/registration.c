/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The input is the strings of a registration, one a line.
 */
#include "config.h"

#include "fuzz.h"

#include <string.h>

#include "protocol/registration.h"

#define TOKEN "0123456789abcdef0123456789abcdef"

static void _check_limits (const struct registration *r)
{
    CHECK (r->tasks >= 1 && r->tasks <= REGISTRATION_MAX_TASKS);
    CHECK (r->component_first >= 0 && r->component_tasks >= 1
           && r->component_first + r->component_tasks <= r->tasks);
    CHECK (r->rank >= r->component_first && r->rank < r->component_first + r->component_tasks);
    CHECK (r->node_index >= 0 && r->node_index < r->tasks);
    CHECK (r->error || (r->port >= 1 && r->port <= 65535));
    CHECK (strlen (r->step) <= REGISTRATION_MAX_STEP);
    CHECK (strlen (r->node) <= REGISTRATION_MAX_NODE);
    CHECK (r->interfaces >= 0 && r->interfaces <= INTERFACE_MAX);
    CHECK (r->master_port >= 0 && r->master_port <= 65535);
    CHECK (r->gpus >= 0 && r->gpus <= REGISTRATION_MAX_GPUS);
    CHECK (r->address.family);
}

FUZZ_TARGET (registration)
{
    struct frame *frame = fuzz_frame (data, size), *again;
    struct registration r, r2;
    struct errtext err;

    if (fuzz_succeeded (registration_decode (&r, frame, &err), &err)) {
        _check_limits (&r);
        if ((again = fuzz_resend (registration_encode (&r, TOKEN), FRAME_MAX_REGISTRATION))) {
            CHECK (fuzz_succeeded (registration_decode (&r2, again, &err), &err));
            CHECK (fuzz_same (registration_encode (&r, TOKEN), registration_encode (&r2, TOKEN)));
            frame_destroy (again);
        }
    }
    frame_destroy (frame);
}
