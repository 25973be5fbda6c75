/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The rendezvous' messages on srun's stderr, which begin with "srun: ".
 */
#ifndef TF_CONSOLE_H
#define TF_CONSOLE_H

#include <stdbool.h>

#include "master_log.h"

/*
 * Print one or more whole lines. A line is one write, so that it does not mix with lines of other
 * processes, unless it is longer than a pipe takes at once (4 KiB). On a terminal that srun --pty has
 * made raw, each line ends in "\r\n". If the reader of stderr does not read for two seconds, the
 * rest is dropped.
 */
void console_print (const char *text);

/*
 * Write everything to this log too, from now on; it belongs to the console. NULL ends that. If the
 * log is not written in time, one line on stderr says so.
 */
void console_keep (struct master_log *log);

/* Write to that log only, if there is one. */
void console_note (const char *text);

/*
 * A table, or a line of JSON, which is freed: print it if --tf-show asks for that (`show`), else
 * only note it. NULL is fine.
 */
void console_table (char *text, bool show);

/* Print "srun: " and one line. */
void console_say (const char *fmt, ...) __attribute__ ((format (printf, 1, 2)));

#endif
