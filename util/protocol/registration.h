/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a task sends to the rendezvous about itself and, from the first task of each node, about
 * the node.
 */
#ifndef TF_REGISTRATION_H
#define TF_REGISTRATION_H

#include <stdbool.h>

#include "addresses/host.h"
#include "addresses/interface.h"
#include "common/address.h"
#include "common/errtext.h"
#include "frame.h"

#define REGISTRATION_MAX_TASKS 1048576  /* of a step; one that is too large is refused by name */
#define REGISTRATION_MAX_GPUS 1024      /* of a task: more than the text of their numbers has room for */
#define REGISTRATION_MAX_STEP 31        /* characters: two 32-bit numbers and a dot */
#define REGISTRATION_MAX_NODE 255       /* characters of a node's name */

/* Strings belong to the caller; those of a decoded registration live as long as its frame. */
struct registration {
    int rank;                       /* SLURM_PROCID: in the whole step */
    int tasks;                      /* of the whole step */
    int component_first;            /* the first rank of the task's heterogeneous component, */
    int component_tasks;            /* and its number of tasks; else 0 and `tasks` */
    int component;                  /* the component's number, if these two are not known; else 0 */
    int node_index;                 /* SLURM_NODEID */
    const char *node;               /* SLURMD_NODENAME */
    const char *step;               /* "12.0", with the job ID of the first component */
    struct host host;
    struct address address;         /* this end of the connection to the rendezvous */
    int port;                       /* reserved for the task's server; 0 if there is an error */
    int master_port;                /* a second one, if it is asked for and the node has one, or 0 */
    int gpus;                       /* if it asks for that: how many this task alone has, or 0 */
    const char *error;              /* why this task cannot run, or NULL */
    const char *supervisor_error;   /* why this node cannot supervise a task, or NULL */
    const char *log_dir;            /* where --tf-log-dir leads, or NULL */
    bool log_dir_private;           /* only this job sees it, and it is removed with the job */
    bool proxied;                   /* the task's environment has a proxy */
    const char *users;              /* marks (common/marks.h) of variables that may be replaced, or NULL */
    /* From the first task of each node, so that messages can name tasks that do not come. */
    const char *step_nodes;         /* SLURM_STEP_NODELIST, or NULL */
    const char *step_node_tasks;    /* SLURM_STEP_TASKS_PER_NODE, or NULL */
    /* From the first task of each node. */
    const char *own_name;           /* where the node's own name leads (own_name.h), or NULL */
    /* From the first task of each node if the contact asks for interfaces. */
    struct interface interface[INTERFACE_MAX];
    int interfaces;
    const char *locality_error;     /* why the CPUs close to them are not known, or NULL */
    /* From every task if the contact asks for rails. */
    const char *cpus;               /* on which the task may run (cpus.h), or NULL */
};

/* NULL if there is no memory. */
struct frame *registration_encode (const struct registration *registration, const char *token);

/* -1 and err if a key is missing or its value out of bounds. */
int registration_decode (struct registration *registration, const struct frame *frame, struct errtext *err);

/* Its keys (fields.h). */
extern const struct fields registration_fields;

#endif
