/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The events of a step: the objects of doc/event.schema.json (show_json.h), for the site's program
 * (notify.h). --tf-show=json prints the same ones; those in the middle of the step are printed here, those of
 * the start and the end where the tables are.
 */
#ifndef TF_EVENTS_H
#define TF_EVENTS_H

#include <stdbool.h>

#include "step.h"

/* False: an object need not be made. */
bool events_are_wanted (const struct step *step);

/* Of an event in the middle of the step. The text is freed; NULL is fine. */
void events_publish (const struct step *step, char *text);

/* Of the first and the last one. */
void events_notify (const struct step *step, char *text, bool last);

#endif
