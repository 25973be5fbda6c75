/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Asks tasks of this node where their Python is, without ending them. A program that has imported
 * spank_tf_watchdog.py writes its stacks to a file in memory at a signal, by faulthandler; otherwise py-spy
 * reads them from its memory, without stopping it.
 */
#ifndef TF_PYTHON_ASK_H
#define TF_PYTHON_ASK_H

#include <stddef.h>

#include "step_tasks.h"

/* Each of these tasks. */
void python_ask (struct step_task *task, int count);

/* Read what py-spy prints. */
void python_read_spy (struct step_task *task, const char *json, size_t length);

#endif
