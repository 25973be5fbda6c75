/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "events.h"

#include <stdlib.h>

#include "console.h"
#include "notify.h"
#include "show_json.h"

void events_tell (struct step *step, const struct fact *fact)
{
    const struct rendezvous_config *config = step_config (step);
    char *text = NULL;

    if (config->json || rendezvous_config_notifies (config))
        text = show_json_fact (step_roster (step), fact, config);
    /* That of each minute is for the program alone. */
    if (text && config->json && config->show && fact->kind != FACT_HEARTBEAT)
        console_print (text);
    events_notify (step, text, false);
}

void events_notify (struct step *step, char *text, bool last)
{
    if (text && rendezvous_config_notifies (step_config (step)) && !console_is_muted ())
        notify_event (step_roster (step)->step.number, text, last);
    free (text);
}
