/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a task tells the rendezvous of itself, gathered from Slurm and from its node.
 */
#ifndef TF_REGISTRATION_H
#define TF_REGISTRATION_H

#include <limits.h>
#include <stdbool.h>

#include <slurm/slurm.h>
#include <slurm/spank.h>

#include "cpus.h"
#include "errtext.h"
#include "logdir.h"
#include "port.h"
#include "rank.h"
#include "rendezvous.h"

struct registration {
    struct rank rank;               /* its texts are of the environment, or those below */
    struct port *port;              /* NULL when rank.error says why */
    bool logs;                      /* to log_dir */
    char *near;
    /* From here on it is room, which is not zeroed. */
    struct logdir log_dir;
    char supervisor[PATH_MAX];      /* the program */
    char step[RANK_MAX_STEP + 1];
    char cpus[CPUS_MAX_TEXT];
    struct errtext error, near_error, no_supervisor;
};

/*
 * -1 when Slurm does not say who this task is. What else is wrong stands in the registration,
 * for the rendezvous to say. `env` must live as long.
 */
int registration_make (struct registration *registration, spank_t spank, char *const env[],
                       const struct rendezvous *rendezvous);

/* The port is left to the program that is exec'd next. */
void registration_leave (struct registration *registration);

#endif
