/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "registration.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "environment.h"
#include "host.h"
#include "interface.h"
#include "nearness.h"
#include "output.h"
#include "proxy.h"
#include "site.h"
#include "supervisor.h"

/* What of the step's shape fits beside the rest of a registration. */
#define MAX_SHAPE 4096

static const char *_shape (char *const env[], const char *name)
{
    const char *text = environment_get (env, name);

    return text && strlen (text) <= MAX_SHAPE ? text : NULL;
}

/* What Slurm says of this rank. -1 when it does not say enough. */
static int _describe (struct registration *r, spank_t spank, char *const env[])
{
    struct rank *rank = &r->rank;
    uint32_t in_component, component_tasks;

    if (spank_get_item (spank, S_TASK_GLOBAL_ID, &in_component) != ESPANK_SUCCESS
        || spank_get_item (spank, S_JOB_TOTAL_TASK_COUNT, &component_tasks) != ESPANK_SUCCESS)
        return -1;
    rank->rank = environment_number (env, "SLURM_PROCID");
    rank->tasks = environment_number (env, "SLURM_STEP_NUM_TASKS");
    rank->node_index = environment_number (env, "SLURM_NODEID");
    rank->node = environment_get (env, "SLURMD_NODENAME");
    rank->step = r->step;
    rank->component_first = rank->rank - (int)in_component;
    rank->component_tasks = (int)component_tasks;
    if (rank->rank < 0 || rank->tasks < 1 || rank->node_index < 0 || !rank->node
        || !environment_get (env, "SLURM_JOB_ID") || !environment_get (env, "SLURM_STEP_ID"))
        return -1;
    snprintf (r->step, sizeof (r->step), "%s.%s", environment_get (env, "SLURM_JOB_ID"),
              environment_get (env, "SLURM_STEP_ID"));
    if (environment_number (env, "SLURM_LOCALID") == 0) {
        rank->node_ranks = _shape (env, "SLURM_GTIDS");
        rank->step_nodes = _shape (env, "SLURM_STEP_NODELIST");
        rank->step_node_tasks = _shape (env, "SLURM_STEP_TASKS_PER_NODE");
    }
    host_self (&rank->host);
    return 0;
}

/* The ports to choose from, and where to begin. -1 and err. */
static int _ranges (char *const env[], const char *ports, struct port_ranges *ranges,
                    unsigned int *start, struct errtext *err)
{
    const char *reserved;

    if (strcmp (ports, "reserved") != 0) {
        if (getrandom (start, sizeof (*start), 0) < 0)
            *start = (unsigned int)getpid ();
        return port_ranges_parse (ranges, ports, err);
    }
    if (!(reserved = environment_get (env, "SLURM_STEP_RESV_PORTS")))
        return errtext_set (err, "--tf-ports=reserved, but Slurm reserved no ports for this step "
                            "(MpiParams=ports= in slurm.conf, srun --resv-ports)");
    /* Slurm gave the node one for each task: its own first. */
    *start = (unsigned int)environment_number (env, "SLURM_LOCALID");
    return port_ranges_parse (ranges, reserved, err);
}

static struct port *_reserve (char *const env[], const struct rendezvous *rendezvous,
                              struct errtext *err)
{
    struct port_ranges ranges;
    struct port *port;
    unsigned int start;

    if (_ranges (env, rendezvous->ports, &ranges, &start, err) < 0
        || port_reserve (&port, &ranges, start, rendezvous->hold, err) < 0)
        return NULL;
    return port;
}

/*
 * Whoever may run everywhere is near to every interface. A user's own list of CPUs can bind
 * another rank of the node and not this one; what else binds, binds all.
 */
static bool _is_everywhere (const struct cpus *cpus, char *const env[])
{
    const char *bind = environment_get (env, "SLURM_CPU_BIND_TYPE");

    return cpus_are_all (cpus) && !(bind && (strstr (bind, "map") || strstr (bind, "mask")));
}

/* A node's interfaces are told by its first rank alone: they are the same for all. */
static void _look_around (struct registration *r, char *const env[], enum rendezvous_ask ask)
{
    struct rank *rank = &r->rank;
    struct errtext none;
    struct cpus cpus;
    char program[PATH_MAX];
    bool everywhere = false;
    int count;

    if (ask == RENDEZVOUS_ASK_RAILS && cpus_self (&cpus) == 0) {
        rank->cpus = cpus_print (&cpus, r->cpus);
        everywhere = _is_everywhere (&cpus, env);
    }
    if (ask == RENDEZVOUS_ASK_NOTHING || environment_number (env, "SLURM_LOCALID") != 0
        || (count = interface_list (rank->interface, &none)) < 0)
        return;
    rank->interfaces = count;
    if (ask != RENDEZVOUS_ASK_RAILS || everywhere || !nearness_matters (rank->interface, count))
        return;
    snprintf (program, sizeof (program), "%s/tf-addresses", site.libexecdir);
    if (nearness_ask (rank->interface, count, program, env, &r->near, &r->near_error) < 0)
        rank->near_error = r->near_error.text;
}

/* Its output goes where it can be made, and says so before anything starts. */
static int _prepare_output (struct registration *r, char *const env[], struct errtext *err)
{
    int rc = output_prepare (&r->log_dir, env, err);

    r->logs = rc > 0;
    if (r->logs && r->rank.rank == 0)
        r->rank.log_dir = r->log_dir.path;
    return rc;
}

int registration_make (struct registration *r, spank_t spank, char *const env[],
                       const struct rendezvous *rendezvous)
{
    memset (r, 0, offsetof (struct registration, log_dir));
    if (_describe (r, spank, env) < 0)
        return -1;
    if ((r->port = _reserve (env, rendezvous, &r->error)))
        r->rank.port = port_number (r->port);
    if (!r->port || _prepare_output (r, env, &r->error) < 0)
        r->rank.error = r->error.text;
    if (supervisor_find (r->supervisor, sizeof (r->supervisor), &r->no_supervisor) < 0)
        r->rank.no_supervisor = r->no_supervisor.text;
    r->rank.proxied = proxy_is_set (environment_lookup, (void *)(uintptr_t)env);
    _look_around (r, env, rendezvous->ask);
    return 0;
}

void registration_leave (struct registration *r)
{
    free (r->near);
    port_leave (r->port);
}
