/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "task_info.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "addresses/host.h"
#include "addresses/interface.h"
#include "addresses/locality.h"
#include "addresses/own_name.h"
#include "common/devices.h"
#include "common/helper.h"
#include "common/marks.h"
#include "common/proxy.h"
#include "common/value.h"
#include "common/variables.h"
#include "options.h"
#include "output.h"
#include "private_mount.h"

/* The longest description of the step's layout that a registration has room for, in bytes. */
#define MAX_LAYOUT 4096

static const char *_layout (char *const env[], const char *name)
{
    const char *text = variable_get (env, name);

    return text && strlen (text) <= MAX_LAYOUT ? text : NULL;
}

/* -1 if a variable of Slurm's is missing. */
static int _identify (struct task_info *info, const struct task_of_slurm *slurm, char *const env[])
{
    struct registration *r = &info->registration;
    const char *job = variable_get (env, "SLURM_JOB_ID");
    const char *step = variable_get (env, "SLURM_STEP_ID");

    r->rank = variable_number (env, "SLURM_PROCID");
    r->tasks = variable_number (env, "SLURM_STEP_NUM_TASKS");
    r->node_index = variable_number (env, "SLURM_NODEID");
    r->node = variable_get (env, "SLURMD_NODENAME");
    r->component_first = slurm->component_first;
    r->component_tasks = slurm->component_tasks ? slurm->component_tasks : r->tasks;
    r->component = slurm->component;
    if (r->rank < 0 || r->tasks < 1 || r->node_index < 0 || !r->node || !job || !step)
        return -1;
    snprintf (info->step, sizeof (info->step), "%s.%s", job, step);
    r->step = info->step;
    host_self (&r->host);
    return 0;
}

/* The ports to choose from, and where in them to begin. -1 and err. */
static int _port_ranges (char *const env[], const char *ports, struct port_ranges *ranges,
                         unsigned int *start, struct errtext *err)
{
    const char *reserved;

    if (strcmp (ports, VALUE_PORTS_RESERVED) != 0) {
        if (getrandom (start, sizeof (*start), 0) < 0)
            *start = (unsigned int)getpid ();
        return port_ranges_parse (ranges, ports, err);
    }
    if (!(reserved = variable_get (env, "SLURM_STEP_RESV_PORTS")))
        return errtext_set (err, "--tf-ports=reserved, but Slurm reserved no ports for this step "
                                 "(MpiParams=ports= in slurm.conf, srun --resv-ports)");
    /* Slurm has reserved one for each task of the node; begin with this task's. */
    *start = (unsigned int)variable_number (env, "SLURM_LOCALID");
    return port_ranges_parse (ranges, reserved, err);
}

static struct port *_reserve_task_port (char *const env[], const struct contact *contact, struct errtext *err)
{
    struct port_ranges ranges;
    struct port *port;
    unsigned int start = 0;

    if (_port_ranges (env, contact->ports, &ranges, &start, err) < 0
        || port_reserve (&port, &ranges, start, PORT_FOR_A_SERVER, err) < 0)
        return NULL;
    return port;
}

/* Those that Slurm reserved behind one for each task of the node are one for each task, from the first on. */
static int _second_reserved (const struct port_ranges *reserved, char *const env[])
{
    return port_ranges_nth (reserved, (size_t)variable_node_tasks (env)
                                          + (size_t)variable_number (env, "SLURM_LOCALID"));
}

/* Behind the message about the first one, which a neighbour's second one may have taken. */
#define NEEDS_TWO "; with --tf-frameworks=torch each task needs two"

/*
 * A second port, always held: PyTorch's process 0 is not known before the answer. It is no error that the
 * node has none, because only that process needs one.
 */
static void _reserve_master_port (struct task_info *info, char *const env[], const struct contact *contact)
{
    struct port_ranges ranges;
    struct errtext err;
    unsigned int start = 0;
    int number;

    if (_port_ranges (env, contact->ports, &ranges, &start, &err) < 0)
        return;
    if (strcmp (contact->ports, VALUE_PORTS_RESERVED) == 0) {
        if ((number = _second_reserved (&ranges, env)) < 0)
            return;
        ranges = (struct port_ranges){ .count = 1, .range = { { number, number } } };
    }
    if (port_reserve (&info->master_port, &ranges, start, PORT_FOR_A_SERVER, &err) == 0)
        info->registration.master_port = info->master_port->number;
}

