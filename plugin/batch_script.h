/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Does a batch script, or the text of --wrap, start a Python program without a launcher? Then the program
 * runs once, on the first node of the job, and without the variables of a task.
 */
#ifndef TF_BATCH_SCRIPT_H
#define TF_BATCH_SCRIPT_H

#include <stdbool.h>

/*
 * True if a command of the script begins with python or torchrun and names a .py file, and no launcher's
 * name stands anywhere in the script, comments included. `python -m` is never counted: such a module may be
 * a launcher.
 */
bool batch_script_runs_once (const char *text);

#endif
