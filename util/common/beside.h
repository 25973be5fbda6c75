/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Auxiliary tasks. In a list, "+data" is a task of the step that no other task finds in
 * TF_CONFIG. Its role is its name with the sign, so that it cannot be another role; what a user
 * gets is the name alone.
 *
 * Every task of the step has SLURM_TF_DATA, the addresses of all "+data", and SLURM_TF_BESIDE, all
 * names: "dispatcher,data".
 */
#ifndef TF_BESIDE_H
#define TF_BESIDE_H

#include <stdbool.h>
#include <stddef.h>

#include "errtext.h"

#define BESIDE_SIGN '+'
#define BESIDE_PREFIX "SLURM_TF_"
#define BESIDE_VARIABLE "SLURM_TF_BESIDE"
#define BESIDE_MAX_NAME 31
/* Different names in one step. */
#define BESIDE_MAX_NAMES 32

/* True if a task of this role is auxiliary; every other one is in the cluster. */
bool beside_is (const char *role);

/* "data" for "+data"; another role is its own name. */
const char *beside_name (const char *role);

/* 1 to BESIDE_MAX_NAME of these: ASCII in every locale. */
#define BESIDE_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
bool beside_is_name (const char *name, size_t length);

struct beside_variable {
    char name[sizeof (BESIDE_PREFIX) + BESIDE_MAX_NAME];
};

/* "SLURM_TF_DATA" for a valid name. Returns room->name. */
const char *beside_variable (const char *name, struct beside_variable *room);

/*
 * -1 and err if something else has this name already: a variable (variables.h), or an option of tf-exec.
 */
int beside_check (const char *name, struct errtext *err);

/* The names of a step or a list, each once, in the order of their first tasks. Zero it. */
struct beside_names {
    size_t count;
    const char *name[BESIDE_MAX_NAMES];
};

/*
 * Add a valid name, which is not copied, if it is new. Returns its index; -1 and err if there are
 * too many, or if another one makes the same variable.
 */
int beside_add (struct beside_names *names, const char *name, struct errtext *err);

#endif
