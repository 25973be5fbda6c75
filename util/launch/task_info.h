/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a task knows of itself from Slurm and from its node, ready to be registered, and the port
 * that it reserves for its server.
 */
#ifndef TF_TASK_INFO_H
#define TF_TASK_INFO_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "addresses/cpus.h"
#include "common/address.h"
#include "common/errtext.h"
#include "common/logdir.h"
#include "common/marks.h"
#include "common/port.h"
#include "protocol/contact.h"
#include "protocol/registration.h"

/* What Slurm has told the program of which this is a part, and not the task. */
struct task_of_slurm {
    pid_t slurmstepd;           /* the process that runs the step on this node, and forks its tasks */
    int component_first;        /* the first rank of the heterogeneous component, or 0 */
    int component_tasks;        /* its number of tasks, or the step's; 0: that is not known, but */
    int component;              /* the number of the component is */
    int kill_wait;              /* KillWait in seconds; -1: it is not known */
    int forwards; /* Slurm's signals reach the supervisor alone, which forwards them; -1: not known */
    struct errtext forwards_error;
    const char *hidden; /* why a program of spank-tf may be hidden from the task; or NULL */
};

struct task_info {
    struct registration registration; /* its strings are in the environment, or below */
    struct port *port; /* NULL if registration.error says why */
    struct port *master_port; /* the second one, or NULL */
    bool logs; /* --tf-log-dir: to log_dir */
    struct logdir log_dir;
    char supervisor[PATH_MAX]; /* the path of tf-supervise */
    char *locality; /* room of the interfaces' CPU masks, to be freed */
    char step[REGISTRATION_MAX_STEP + 1];
    char cpus[CPUS_MAX_TEXT];
    char users[MARKS_MAX];
    struct address_text own_name;
    struct errtext error, locality_error, supervisor_error;
};

/*
 * -1 if Slurm does not say which task this is. Every other failure is put into the registration,
 * so that the rendezvous reports it. `env` must live as long.
 */
int task_info_gather (struct task_info *info, const struct task_of_slurm *slurm, char *const env[],
                      const struct contact *contact);

#endif
