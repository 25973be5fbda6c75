/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The rendezvous' answer to a registration: the environment of the task's program and what
 * happens around it, or a refusal; and the acknowledgement of the answer.
 */
#ifndef TF_ANSWER_H
#define TF_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

#include "common/errtext.h"
#include "frame.h"
#include "goal.h"
#include "restart_rule.h"
#include "rule_fields.h"

/* Strings belong to the caller; those of a decoded answer live as long as its frame. */
struct answer {
    bool refused;               /* srun has printed why; nothing else counts then */
    const char *role;           /* SLURM_TF_ROLE */
    int index;                  /* SLURM_TF_INDEX */
    const char *address;        /* SLURM_TF_ADDRESS */
    int port;                   /* SLURM_TF_PORT */
    bool hide_gpus;             /* to be encoded: the program sees no GPU */
    bool nccl;                  /* NCCL and Gloo are to use the interface of the address */
    bool gloo;                  /* Gloo is */
    bool log_append;            /* --tf-log-dir: append to log files that exist */
    bool supervised;            /* the task gets a tf-supervise */
    int stop_grace;             /* if so: seconds from SIGTERM to SIGKILL */
    bool tee;                   /* and: --tf-tee with --tf-log-dir */
    bool serves;                /* and: Slurm's SIGTERM is withheld until the others have ended */
    struct restart_rule restart;    /* and: the task may be restarted */
    struct watch_rule watch;    /* and: its activity is watched */
    int lost_after;             /* and: a spare can take its place, as in supervisor_config.h; or 0 */
    struct task_options options;  /* for it and its supervisor */
    bool spare;                 /* and: it is a spare, whose program does not start */
    const struct goal *goal;    /* to be encoded: of a life that begins with this answer; or NULL */
    const char *proxy_exempt;   /* addresses for no_proxy, "10.0.0.1,10.0.0.2", or NULL */
    bool no_tf_config;          /* to be encoded: the program gets no TF_CONFIG */
    bool jax_devices;           /* JAX uses the GPUs that Slurm gave to the task; */
    int local_process;          /* its number among the processes of its node */
    bool keep_master_port;      /* the task is process 0 of PyTorch: its second port is MASTER_PORT */
    /*
     * For the processes of Keras, JAX and PyTorch (rendezvous/processes.h), to be encoded. A decoded
     * answer has the variables that are made of them, as it has TF_CONFIG.
     */
    bool keras;                 /* KERAS_DISTRIBUTION_... */
    bool jax;                   /* JAX_COORDINATOR_ADDRESS */
    bool torch;                 /* MASTER_ADDR and what else torchrun sets */
    const char *coordinator;    /* of process 0: "10.0.0.1:40000" */
    int process, processes;     /* its number, and how many there are */
    const char *master_address; /* of process 0, without its port and without brackets */
    int master_port;            /* the second port of process 0 */
    int local_processes;        /* how many processes the node has */
    int group;                  /* the number of the node among those with processes */
    bool numbered;              /* to be encoded: SLURM_PROCID, SLURM_LOCALID and SLURM_NODEID are */
    int number;                 /* ... this, local_process and group */
    /*
     * TF_CONFIG, to be encoded: TF_CONFIG_HEAD, the cluster, the tail. The cluster can be long
     * and is the same for all tasks of a role, so it is sent from where it is. A decoded answer
     * has TF_CONFIG among its variables instead.
     */
    const char *cluster;
    size_t cluster_length;
    const char *tail;
    /*
     * Variables with the addresses of the auxiliary tasks, to be encoded: strings, each with
     * its NUL. They are sent from where they are, too.
     */
    const char *beside;
    size_t beside_length;
    /* Other numbers that a process gets (rendezvous/slurm_numbers.h), to be encoded likewise. */
    const char *numbers;
    size_t numbers_length;
};

#define ANSWER_PARTS 6

/*
 * An answer on its way: send part[0] to part[ANSWER_PARTS - 1], then clear it. frame_join () makes of them
 * the frame that arrives.
 */
struct answer_message {
    struct frame *head;
    char tail[128];
    struct iovec part[ANSWER_PARTS];
};

/*
 * -1 if there is no memory, or if the tail is too long. The cluster, `beside` and the numbers must
 * live as long as the message.
 */
int answer_encode (struct answer_message *message, const struct answer *answer, const char *server_token);

void answer_message_clear (struct answer_message *message);

/* A goal that has this key has an answer in it (goal.h). */
#define ANSWER_KEY "SLURM_TF_ROLE"

/* -1 and err if the server token is wrong, or if the answer is incomplete. */
int answer_decode (struct answer *answer, const struct frame *frame, const char *server_token,
                   struct errtext *err);

/*
 * The variables to set, as "NAME=VALUE"; NULL begins, and the last one returns NULL. Only names
 * that a rendezvous may set are returned: by variables.h, or of an auxiliary task.
 */
const char *answer_next_variable (const struct frame *frame, const char *variable);

/*
 * A task that is not supervised has its answer. Without this message the rendezvous could not tell
 * a task that has started its program from one that ended before it could read the answer. NULL if there is
 * no memory.
 */
#define ACKNOWLEDGEMENT_KEY "ACKNOWLEDGED"
struct frame *acknowledgement_encode (void);

/* Its keys (fields.h). */
extern const struct fields answer_fields;

#endif
