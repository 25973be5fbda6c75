/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The lines of one stream of a task, each with the task's name before it (--tf-tee). A line is held back
 * until it is complete, so that lines of several tasks do not mix.
 *
 * A '\r' ends a line, too, because a progress bar has no other end; it becomes '\n'. If nothing precedes it
 * in its line, or if it belongs to a "\r\n", it is left out.
 *
 * Of a line that is longer than TEE_LINES_HELD, what has come is passed on, and the rest as it comes: it
 * stays one line with one name.
 */
#ifndef TF_TEE_LINES_H
#define TF_TEE_LINES_H

#include <stdbool.h>
#include <stddef.h>

#define TEE_LINES_HELD 65536
#define TEE_LINES_OUT 65536

typedef void (*tee_lines_write) (void *arg, const char *bytes, size_t length);

struct tee_lines {
    const char *name;           /* "worker 1: " */
    tee_lines_write write;      /* gets what is to be passed on */
    void *arg;
    bool open;                  /* the beginning of a long line has been passed on */
    bool after_cr;              /* a '\r' has ended the last line: a '\n' belongs to it */
    size_t held;                /* the beginning of a line */
    size_t out;
    char hold[TEE_LINES_HELD];
    char buffer[TEE_LINES_OUT];
};

/* `name` must live as long. */
void tee_lines_init (struct tee_lines *lines, const char *name, tee_lines_write write, void *arg);

/* Add what the task has written. Complete lines have been passed on when this returns. */
void tee_lines_add (struct tee_lines *lines, const char *bytes, size_t length);

/* The end: a line without '\n' gets one. More may be added, and begins a line. */
void tee_lines_end (struct tee_lines *lines);

#endif
