/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The events of a step: the objects of doc/event.schema.json (show_json.h), for the site's program
 * (notify.h). --tf-show=json prints the same ones; those in the middle of the step are printed here, those of
 * the start and the end where the tables are.
 */
#ifndef TF_EVENTS_H
#define TF_EVENTS_H

#include "show_json.h"
#include "step.h"

/* The launch is complete. */
void events_start (struct step *step);

/* Failures lead to a restart. */
void events_restart (struct step *step, const struct show_json_restart *restart);

/* Tasks count as lost. `left`: restarts. */
void events_lost (struct step *step, const struct rank *const rank[], int count, int left);

/* Tasks hang. */
void events_hang (struct step *step, const struct show_json_hang *hang);

/* All tasks have ended. `left`: restarts. */
void events_end (struct step *step, int left);

#endif
