/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The end of a task's process before its program starts.
 */
#ifndef TF_TASK_ABORT_H
#define TF_TASK_ABORT_H

#include <stdbool.h>

/*
 * Exit with 1. Of several tasks that fail for the same reason one prints it: `print` says
 * whether this is the one.
 */
void __attribute__ ((noreturn, format (printf, 2, 3))) task_abort (bool print, const char *fmt, ...);

/*
 * The same for a task that has its answer: first send an exit report on this connection, because
 * the rendezvous may be waiting for the task's end.
 */
void __attribute__ ((noreturn)) task_abort_report (int fd, const char *node, const char *why);

#endif
