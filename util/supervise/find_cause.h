/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Why a program failed, in the last words of its log, if they say it for certain: the exception that
 * ended a Python program, what ended a C++ program, or what ld.so says. Without a pattern of the table in
 * find_cause.c nothing is known. What a program has caught, and printed on its way, is not looked at.
 */
#ifndef TF_FIND_CAUSE_H
#define TF_FIND_CAUSE_H

#include "find_exception.h"
#include "protocol/cause.h"
#include "protocol/exit_report.h"

/*
 * Of a program that has ended so. The exception is that which has ended it; without one it has no text.
 * That of C++ has no traceback.
 */
struct cause find_cause (const struct exit_report *report, struct text log, struct exception *exception);

#endif
