/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The first frame of a supervisor's new connection, after the one on which its task registered
 * broke: which rank it supervises and, if the task has ended meanwhile, how.
 */
#ifndef TF_RECONNECT_H
#define TF_RECONNECT_H

#include <stdbool.h>

#include "common/errtext.h"
#include "exit_report.h"
#include "failure_text.h"
#include "frame.h"
#include "life_report.h"

struct reconnect {
    const char *token;
    const char *node;
    int rank;
    bool suspended;                 /* as signs->suspended */
    bool ended;
    struct exit_report report;      /* if it has ended */
    struct life_report life;        /* the same */
    struct failure_text failure;    /* the same */
};

/* NULL if there is no memory. */
struct frame *reconnect_encode (const struct reconnect *reconnect);

/*
 * -1 and err if RANK is not 0..tasks-1, or if there is a malformed report. token and node are
 * hello_decode ()'s business and stay NULL.
 */
int reconnect_decode (struct reconnect *reconnect, const struct frame *frame, int tasks, struct errtext *err);

#endif
