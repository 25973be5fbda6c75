/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a program that failed has written about that: the message of its error file, otherwise the exception
 * that ended it, in its log file, or the last line there; of one that hung, where, by the stacks in its log:
 * the innermost frame of the main thread that is of a file which is neither Python's nor an installed
 * package's, "train.py:20 on_epoch_end", or, where that calls others, "train.py:33 main, in quick_execute".
 *
 * A child process opens the files, because a file system may take any time for that, and an exit report
 * must not wait for it. After two seconds the child is killed, and nothing is known.
 */
#ifndef TF_LAST_LINE_H
#define TF_LAST_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "protocol/exit_report.h"
#include "protocol/failure_text.h"

struct last_words {
    struct failure_text text;       /* with the cause */
    /*
     * The first line of that with whose traceback the log ends, or no source. Its only cause: a connection.
     */
    struct failure_text exception;
    off_t traceback; /* where in the log that begins */
};

/*
 * Of a program that has ended so. Each path may be NULL. A file counts as missing if it has nothing to say,
 * or is not a regular file: of this user or root, or that of SUPERVISOR_LOG_FD.
 */
struct last_words last_line_read (const struct exit_report *report, const char *log, const char *error_file);

/* The same by the last bytes of a log, where what the last step wrote counts. */
struct last_words last_line_words (const struct exit_report *report, const char *bytes, size_t length);

/* The exception of a program that runs: one that goes on prints something else behind it, sooner or later. */
struct last_words last_line_running (const char *bytes, size_t length);

/*
 * The message in the first bytes of an error file, as PyTorch writes it: {"message": "TEXT"...} or
 * {"message": {"message": "TEXT"...}...}. False for anything else, and for a text of blanks.
 */
bool last_line_find_message (struct failure_text *text, const char *bytes, size_t length);

#endif
