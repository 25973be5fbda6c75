/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The exception that ended a Python program, in the end of its log: that of the last traceback. What is not
 * of the program itself gives way to another one: what Python prints while it ends ("Exception ignored
 * in:"), an exception of a thread, and that of a launcher, which says that its child has failed (torchrun,
 * accelerate).
 */
#ifndef TF_FIND_EXCEPTION_H
#define TF_FIND_EXCEPTION_H

#include <stdbool.h>

#include "log_tail.h"

struct exception {
    struct text text;           /* "tensorflow.errors.AbortedError: one\n  two": all of its message */
    const char *traceback;      /* where that begins */
    bool followed;              /* something else was printed behind it: the program may have caught it */
    bool lost;                  /* it, or one that has led to it, says that a connection was lost */
};

/* False if there is none. */
bool find_exception (struct text log, struct exception *exception);

/* The class in it, without its modules: "AbortedError". */
struct text exception_class (struct text exception);

/* True if this line says that another process has closed a connection, or is not there. */
bool exception_says_lost (struct text line);

#endif
