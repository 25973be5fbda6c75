/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The variables of a task in which spank-tf has a part: who sets each of them, and what becomes of a
 * value that the user, or an outer step, has given it. Not here are those of options, those that exempt
 * hosts from a proxy (proxy.h), and those that are named after auxiliary tasks (beside.h).
 */
#ifndef TF_VARIABLES_H
#define TF_VARIABLES_H

struct variable {
    const char *name;
    enum {
        VARIABLE_BY_RENDEZVOUS,     /* in its answer */
        VARIABLE_BY_TASK,           /* by the plugin in the task */
        VARIABLE_BY_SRUN,           /* for the plugin in the task; the program does not get it */
        VARIABLE_BY_EXEC,           /* by tf-exec */
    } set;
    enum {
        VARIABLE_REPLACED,          /* if another one is set */
        VARIABLE_REMOVED,           /* first of all: it is true of one task only */
        VARIABLE_KEPT,              /* another one is set only if there is none */
    } former;
};

/* One without a name ends it. */
extern const struct variable variable_table[];

/* The row of "NAME" or "NAME=VALUE"; NULL if there is none. */
const struct variable *variable_find (const char *text);

/* A variable's value in an environment, or NULL. `env` may be NULL. */
const char *variable_get (char *const env[], const char *name);

#endif
