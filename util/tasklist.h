/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A list of TensorFlow tasks in rank order, as a user writes it:
 *
 *     LIST = ITEM[,ITEM...]      ITEM = ROLE | ROLE:COUNT | ROLE:rest
 *
 * "rest" stands once at most and takes what the other items leave. What a list may name
 * is rules.h's business; this is the grammar alone.
 */
#ifndef TF_TASKLIST_H
#define TF_TASKLIST_H

#include <stdbool.h>
#include <stddef.h>

#include "errtext.h"

/* A list is one string of an environment, and a quarter of what Linux allows for one. */
#define TASKLIST_MAX_TEXT 32768
/* Tasks that a list can name; a TF_CONFIG holds a tenth of them (dictionary.h). */
#define TASKLIST_MAX_TASKS 65535
#define TASKLIST_MAX_ROLE 63

struct tasklist;

struct tasklist_item {
    char role[TASKLIST_MAX_ROLE + 1];
    int count;          /* 1..TASKLIST_MAX_TASKS; 0 for "rest" */
};

/*
 * 0 and *lp, to be released with tasklist_destroy (); -1 and err, which names the item.
 */
int tasklist_parse (struct tasklist **lp, const char *text, struct errtext *err);

void tasklist_destroy (struct tasklist *list);

size_t tasklist_length (const struct tasklist *list);
const struct tasklist_item *tasklist_item (const struct tasklist *list, size_t i);

/* The tasks it names, without "rest". */
int tasklist_named (const struct tasklist *list);
bool tasklist_has_rest (const struct tasklist *list);

/*
 * Give each of `ntasks` tasks its role: role[i] points into the list. -1 and err, both
 * numbers in it, when the list does not fit; `who` runs the tasks, as in "step 12.0", and
 * `option` is where the list was given.
 */
int tasklist_assign (const struct tasklist *list, const char **role, int ntasks,
                     const char *who, const char *option, struct errtext *err);

/* "ps, worker:9": the list in short, cut where `size` ends. Returns buf. */
const char *tasklist_describe (const struct tasklist *list, char *buf, size_t size);

#endif
