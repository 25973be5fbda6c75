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

/* In the middle of the step. The text is freed; NULL is fine. */
static void _publish (struct step *step, char *text)
{
    const struct rendezvous_config *config = step_config (step);

    if (text && config->json && config->show)
        console_print (text);
    if (config->notify)
        _notify (step, text, false);
    else
        free (text);
}

static bool _is_wanted (const struct step *step)
{
    return step_config (step)->json || step_config (step)->notify;
}

void events_restart (struct step *step, const struct show_json_restart *restart)
{
    if (_is_wanted (step))
        _publish (step, show_json_restart (step_roster (step), restart, step_config (step)->restart.times));
}

void events_lost (struct step *step, const struct rank *const rank[], int count, int left)
{
    int restarts = step_config (step)->restart.times;

    if (_is_wanted (step) && count > 0)
        _publish (step, show_json_lost (step_roster (step), rank, count, restarts, left));
}

void events_hang (struct step *step, const struct show_json_hang *hang)
{
    if (_is_wanted (step))
        _publish (step, show_json_hang (step_roster (step), hang, step_config (step)->restart.times));
}

void events_end (struct step *step, int left)
{
    const struct rendezvous_config *config = step_config (step);

    if (config->notify)
        _notify (step, show_json_end (step_roster (step), config->restart.times, left), true);
}
