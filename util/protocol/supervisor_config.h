/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a task's process passes to its tf-supervise: descriptors, one of which has its configuration. The
 * environment is empty.
 */
#ifndef TF_SUPERVISOR_CONFIG_H
#define TF_SUPERVISOR_CONFIG_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/address.h"
#include "restart_rule.h"
#include "rule_fields.h"

/* The numbers of the descriptors, besides 0, 1 and 2. */
enum supervisor_fd {
    SUPERVISOR_RENDEZVOUS_FD = 3,   /* the connection on which the task registered */
    SUPERVISOR_LIVES_FD,            /* a socket to the task's fork server; protocol/fork_request.h */
    SUPERVISOR_LOG_FD,              /* the task's log file, with --tf-log-dir */
    /* With --tf-tee: */
    SUPERVISOR_STDOUT_FD,           /* a pipe, which is the stdout of its programs */
    SUPERVISOR_STDERR_FD,
    /* With --tf-watchdog, unless the user has a NOTIFY_SOCKET: */
    SUPERVISOR_NOTIFY_FD,           /* the socket to which the programs send heartbeats */
    SUPERVISOR_CONFIG_FD,           /* a file with the configuration (frame_load ()) */
    SUPERVISOR_LAST_FD = SUPERVISOR_CONFIG_FD,
};

/* Strings belong to the caller; those of a decoded configuration live as long as its frame. */
struct supervisor_config {
    pid_t fork_server;              /* of its task, a child of its own */
    pid_t slurmstepd;               /* its parent */
    int rank;
    const char *node;
    const char *step;
    struct address address;         /* of the rendezvous */
    int port;
    const char *token, *server_token;
    int stop_grace;                 /* seconds from SIGTERM to SIGKILL */
    int kill_wait;                  /* Slurm's KillWait in seconds; -1 when it is not known */
    bool forward_signals;           /* Slurm's signals reach the supervisor and not its task */
    bool serves;                    /* the task only serves others: withhold Slurm's SIGTERM */
    struct restart_rule restart;    /* the task may be restarted; if so: */
    int lost_after;                 /* a spare can take its place: seconds (silence.h); 0: there is none */
    struct task_options options;
    const char *path, *slurm_conf;  /* with options.batch_host: PATH and SLURM_CONF of the task, or NULL */
    int node_index;                 /* its node's, in the step */
    bool spare; /* it is one: no life begins before it is ordered */
    int task_port, master_port; /* on which a program of the task may listen, as others know; 0: none */
    bool has_peers; /* the step has other tasks */
    bool prints;                    /* the one supervisor of the step that prints messages */
    const char *log, *error_file;   /* the paths of the task's files, or NULL */
    struct watch_rule watch;        /* --tf-watchdog: the task is watched */
    bool tee; /* --tf-tee, into `log` */
    const char *role;               /* if so: of the task; otherwise NULL */
    int index;
};

/* Its keys (fields.h). */
extern const struct fields supervisor_config_fields;

#endif
