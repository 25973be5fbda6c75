/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The end of a log as a terminal would show it, line by line: what the last step, or life, has written in the
 * last 16 KiB, without colours. All that looks for something in a log reads it here.
 */
#ifndef TF_LOG_TAIL_H
#define TF_LOG_TAIL_H

#include <stdbool.h>
#include <stddef.h>

/* What is read of the end of a log. */
#define LOG_TAIL_WINDOW 16384

/* A part of it. */
struct text {
    const char *at, *end;
};

struct log_tail {
    char bytes[LOG_TAIL_WINDOW];
    struct text text;           /* of these; '\r', by which a progress bar ends its lines, is '\n', too */
};

/* The last bytes of a log, LOG_TAIL_WINDOW at most. */
void log_tail_read (struct log_tail *tail, const char *bytes, size_t length);

/* Where in these bytes is what is there in the text? */
size_t log_tail_offset (const struct log_tail *tail, const char *at, const char *bytes, size_t length);

/*
 * Take the next line of the program, without its end, and without what names a process in front of it:
 * "[rank0]: " of PyTorch, "[default0]:" of torchrun. False at the end.
 */
bool text_take_line (struct text *text, struct text *line);

size_t text_length (struct text text);

/* Where in the text the word is, or NULL. */
const char *text_find (struct text text, const char *word);

bool text_begins (struct text text, const char *word);

bool text_is (struct text text, const char *word);

#endif
