/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The input is the strings of srun's configuration, one a line.
 */
#include "config.h"

#include "fuzz.h"

#include <string.h>

#include "protocol/contact.h"
#include "protocol/rendezvous_config.h"
#include "rendezvous/step.h"

static void _check_limits (const struct rendezvous_config *config)
{
    CHECK (strlen (config->token) == CONTACT_TOKEN - 1);
    CHECK (strlen (config->server_token) == CONTACT_TOKEN - 1);
    CHECK (config->lists >= 1 && config->lists <= RENDEZVOUS_CONFIG_MAX_LISTS);
    CHECK (config->timeout >= 1 && config->timeout <= FRAME_MAX_SECONDS);
    CHECK (config->stop_grace >= 0 && config->stop_grace <= FRAME_MAX_SECONDS);
    CHECK (config->restart.times >= 0 && config->restart.times <= 1000);
    CHECK (config->restart.times ? config->restart.longest_pause >= 1 : !config->restart.any);
    CHECK (config->eval_grace >= 0 && config->eval_grace <= FRAME_MAX_SECONDS);
    CHECK (config->fail_grace >= 0 && config->fail_grace <= FRAME_MAX_SECONDS);
}

FUZZ_TARGET (rendezvous_config)
{
    struct frame *frame = fuzz_frame (data, size), *again;
    struct rendezvous_config config, config2;
    struct step *step;
    struct errtext err;

    if (fuzz_succeeded (rendezvous_config_decode (&config, frame, &err), &err)) {
        _check_limits (&config);
        CHECK (again = fuzz_resend (rendezvous_config_encode (&config), FRAME_MAX_CONFIGURATION));
        CHECK (fuzz_succeeded (rendezvous_config_decode (&config2, again, &err), &err));
        CHECK (fuzz_same (rendezvous_config_encode (&config), rendezvous_config_encode (&config2)));
        frame_destroy (again);
        if (fuzz_succeeded (step_create (&step, &config, &err), &err))
            step_destroy (step);
    }
    frame_destroy (frame);
}
