/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "events.h"

#include <stdlib.h>

#include "console.h"
#include "notify.h"

bool events_are_wanted (const struct step *step)
{
    return step_config (step)->json || step_config (step)->notify;
}

void events_publish (const struct step *step, char *text)
{
    const struct rendezvous_config *config = step_config (step);

    if (text && config->json && config->show)
        console_print (text);
    events_notify (step, text, false);
}

void events_notify (const struct step *step, char *text, bool last)
{
    if (text && step_config (step)->notify && !console_is_muted ())
        notify_event (step_config (step)->notify, text, last);
    free (text);
}
