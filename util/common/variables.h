/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The variables of a task in which spank-tf has a part: who sets each of them, and what becomes of a value
 * that the user has given it. Not here are those of options, those that exempt hosts from a proxy (proxy.h),
 * and those that are named after auxiliary tasks (beside.h).
 */
#ifndef TF_VARIABLES_H
#define TF_VARIABLES_H

#include <stdbool.h>

/* The value that a variable of a task had before spank-tf gave it another one: this, and its name. */
#define VARIABLE_FORMER "SPANK_TF_FORMER_"

struct variable {
    const char *name;
    enum {
        VARIABLE_BY_RENDEZVOUS,     /* in its answer */
        VARIABLE_BY_TASK,           /* by the plugin in the task */
        VARIABLE_BY_SRUN,           /* for the plugin in the task; the program does not get it */
    } set;
    enum {
        VARIABLE_OWN,               /* spank-tf's, or Slurm's: it is always set */
        VARIABLE_SLURM,             /* Slurm's: a task that lacks it does not get it */
        VARIABLE_NUMBER,            /* numbers a process: one value for several tasks cannot be right */
        VARIABLE_CLUSTER,           /* describes the cluster, which is the step's */
        VARIABLE_PREFERENCE,        /* the user's value stays */
    } kind;
};

/* One without a name ends it; there are at most VARIABLES_MAX. */
#define VARIABLES_MAX 64
extern const struct variable variable_table[];

/* The row of "NAME" or "NAME=VALUE"; NULL if there is none. */
const struct variable *variable_find (const char *text);

/* True if the step's value takes the place of the user's, in a step with so many tasks. */
bool variable_replaces (const struct variable *variable, int tasks);

/* The same, if the user has to know it. */
bool variable_is_noticed (const struct variable *variable, int tasks);

/* A variable's value in an environment, or NULL. `env` may be NULL. */
const char *variable_get (char *const env[], const char *name);

/* The value as a decimal number, 0 or greater; -1 if it is missing or not one. */
int variable_number (char *const env[], const char *name);

/* How many tasks the node of this task has, of its component; 0 if Slurm does not tell. */
int variable_node_tasks (char *const env[]);

/* In a task: the value that Slurm gave this variable, or NULL. */
const char *variable_of_slurm (const char *name);

#endif
