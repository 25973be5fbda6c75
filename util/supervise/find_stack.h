/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Where a Python program hung, in the stacks that it has printed at SIGABRT (faulthandler): the innermost
 * frame of the main thread that is of a file which is neither Python's nor an installed package's. Nothing is
 * known where two processes have printed their stacks, or the main thread's is not complete.
 */
#ifndef TF_FIND_STACK_H
#define TF_FIND_STACK_H

#include <stddef.h>

#include "protocol/failure_text.h"

/*
 * In the last bytes of a log, of one step and one life: "train.py:20 on_epoch_end", or, where that calls
 * others, "train.py:33 main, in quick_execute". Without it the text has no source.
 */
void find_stack (struct failure_text *text, const char *bytes, size_t length);

#endif
