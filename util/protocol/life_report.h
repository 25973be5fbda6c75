/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A part of a supervisor's exit report, if tasks may be restarted: which life of its task has ended,
 * and whether there can be another one.
 */
#ifndef TF_LIFE_REPORT_H
#define TF_LIFE_REPORT_H

#include <stdbool.h>

#include "common/value.h"
#include "frame.h"

/* The number of the last life that a task can have. */
#define LIFE_REPORT_MAX VALUE_MAX_RESTARTS

struct life_report {
    int life;                   /* 0: the first one; -1: the task cannot be started again */
    const char *cannot;         /* why not, or NULL; belongs to the caller, or lives in the frame */
    bool asked_to_end;          /* Slurm or the user has asked the task to end */
};

void life_report_add (struct frame *frame, const struct life_report *report);

/* A frame without it, of a supervisor that does not restart tasks, has life -1. */
void life_report_decode (struct life_report *report, const struct frame *frame);

#endif
