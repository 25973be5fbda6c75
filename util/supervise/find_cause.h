/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Why a program failed, in the last words of its log, if they say it for certain: the exception that
 * ended a Python program, what ended a C++ program, or what ld.so says. Without a pattern of the table in
 * find_cause.c nothing is known; what only looks like one, and is not the end of the log, is not looked at.
 */
#ifndef TF_FIND_CAUSE_H
#define TF_FIND_CAUSE_H

#include <stddef.h>

#include "protocol/cause.h"
#include "protocol/exit_report.h"

/* What is read of the end of a log. */
#define FIND_CAUSE_WINDOW 16384

/*
 * Of the exception with whose traceback these bytes of a log end: where its class is. Their length:
 * it is none.
 */
size_t find_exception (const char *bytes, size_t length);

/* The last bytes of a log, of one step and one life. */
struct cause find_cause (const struct exit_report *report, const char *bytes, size_t length);

#endif
