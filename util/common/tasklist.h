/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A list of TensorFlow tasks in rank order, as a user writes it in --tf-tasks:
 *
 *     LIST = ITEM[,ITEM...]      ITEM = ROLE | ROLE:COUNT | ROLE:rest
 *
 * ROLE is a role of the cluster, or +NAME, an auxiliary task (beside.h). "rest", which a list has at
 * most once, stands for the tasks that the other items do not name. This is the grammar only;
 * rules.h knows which roles are valid.
 */
#ifndef TF_TASKLIST_H
#define TF_TASKLIST_H

#include <stdbool.h>
#include <stddef.h>

#include "errtext.h"

/* In bytes. A list is passed in one environment variable, for which Linux allows 128 KiB. */
#define TASKLIST_MAX_TEXT 32768
/* How many tasks a list can name. A TF_CONFIG has room for about a tenth of them. */
#define TASKLIST_MAX_TASKS 65535
#define TASKLIST_MAX_ROLE 63

struct tasklist_item {
    char role[TASKLIST_MAX_ROLE + 1];
    int count;          /* 1..TASKLIST_MAX_TASKS; 0 for "rest" */
};

struct tasklist {
    int named;          /* the sum of all counts, without "rest" */
    bool rest;          /* an item has it */
    size_t length;
    struct tasklist_item item[];
};

/* 0 and *lp, to be released with tasklist_destroy (); -1 and err, which names the item. */
int tasklist_parse (struct tasklist **lp, const char *text, struct errtext *err);

/* NULL is fine; errno is kept. */
void tasklist_destroy (struct tasklist *list);

/*
 * Assign a role to each of `ntasks` tasks; role[i] points into the list. If the list names another
 * number of tasks, -1 and err with both numbers. err calls what runs the tasks `subject`, as in
 * "step 12.0", and `option` is the option that gave the list.
 */
int tasklist_assign (const struct tasklist *list, const char **role, int ntasks, const char *subject,
                     const char *option, struct errtext *err);

/* Print the list with equal neighbours added up: "ps, worker:9" (list_text.h). Returns buf. */
const char *tasklist_describe (const struct tasklist *list, char *buf, size_t size);

/* Two lists as a user writes them: for a step of `ntasks` tasks, and for any number of them. */
struct tasklist_fit {
    char now[160], always[160];
};

/*
 * What a list becomes if the last items of this role have as many tasks as fit. False if they cannot make it
 * fit, or if the list is too long.
 */
bool tasklist_fit (const struct tasklist *list, const char *role, int ntasks, struct tasklist_fit *fit);

#endif
