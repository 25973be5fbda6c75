/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What is known of a step and of its ranks at a moment, for tf-status (protocol/overview.h). It only looks.
 */
#ifndef TF_STEP_OVERVIEW_H
#define TF_STEP_OVERVIEW_H

#include "ledger_text.h"
#include "pace.h"
#include "protocol/overview.h"
#include "roster.h"

struct job;

/* What texts of an overview point to. */
struct step_overview_room {
    char report[LEDGER_TEXT_SIZE];
    struct exit_report_text end;
};

/* All of it; the job is NULL before the launch is complete, which began at that moment. */
struct step_view {
    const struct rendezvous_config *config;
    const struct roster *roster;
    const struct job *job;
    const struct pace *pace;
    int64_t begun, now;
    bool refused; /* the launch has failed */
};

/* Texts live as long as the step and the room. */
struct overview step_overview (const struct step_view *view, struct step_overview_room *room);
struct overview_rank step_overview_rank (const struct step_view *view, const struct rank *rank,
                                         struct step_overview_room *room);

#endif
