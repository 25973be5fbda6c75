/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Asks tasks of this node where their Python is, without ending them. A program that has imported
 * spank_tf_watchdog.py writes its stacks to a file in memory at a signal, by faulthandler; otherwise py-spy
 * reads them from its memory, without stopping it.
 */
#ifndef TF_PYTHON_ASK_H
#define TF_PYTHON_ASK_H

#include <stdbool.h>

#include "step_tasks.h"

struct python_answer {
    bool known;
    char text[512]; /* "train.py:20 on_epoch_end"; or why it is not known, and what would be needed */
};

/* One for each task. */
void python_ask (const struct step_task *task, int count, struct python_answer *answer);

/* The same of py-spy's JSON. */
void python_read_spy (struct python_answer *answer, const char *json, size_t length);

#endif
