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

#include "job/facts.h"
#include "step.h"

/* In the middle of the step, if programs are told of that. */
void events_tell (struct step *step, const struct fact *fact);

/* Of the first and the last one. The text is freed; NULL is fine. */
void events_notify (struct step *step, char *text, bool last);

#endif
