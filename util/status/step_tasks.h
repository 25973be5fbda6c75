/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The tasks of a job step on this node, by what /proc shows to their user: for each the process to ask where
 * its Python is.
 */
#ifndef TF_STEP_TASKS_H
#define TF_STEP_TASKS_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/tasklist.h"

enum step_task_kind {
    STEP_TASK_OTHER, /* it is not Python, as far as is known */
    STEP_TASK_PYTHON, /* its program is */
    STEP_TASK_ANSWERS, /* it prints its stack when it gets a signal (contrib/python/spank_tf_watchdog.py) */
};

struct step_task {
    char role[TASKLIST_MAX_ROLE + 1];
    int index;
    enum step_task_kind kind;
    pid_t pid; /* of several such processes the oldest */
    unsigned long long start; /* of it, in the kernel's ticks */
    char program[64];
    /* Of STEP_TASK_ANSWERS: */
    int fd, signal; /* the number of its descriptor there, and what it waits for */
    /* After python_ask (): */
    bool known;
    char text[512]; /* "train.py:20 on_epoch_end"; or why it is not known, and what would be needed */
};

/* Of "12" and "0". Returns how many there are in *list, to be freed; -1 and errno. */
int step_tasks_find (struct step_task **list, const char *job, const char *step);

#endif
