/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What TensorFlow accepts as a cluster. The rules are those of ParameterServerStrategyV2 and
 * multi_worker_util, and those of Estimator for "master", and for a chief with a ps and no worker.
 */
#ifndef TF_RULES_H
#define TF_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include "choice.h"
#include "errtext.h"
#include "tasklist.h"

/* TensorFlow's roles, in their order in the cluster dictionary. */
enum rules_name {
    RULES_CHIEF,
    RULES_MASTER,
    RULES_PS,
    RULES_WORKER,
    RULES_EVALUATOR,
    RULES_ROLES,
    RULES_SPARE,        /* none of them: a task that waits until it takes the place of a lost one */
};

/* Their names. */
extern const struct choice rules_roles[];

/* Which of them this is; RULES_SPARE; or RULES_ROLES for a site's own role and for an auxiliary one. */
enum rules_name rules_find (const char *role);

/*
 * Check that every role of the list is TensorFlow's, "spare", or one of the site's own, `extra` ("a,b", or
 * NULL), and that no name of an auxiliary task (beside.h) is a role or has another meaning. If not, -1
 * and err, which names the item and a similar role.
 */
int rules_check_names (const struct tasklist *list, const char *extra, struct errtext *err);

/* How often each role appears, and where. Zero it, count, check. */
struct rules_role {
    int tasks;
    size_t item[2];     /* the first two items with the role, from 1; 0: not known */
};

struct rules_count {
    struct rules_role role[RULES_ROLES];
    int spares, others; /* tasks that are spares, and that are not */
    bool open;          /* a list has "rest", so that there may be more tasks of it */
    bool cluster;       /* a task is in the cluster, of whatever role */
};

/* Count some tasks of a role. `item` is the item of the list, from 1; 0: leave it out of err. */
void rules_count (struct rules_count *count, const char *role, int tasks, size_t item);

/* Count all items of a list. "rest" counts as one task, the least that it can be. */
void rules_count_list (struct rules_count *count, const struct tasklist *list);

/*
 * A cluster has at most one chief, one master and one evaluator, and not both a chief and a
 * master. If what was counted is the `whole` step, it has a cluster, a ps needs a worker, a chief or a
 * master, and there are not more spares than tasks that they can replace. -1 and err.
 */
int rules_check (const struct rules_count *count, bool whole, struct errtext *err);

/* tasklist_assign (); err also has a list that fits, with another number of workers, if there is one. */
int rules_assign (const struct tasklist *list, const char **role, int ntasks, const char *subject,
                  const char *option, struct errtext *err);

#endif
