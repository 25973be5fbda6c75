/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What srun's plugin sends to tf-rendezvous: the step, the options in force, the site's settings.
 */
#ifndef TF_RENDEZVOUS_CONFIG_H
#define TF_RENDEZVOUS_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "common/errtext.h"
#include "common/option_table.h"
#include "common/preflight.h"
#include "frame.h"
#include "restart_rule.h"
#include "rule_fields.h"

/* Task lists: one for the whole step, or one for each heterogeneous component. */
#define RENDEZVOUS_CONFIG_MAX_LISTS 128

/*
 * Options whose value is one of the words in their row: X (field, its type, NAME of OPTION_NAME). As a
 * flag that is missing is false, a word is 0.
 */
#define RENDEZVOUS_CONFIG_WORDS(X) \
    X (ib, enum ib, IB) \
    X (stop, enum stop_when, STOP)

#define RENDEZVOUS_CONFIG_FIELD(field, type, name) type field;

#define RENDEZVOUS_CONFIG_MAX_ARRAY 21      /* characters: two 32-bit numbers and a line between */

struct rendezvous_config_list {
    const char *text;           /* tasklist.h */
    bool per_node;              /* --tf-tasks-per-node; else --tf-tasks */
};

/* Strings belong to the caller; those of a decoded configuration live as long as its frame. */
struct rendezvous_config {
    RENDEZVOUS_CONFIG_WORDS (RENDEZVOUS_CONFIG_FIELD)
    const char *token, *server_token;       /* contact.h */
    const char *step;                       /* "12.0"; NULL: it is that of the first registration */
    const char *array;                      /* of a job of an array: "59_1", or NULL */
    /* For events, each of them NULL if it is not known; the job's, as srun's environment has them. */
    const char *user, *job_name, *partition, *cluster, *srun_host;
    const char *het_group;                  /* srun's --het-group, or NULL */
    size_t lists;                           /* 1..RENDEZVOUS_CONFIG_MAX_LISTS */
    struct rendezvous_config_list list[RENDEZVOUS_CONFIG_MAX_LISTS];
    bool inherited;                         /* the list came with the job */
    int timeout;                            /* --tf-timeout, seconds */
    const char *networks;                   /* --tf-network (netlist.h), or NULL for any */
    bool networks_required; /* the user named them, not only the site */
    bool show;                              /* --tf-show */
    bool ask_alone; /* at the end, whether each task has trained alone */
    bool json;                              /* ... as JSON, in the place of tables */
    const char *notify;                     /* the site's program that gets events, or NULL */
    const char *user_notify; /* the user's, an absolute path, or NULL */
    bool log_append;                        /* --tf-log-dir: append to files that exist */
    bool log_append_later;                  /* the same, in all but the first step of the job */
    int job_restarts; /* how often Slurm has begun the job again */
    bool tee;                               /* --tf-tee */
    int stop_grace;                         /* seconds from SIGTERM to SIGKILL */
    int eval_grace;                         /* seconds for an evaluator to finish */
    int fail_grace;                         /* seconds for the others after a failure without a ps */
    struct restart_rule restart;            /* --tf-restart */
    struct watch_rule watch;                /* --tf-watchdog */
    int requeue;                            /* --tf-requeue, seconds; 0: no */
    bool requeue_wished;                    /* the user has said so, not only the site */
    const char *slurm_path, *slurm_conf;    /* of scontrol: its directory, and SLURM_CONF; or NULL */
    int lost_after;                         /* with spare tasks: seconds (silence.h); 0: there are none */
    struct task_options task;   /* for every task and its tf-supervise */
    struct preflight_rule preflight; /* what task.preflight says (common/preflight.h); no key of its own */
    int wait; /* srun kills all tasks so many seconds after the first one has ended; 0: it does not */
    bool hide_gpus;                         /* from every ps */
    unsigned int frameworks;                /* --tf-frameworks, bits of enum framework */
    bool nccl;                              /* NCCL follows the network that is chosen */
    bool debugged;                          /* srun runs under a parallel debugger */
};

/* Its keys (fields.h). */
extern const struct fields rendezvous_config_fields;

/* A program gets the events. */
static inline bool rendezvous_config_notifies (const struct rendezvous_config *config)
{
    return config->notify || config->user_notify;
}

#endif
