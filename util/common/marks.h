/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Marks of variables: "RANK:5a1d2c3b,WORLD_SIZE:9f8e7d6c". Each has a name and a number that is computed from
 * the value, so that a value can be recognized without being kept, however long or secret it is.
 */
#ifndef TF_MARKS_H
#define TF_MARKS_H

#include <stddef.h>

/* In a task, those of the variables that spank-tf has set (plugin/additions.h). */
#define MARKS_VARIABLE "SLURM_TF_ADDED"

/* Room for the marks of all variables of variables.h and beside.h in a task, and some more. */
#define MARKS_MAX 4096

/* Append a mark to the string in `marks`, which has `size` bytes. -1 if there is no room. */
int marks_add (char *marks, size_t size, const char *name, const char *value);

/* For a name of `length` bytes, and a value. A name may have several marks. */
enum marks_found {
    MARKS_NOT_FOUND,        /* no mark has this name */
    MARKS_SAME,             /* one has this name, and the number of this value */
    MARKS_OTHER,            /* those with this name have other numbers */
};
enum marks_found marks_find (const char *marks, const char *name, size_t length, const char *value);

#endif