/*
 * A task that is not bound to CPUs is equally close to every interface. With a user's own list
 * of CPUs (map, mask) one task of a node can be bound and another not; every other binding binds
 * all tasks.
 */
static bool _is_unbound (const struct cpus *cpus, char *const env[])
{
    const char *bind = variable_get (env, "SLURM_CPU_BIND_TYPE");

    return cpus_are_all (cpus) && !(bind && (strstr (bind, "map") || strstr (bind, "mask")));
}

static void _add_locality (struct task_info *info, char *const env[])
{
    struct registration *r = &info->registration;
    char program[PATH_MAX];

    if (!locality_matters (r->interface, r->interfaces))
        return;
    snprintf (program, sizeof (program), "%s/tf-addresses", options_value (OPTION_LIBEXECDIR));
    if (locality_ask (r->interface, r->interfaces, program, env, &info->locality, &info->locality_error) < 0)
        r->locality_error = info->locality_error.text;
}

/* What the contact asks for, of the node only from its first task. */
static void _add_interfaces (struct task_info *info, char *const env[], enum contact_ask ask)
{
    struct registration *r = &info->registration;
    bool bound = false;
    struct cpus cpus;
    int count;

    if (ask == CONTACT_ASK_RAILS && cpus_self (&cpus) == 0) {
        r->cpus = cpus_print (&cpus, info->cpus);
        bound = !_is_unbound (&cpus, env);
    }
    if (ask == CONTACT_ASK_NOTHING || variable_number (env, "SLURM_LOCALID") != 0
        || (count = interface_list (r->interface, NULL)) < 0)
        return;
    r->interfaces = count;
    if (bound)
        _add_locality (info, env);
}

/* The step's layout and, if the contact asks for it, the node's own name, from the first task of the node. */
static void _add_node (struct task_info *info, char *const env[], bool own_name)
{
    struct registration *r = &info->registration;

    if (variable_number (env, "SLURM_LOCALID") != 0)
        return;
    r->step_nodes = _layout (env, "SLURM_STEP_NODELIST");
    r->step_node_tasks = _layout (env, "SLURM_STEP_TASKS_PER_NODE");
    if (own_name)
        r->own_name = own_name_fault (&info->own_name);
}

/* Make the log directory now, so that a failure shows before any program starts. */
static int _prepare_output (struct task_info *info, char *const env[], struct errtext *err)
{
    const char *text = variable_get (env, LOGDIR_VARIABLE);

    if (!text)
        return 0;
    if (output_prepare (&info->log_dir, text, env, err) < 0)
        return -1;
    info->logs = true;
    info->registration.log_dir = info->log_dir.path;
    info->registration.log_dir_private =
        private_mount_has (info->log_dir.fd, variable_get (env, "SLURM_JOB_ID"));
    return 0;
}

/* The user's values that the rendezvous may have to replace. What there is no room for has no notice. */
static void _add_users (struct task_info *info, char *const env[])
{
    for (const struct variable *v = variable_table; v->name; v++) {
        const char *value =
            variable_is_noticed (v, info->registration.tasks) ? variable_get (env, v->name) : NULL;

        if (value)
            marks_add (info->users, sizeof (info->users), v->name, value);
    }
    if (*info->users)
        info->registration.users = info->users;
}

int task_info_gather (struct task_info *info, const struct task_of_slurm *slurm, char *const env[],
                      const struct contact *contact)
{
    struct registration *r = &info->registration;

    memset (info, 0, sizeof (*info));
    if (_identify (info, slurm, env) < 0)
        return -1;
    if ((info->port = _reserve_task_port (env, contact, &info->error)))
        r->port = info->port->number;
    else if (contact->second_port
             && strlen (info->error.text) + sizeof (NEEDS_TWO) <= sizeof (info->error.text))
        strcat (info->error.text, NEEDS_TWO);
    if (info->port && contact->second_port) {
        struct devices given = devices_given (env);

        _reserve_master_port (info, env, contact);
        r->gpus = devices_own (&given);
    }
    if (!info->port || _prepare_output (info, env, &info->error) < 0)
        r->error = info->error.text;
    if (helper_locate (info->supervisor, sizeof (info->supervisor), options_value (OPTION_LIBEXECDIR),
                       "tf-supervise", &info->supervisor_error)
        < 0)
        r->supervisor_error = info->supervisor_error.text;
    r->proxied = proxy_is_set (env);
    _add_users (info, env);
    _add_node (info, env, contact->own_name);
    _add_interfaces (info, env, contact->ask);
    return 0;
}
