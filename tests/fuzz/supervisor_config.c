/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The input is the environment of a tf-supervise, one variable a line.
 */
#include "config.h"

#include "fuzz.h"

#include <stdint.h>

#include "protocol/registration.h"
#include "protocol/supervisor_config.h"

#define MAX_VARIABLES 64

/* The strings of the frame as an environment. They live as long as the frame. */
static void _environment (char *env[MAX_VARIABLES + 1], const struct frame *frame)
{
    int count = 0;

    for (const char *s = frame_next (frame, NULL); s && count < MAX_VARIABLES; s = frame_next (frame, s))
        env[count++] = (char *)(uintptr_t)s;
    env[count] = NULL;
}

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
    char *env[MAX_VARIABLES + 1];
    struct supervisor_config config, config2;
    struct errtext err;

    _environment (env, frame);
    if (fuzz_succeeded (supervisor_config_decode (&config, env, &err), &err)) {
        _check_limits (&config);
        CHECK (again = supervisor_config_encode (&config));
        _environment (env, again);
        CHECK (fuzz_succeeded (supervisor_config_decode (&config2, env, &err), &err));
        CHECK (fuzz_same (supervisor_config_encode (&config), supervisor_config_encode (&config2)));
        frame_destroy (again);
    }
    frame_destroy (frame);
}
