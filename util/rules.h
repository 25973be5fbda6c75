/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What TensorFlow accepts as a cluster. The rules are those of its newest validation
 * (ParameterServerStrategyV2, multi_worker_util) and of its Estimator for "master".
 */
#ifndef TF_RULES_H
#define TF_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include "errtext.h"
#include "tasklist.h"

/* Its roles in the order in which a dictionary lists them. */
enum rules_name {
    RULES_CHIEF,
    RULES_MASTER,
    RULES_PS,
    RULES_WORKER,
    RULES_EVALUATOR,
    RULES_ROLES
};

/* Their names; NULL ends it. */
extern const char *const rules_roles[RULES_ROLES + 1];

/*
 * Every role of the list is TensorFlow's or one of `extra`, a site's own ("a,b", or
 * NULL); -1 and err, which names the item and the nearest right name.
 */
int rules_check_names (const struct tasklist *list, const char *extra, struct errtext *err);

/* How often each of them appears, and where. Zero it, count, check. */
struct rules_role {
    int tasks;
    size_t item[2];     /* the first and the second item that name it, from 1; 0: not known */
};

struct rules_count {
    struct rules_role role[RULES_ROLES];
};

/* `item` is where the list names it, from 1; 0 where that would not help. */
void rules_count (struct rules_count *count, const char *role, int tasks, size_t item);

/* "rest" counts as one: the least that it can become. */
void rules_count_list (struct rules_count *count, const struct tasklist *list);

/*
 * At most one chief, master or evaluator, and not both of the first two. With `whole`, when
 * nothing can be added any more, also: a ps needs a worker. -1 and err with the rule.
 */
int rules_check (const struct rules_count *count, bool whole, struct errtext *err);

#endif
