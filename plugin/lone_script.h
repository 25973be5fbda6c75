/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A batch script that calls Python itself: the program runs once, on the first node of the job, and without
 * the variables of its tasks.
 */
#ifndef TF_LONE_SCRIPT_H
#define TF_LONE_SCRIPT_H

#include <stdbool.h>

/*
 * True if the script, or the text of --wrap, is certain to start nothing on other nodes: it calls Python, and
 * each of its other commands is one of a few that start no program. A name of a launcher anywhere in it, also
 * in a comment, a variable as a command, a function, a loop, a here-document, another script: false.
 */
bool lone_script (const char *text);

#endif
