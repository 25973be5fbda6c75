/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a program that failed has written about that: the message of its error file, otherwise the last
 * line of its log file; of one that hung, where, by the stacks in its log (find_stack.h).
 *
 * A child process opens the files, because a file system may take any time for that, and an exit report
 * must not wait for it. After two seconds the child is killed, and nothing is known.
 */
#ifndef TF_LAST_LINE_H
#define TF_LAST_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "protocol/exit_report.h"
#include "protocol/failure_text.h"

/*
 * Of a program that has ended so, with the cause of that. Each path may be NULL. A file that is not a regular
 * file of this user or root, or that has nothing to say, counts as missing.
 */
struct failure_text last_line_read (const struct exit_report *report, const char *log,
                                    const char *error_file);

/*
 * The last line in the last bytes of a file that is not blank, and that is of the last step which wrote
 * there.
 */
void last_line_find (struct failure_text *text, const char *bytes, size_t length);

/* Where the program hung, by the last bytes of its log. */
void last_line_stack (struct failure_text *text, const char *bytes, size_t length);

/*
 * The first line of the exception with whose traceback the last bytes of a log end, and where in them that
 * is:
 * a program that goes on prints something else behind it, sooner or later.
 */
size_t last_line_traceback (struct failure_text *text, const char *bytes, size_t length);

/* Why the program failed, by the last bytes of its log, if what the last step wrote says so for certain. */
struct cause last_line_cause (const struct exit_report *report, const char *bytes, size_t length);

/*
 * The message in the first bytes of an error file, as PyTorch writes it: {"message": "TEXT"...} or
 * {"message": {"message": "TEXT"...}...}. False for anything else, and for a text of blanks.
 */
bool last_line_find_message (struct failure_text *text, const char *bytes, size_t length);

#endif
