/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "events.h"

#include <stdlib.h>

#include "console.h"
#include "notify.h"

/* The text is freed; NULL is fine. */
static void _notify (struct step *step, char *text, bool last)
{
    if (text)
        notify_event (step_config (step)->notify, text, last);
    free (text);
}

void events_start (struct step *step)
{
    if (step_config (step)->notify)
        _notify (step, step_table (step, true), false);
}

void events_restart (struct step *step, const struct show_json_restart *restart)
{
    const struct rendezvous_config *config = step_config (step);
    char *text;

    if (!config->json && !config->notify)
        return;
    text = show_json_restart (step_roster (step), restart, config->restart.times);
    if (text && config->json && config->show)
        console_print (text);
    if (config->notify)
        _notify (step, text, false);
    else
        free (text);
}

void events_end (struct step *step, int left)
{
    const struct rendezvous_config *config = step_config (step);

    if (config->notify)
        _notify (step, show_json_end (step_roster (step), config->restart.times, left), true);
}
