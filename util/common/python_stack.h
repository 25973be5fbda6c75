/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Where a Python program is, in the stacks of its threads as faulthandler prints them: the innermost frame of
 * the main thread that is of a file which is neither Python's nor an installed package's.
 */
#ifndef TF_PYTHON_STACK_H
#define TF_PYTHON_STACK_H

#include <stdbool.h>
#include <stddef.h>

/*
 * "train.py:20 on_epoch_end" or, if that calls others, "train.py:33 main, in quick_execute". False if the
 * main thread's stack is not there, or not complete, or has no such frame.
 */
bool python_stack_find (char *buf, size_t size, const char *bytes, size_t length);

#endif
