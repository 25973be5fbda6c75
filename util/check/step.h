/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tf-check --step, in the tasks of a step. The first task of each node looks at its node. If the
 * step has a list of TensorFlow tasks, every task knows the addresses of all tasks from TF_CONFIG:
 * the task at the first address collects the reports of all nodes. Without a list, each node reports for
 * itself.
 */
#ifndef TF_STEP_H
#define TF_STEP_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/address.h"
#include "common/errtext.h"
#include "report.h"

/* How long a node waits for the task that collects, and that task for the reports. */
#define STEP_TIMEOUT_MS 10000

struct step {
    const char *node;               /* the name of this node */
    const char *node_list;          /* "n[1-4]" */
    int nodes;
    bool is_first_of_node;
    bool has_cluster;               /* there is a TF_CONFIG, and what follows is set */
    bool collects;
    int port;                       /* on which this task listens if it collects */
    struct address collector;
    int collector_port;
};

/* Read the environment of this task. -1 and err if this is not a task of a step. */
int step_read (struct step *step, struct errtext *err);

/*
 * Send the report, and wait until the task that collects has ended or has printed its verdict. -1 and err if
 * it is not there.
 */
int step_send (const struct step *step, const json_t *report, struct errtext *err);

/*
 * In the task that collects: wait until each node has reported, at most STEP_TIMEOUT_MS, and add
 * the reports to `report`, which has room for one more than step->nodes and already has `count`. A
 * sender waits as long as this process lives. Returns the number of reports; -1 and err if this
 * task cannot listen on its port.
 */
int step_collect (const struct step *step, struct report report[], int count, struct errtext *err);

#endif
