/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The rendezvous' messages on srun's stderr, which begin with "srun: ", and master.log. Each has a
 * child process that writes (writer.h), so nothing here waits for them but console_flush (), for two
 * seconds each. stderr's is started when there is something to print.
 */
#ifndef TF_CONSOLE_H
#define TF_CONSOLE_H

#include <stdbool.h>

#include "common/deadline.h"
#include "common/errtext.h"

/*
 * Print one or more whole lines. In all that is printed or noted here, and everywhere below, what could do
 * harm on a terminal is replaced (printable.h). So that no node, program or file name makes a line of its
 * own, such text comes by console_say (), or in a table or in JSON.
 */
void console_print (const char *text);

/*
 * Write everything to master.log in this directory too, from now on, which is made and opened as
 * logdir.h says. If that takes more than five seconds, go on: what is written then arrives later, or
 * never. 1 if another step that runs writes there, too; else 0; -1 and err.
 */
int console_open_log (const char *dir, bool append, struct errtext *err);

/* Write to that log only, if there is one: each line has the time in front. */
void console_note (const char *text);

/*
 * A table, or a line of JSON, which is freed: print it if --tf-show asks for that (`show`), else
 * only note it. NULL is fine.
 */
void console_table (char *text, bool show);

/* Print "srun: " and one line, whatever the texts in it have. */
void console_say (const char *fmt, ...) __attribute__ ((format (printf, 1, 2)));

/* What is printed or noted from now on has been so before: leave it out. */
void console_mute (bool mute);
bool console_is_muted (void);

/*
 * Keep what is printed from now on for so long, or until console_release (); console_drop () forgets it
 * instead, because something else says it better. Neither does anything if nothing is kept.
 */
void console_hold (int ms);
void console_release (void);
void console_drop (void);

/*
 * Wait until everything is written; to be called before something that may let srun end. If that takes
 * too long, go on, and do not wait again before it is written. If it is the log that is late, one line
 * on stderr says so.
 */
void console_flush (void);

/*
 * The same without waiting: true if everything is written, but for what was late before. After a while the
 * caller gives up, and what is not written then is late.
 */
bool console_is_written (void);
void console_give_up (void);

/* Nothing of it is kept in this process. */
bool console_has_passed_on (void);

/* Go on with what is not written yet. Call it when console_next () has passed. */
void console_check_time (void);
struct deadline console_next (void);

/* Flush, and end the children when they have written everything. What is kept is not printed. */
void console_end (void);

#endif
