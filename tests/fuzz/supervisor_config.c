/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The input is the strings of a supervisor's configuration, one a line.
 */
#include "config.h"

#include "fuzz.h"

#include "protocol/registration.h"
#include "protocol/supervisor_config.h"

static void _check_limits (const struct supervisor_config *config)
{
    CHECK (config->fork_server >= 1);
    CHECK (config->slurmstepd >= 1);
    CHECK (config->rank >= 0 && config->rank < REGISTRATION_MAX_TASKS);
    CHECK (config->port >= 1 && config->port <= 65535);
    CHECK (config->address.family);
    CHECK (config->stop_grace >= 0 && config->stop_grace <= FRAME_MAX_SECONDS);
    CHECK (config->kill_wait >= -1 && config->kill_wait <= 65535);
    CHECK (config->restart.times >= 0 && config->restart.times <= 1000);
    CHECK (config->restart.times ? config->restart.longest_pause >= 1 : !config->restart.any);
    CHECK (config->tee >= 0 && config->tee <= 7 && (!config->tee || (config->role && config->index >= 0)));
}

FUZZ_TARGET (supervisor_config)
{
    struct frame *frame = fuzz_frame (data, size), *again;
    struct supervisor_config config, config2;
    struct errtext err;

    if (fuzz_succeeded (supervisor_config_decode (&config, frame, &err), &err)) {
        _check_limits (&config);
        CHECK (again = fuzz_resend (supervisor_config_encode (&config), FRAME_MAX_ANSWER));
        CHECK (fuzz_succeeded (supervisor_config_decode (&config2, again, &err), &err));
        CHECK (fuzz_same (supervisor_config_encode (&config), supervisor_config_encode (&config2)));
        frame_destroy (again);
    }
    frame_destroy (frame);
}
