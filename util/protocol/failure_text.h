/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A part of the status of a task that failed, or that hung: what it has written about that, as one line
 * of printable ASCII that any terminal can show.
 */
#ifndef TF_FAILURE_TEXT_H
#define TF_FAILURE_TEXT_H

#include <stddef.h>

#include "cause.h"

#define FAILURE_TEXT_MAX 200    /* bytes */

enum failure_text_source {
    FAILURE_TEXT_NONE,
    FAILURE_TEXT_LOG,           /* the last line of its log file */
    FAILURE_TEXT_ERROR_FILE,    /* the message of its error file */
    FAILURE_TEXT_STACK,         /* where it hung (supervise/last_line.h): "train.py:20 on_epoch_end" */
};

struct failure_text {
    enum failure_text_source source;
    char text[FAILURE_TEXT_MAX + 1];    /* "" if there is no source */
    struct cause cause;         /* why, if that is certain; not without a source */
};

/*
 * Take a line, without the blanks around it. What is not printable ASCII becomes '?', a control character a
 * blank; a longer line is cut and ends in "...". A line of blanks has no source. The cause stays as it is.
 */
void failure_text_set (struct failure_text *text, enum failure_text_source source, const char *line,
                       size_t length);

/* It as a part of a status (fields.h): nothing if it has no source. */
extern const struct fields failure_text_fields;

#endif
