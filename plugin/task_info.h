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

#include <slurm/slurm.h>
#include <slurm/spank.h>

#include "addresses/cpus.h"
#include "common/address.h"
#include "common/errtext.h"
#include "common/logdir.h"
#include "common/marks.h"
#include "common/port.h"
#include "protocol/contact.h"
#include "protocol/registration.h"

struct task_info {
    struct registration registration;   /* its strings are in the environment, or below */
    struct port *port;                  /* NULL if registration.error says why */
    struct port *master_port;           /* the second one, or NULL */
    bool logs;                          /* --tf-log-dir: to log_dir */
    struct logdir log_dir;
    char supervisor[PATH_MAX];          /* the path of tf-supervise */
    char *locality;                     /* room of the interfaces' CPU masks, to be freed */
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
int task_info_gather (struct task_info *info, spank_t spank, char *const env[],
                      const struct contact *contact);

#endif
