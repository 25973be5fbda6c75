/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "step.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "addresses/own_name.h"
#include "common/beside.h"
#include "common/frameworks.h"
#include "common/list_text.h"
#include "common/marks.h"
#include "common/tasklist.h"
#include "common/variables.h"
#include "dictionary.h"
#include "processes.h"
#include "rank_names.h"
#include "roles.h"
#include "slurm_numbers.h"
#include "job/place.h"

struct step {
    const struct rendezvous_config *config;
    struct roster roster;
    struct roles roles;
    struct network_wish wish;
    struct network_choice choice;
    struct dictionary dictionary;
    struct processes processes;
    struct errtext notice[6];           /* step_notice () */
    int notices;
    char *numbers;                      /* slurm_numbers (), or NULL: Slurm's own stay */
    size_t numbers_length;
    char *addresses;                    /* all of them, "10.0.0.1,10.0.0.2", or NULL */
    bool torch;                         /* the processes get PyTorch's variables */
    bool supervised;
};

static int _set_wish (struct network_wish *wish, const struct rendezvous_config *config, struct errtext *err)
{
    wish->infiniband = config->ib != IB_NO;
    wish->infiniband_required = config->ib == IB_REQUIRE;
    wish->networks_required = config->networks_required;
    return config->networks ? netlist_parse (&wish->networks, config->networks, err) : 0;
}

int step_create (struct step **sp, const struct rendezvous_config *config, struct errtext *err)
{
    struct step *step = calloc (1, sizeof (*step));

    if (!step)
        return errtext_set (err, "%s", strerror (ENOMEM));
    step->config = config;
    roster_set_step (&step->roster, config->step ? config->step : "?", config->array);
    if (roles_parse (&step->roles, config, &step->roster, err) < 0
        || _set_wish (&step->wish, config, err) < 0) {
        step_destroy (step);
        return -1;
    }
    *sp = step;
    return 0;
}

void step_destroy (struct step *step)
{
    if (!step)
        return;
    roster_clear (&step->roster);
    for (size_t i = 0; i < RENDEZVOUS_CONFIG_MAX_LISTS; i++)
        tasklist_destroy (step->roles.list[i]);
    dictionary_clear (&step->dictionary);
    processes_clear (&step->processes);
    free (step->numbers);
    free (step->addresses);
    free (step);
}

const char *step_name (const struct step *step)
{
    return step->roster.step.name;
}

const struct rendezvous_config *step_config (const struct step *step)
{
    return step->config;
}

struct roster *step_roster (struct step *step)
{
    return &step->roster;
}

/* Registrations. */

/*
 * The first registration has the number of ranks. Its step ID is also better than srun's, which in
 * a heterogeneous job has the job ID of the component that srun is about to launch.
 */
static int _begin_step (struct step *step, const struct registration *registration, struct errtext *err)
{
    int tasks = registration->tasks;

    roster_set_step (&step->roster, registration->step, step->config->array);
    if (tasks > TASKLIST_MAX_TASKS)
        return errtext_set (err, "%s has %d tasks, but a task list may have at most %d",
                            step->roster.step.name, tasks, TASKLIST_MAX_TASKS);
    if (roster_set_size (&step->roster, tasks) < 0)
        return errtext_set (err, "%s", strerror (ENOMEM));
    return 0;
}

enum step_verdict step_add (struct step *step, const struct registration *registration,
                            const struct address *srun, const struct address *from, struct errtext *err)
{
    struct roster *roster = &step->roster;
    char name[RANK_NAME_SIZE];

    if (roster->tasks == 0 && _begin_step (step, registration, err) < 0)
        return STEP_REFUSED;
    if (registration->tasks != roster->tasks || roster->rank[registration->rank].launch == RANK_HERE)
        return STEP_IGNORED;
    if (roster_add (roster, registration, srun, from) < 0) {
        errtext_set (err, "%s", strerror (ENOMEM));
        return STEP_REFUSED;
    }
    if (roles_assign (&step->roles, err) < 0)
        return STEP_REFUSED;
    if (registration->error) {
        errtext_set (err, "%s: %s: %s", step->roster.step.name,
                     rank_name (&roster->rank[registration->rank], name), registration->error);
        return STEP_REFUSED;
    }
    return STEP_ADDED;
}

/* Decisions. */

static int _choose_addresses (struct step *step, const struct host *own, struct errtext *err)
{
    struct roster *roster = &step->roster;
    struct network_rank *ranks = calloc ((size_t)roster->tasks, sizeof (*ranks));
    struct errtext why;
    int rc;

    if (!ranks)
        return errtext_set (err, "%s", strerror (ENOMEM));
    for (int i = 0; i < roster->tasks; i++)
        ranks[i] = (struct network_rank){
            .node = roster->rank[i].node,
            .host = &roster->rank[i].host,
            .here = roster->rank[i].connected,
            .srun = roster->rank[i].srun,
            .interface = roster->rank[i].interface,
            .interfaces = roster->rank[i].interfaces,
            .cpus = roster->rank[i].cpus,
        };
    rc = network_choose (ranks, (size_t)roster->tasks, own, &step->wish, &step->choice, &why);
    for (int i = 0; rc == 0 && i < roster->tasks; i++) {
        roster->rank[i].at_srun = strcmp (roster->rank[i].host.id, own->id) == 0;
        roster->rank[i].address = ranks[i].chosen;
        snprintf (roster->rank[i].chosen_interface, IF_NAMESIZE, "%s",
                  ranks[i].chosen_interface ? ranks[i].chosen_interface : "");
    }
    if (rc < 0)
        errtext_set (err, "%s: %s", step->roster.step.name, why.text);
    free (ranks);
    return rc;
}

static int _build_dictionary (struct step *step, struct errtext *err)
{
    struct dictionary dictionary;

    if (dictionary_make (&dictionary, step->roster.place, (size_t)step->roster.places, err) < 0)
        return -1;
    dictionary_clear (&step->dictionary);
    step->dictionary = dictionary;
    return 0;
}

static int _compare_addresses (const void *a, const void *b)
{
    return memcmp (a, b, sizeof (struct address));
}

/* Every address once, for tasks whose environment has a proxy. */
static int _list_addresses (struct step *step, struct errtext *err)
{
    size_t tasks = (size_t)step->roster.tasks, size;
    struct address *address = calloc (tasks, sizeof (*address));
    FILE *f = address ? open_memstream (&step->addresses, &size) : NULL;
    struct address_text room;

    for (size_t i = 0; f && i < tasks; i++)
        address[i] = step->roster.rank[i].address;
    if (f)
        qsort (address, tasks, sizeof (*address), _compare_addresses);
    for (size_t i = 0; f && i < tasks; i++)
        if (i == 0 || !address_equal (&address[i - 1], &address[i]))
            fprintf (f, "%s%s", i ? "," : "", address_print (&address[i], &room));
    free (address);
    return f && fclose (f) == 0 ? 0 : errtext_set (err, "%s", strerror (ENOMEM));
}

static bool _is_one_node (const struct roster *roster)
{
    EACH_RANK (rank, roster)
        if (strcmp (rank->node, roster->rank[0].node) != 0)
            return false;
    return true;
}

static bool _is_proxied (const struct step *step)
{
    EACH_RANK (rank, &step->roster)
        if (rank->proxied)
            return true;
    return false;
}

/* PyTorch was asked for, and not only expected. */
static int _require_torch (struct step *step, struct rank *process_0, struct errtext *err)
{
    char name[RANK_NAME_SIZE];

    if (!process_0->master_port)
        return errtext_set (err,
                            "%s: %s has no second port, for MASTER_PORT: --tf-ports has too few for its "
                            "node, where each task needs two (with reserved, srun --resv-ports=COUNT)",
                            step->roster.step.name, rank_name (process_0, name));
    process_0->place->needs_master_port = true;
    return 0;
}

/* JAX, and what trains with PyTorch, take their numbers from Slurm. */
static bool _needs_numbers (const struct step *step)
{
    return (step->torch || step->config->frameworks & FRAMEWORK_JAX) && !step->processes.are_ranks;
}

static int _find_processes (struct step *step, struct errtext *err)
{
    struct rank *first;

    if (processes_find (&step->processes, &step->roster) < 0)
        return errtext_set (err, "%s", strerror (ENOMEM));
    if (step->processes.count == 0)
        return 0;
    first = &step->roster.rank[step->processes.coordinator];
    step->torch = step->config->frameworks & FRAMEWORK_TORCH
                  || (step->config->frameworks & FRAMEWORK_TORCH_AUTO && step->processes.count > 1);
    if (step->config->frameworks & FRAMEWORK_TORCH && _require_torch (step, first, err) < 0)
        return -1;
    if (_needs_numbers (step)
        && !(step->numbers = slurm_numbers (&step->processes, &step->roster, &step->numbers_length)))
        return errtext_set (err, "%s", strerror (ENOMEM));
    return 0;
}

/* Notices. */

static struct errtext *_next_notice (struct step *step)
{
    return &step->notice[step->notices++];
}

/* One line for all nodes on which it is not known which interface is close to which CPUs. */
static void _set_locality_notice (struct step *step)
{
    const char *error = NULL;
    char nodes[320];
    struct list_text list = { nodes, sizeof (nodes), ", ", 1, 0, 0 };

    EACH_RANK (rank, &step->roster)
        if (rank->locality_error) {
            list_text_add (&list, rank->node);
            error = error ? error : rank->locality_error;
        }
    if (error)
        errtext_set (_next_notice (step),
                     "%s: %s; InfiniBand interfaces are assigned in the kernel's order, not by locality",
                     list_text_end (&list), error);
}

/*
 * Programs for torchrun use the GPU whose number is LOCAL_RANK. A task that sees only its own GPUs has fewer
 * than its node has processes.
 */
static void _set_local_rank_notice (struct step *step)
{
    char name[RANK_NAME_SIZE];

    EACH_RANK (rank, &step->roster) {
        const struct process_place *place = &step->processes.place[rank->number];
        int gpus = rank->gpus, local = place->local;

        if (gpus == 0 || local < gpus || place->number >= step->processes.count)
            continue;
        errtext_set (_next_notice (step),
                     "%s has LOCAL_RANK %d and sees %d GPU%s, numbered from 0: "
                     "torch.cuda.set_device(LOCAL_RANK) fails there. With --gpus-per-node instead of "
                     "--gpus-per-task each task sees all GPUs of its node",
                     rank_name (rank, name), local, gpus, gpus == 1 ? "" : "s");
        return;
    }
}

/* Of each row of variable_table: it takes the place of a user's value. */
struct replaced {
    bool is[VARIABLES_MAX];
};

/* Add the user's variables to which this rank's answer gives other values. False if there is no memory. */
static bool _add_replaced (const struct step *step, const struct rank *rank, struct replaced *replaced)
{
    struct answer_message message;
    struct frame *frame;
    const char *string = NULL;

    if (step_answer (step, rank, NULL, &message) < 0)
        return false;
    frame = frame_join (message.part, ANSWER_PARTS);
    while (frame && (string = answer_next_variable (frame, string))) {
        const struct variable *variable = variable_find (string);
        size_t length = strcspn (string, "=");

        if (variable && marks_find (rank->users, string, length, string + length + 1) == MARKS_OTHER)
            replaced->is[variable - variable_table] = true;
    }
    answer_message_clear (&message);
    frame_destroy (frame);
    return frame;
}

/*
 * A value of the environment that is the same for all tasks, where each needs its own, or that is about
 * another cluster: one line names them.
 */
static int _set_replaced_notice (struct step *step, struct errtext *err)
{
    struct replaced replaced = { .is = { false } };
    char names[320];
    struct list_text list = { names, sizeof (names), ", ", 0, 0, 0 };

    EACH_RANK (rank, &step->roster)
        if (rank->users && rank->place && !_add_replaced (step, rank, &replaced))
            return errtext_set (err, "%s", strerror (ENOMEM));
    for (const struct variable *v = variable_table; v->name; v++)
        if (replaced.is[v - variable_table])
            list_text_add (&list, v->name);
    if (list.named)
        errtext_set (_next_notice (step),
                     "%s from your environment %s replaced with the step's own values. To keep yours, list "
                     "only other frameworks in --tf-frameworks",
                     list_text_end (&list), list.named + list.more > 1 ? "were" : "was");
    return 0;
}

/* One line for all nodes whose own names are wrong, where the program may look them up. */
static void _set_own_name_notice (struct step *step)
{
    char nodes[512], item[REGISTRATION_MAX_NODE + OWN_NAME_TEXT + 8], text[OWN_NAME_TEXT];
    struct list_text list = { nodes, sizeof (nodes), ", ", 4, 0, 0 };

    EACH_RANK (rank, &step->roster)
        if (rank->own_name) {
            snprintf (item, sizeof (item), "%s (%s)", rank->node, own_name_explain (text, rank->own_name));
            list_text_add (&list, item);
        }
    if (list.named)
        errtext_set (_next_notice (step),
                     "JAX on CPUs and torchrun cannot connect to a node whose own host name is wrong: %s. "
                     "Add the address of each node to its /etc/hosts, or to DNS",
                     list_text_end (&list));
}

/* Each node's tasks have the same directory there, so a node is named once for each of its first tasks. */
static void _set_log_dir_notice (struct step *step)
{
    const struct rank *last = NULL;
    char nodes[320];
    struct list_text list = { nodes, sizeof (nodes), ", ", 4, 0, 0 };

    EACH_RANK (rank, &step->roster)
        if (rank->log_dir_private && (!last || strcmp (last->node, rank->node) != 0)) {
            list_text_add (&list, rank->node);
            last = rank;
        }
    if (last)
        errtext_set (_next_notice (step),
                     "--tf-log-dir: on %s only this job sees the directory: its files are removed when the "
                     "job ends",
                     list_text_end (&list));
}

static int _set_notices (struct step *step, struct errtext *err)
{
    if (step->choice.notice[0])
        errtext_set (_next_notice (step), "%s", step->choice.notice);
    if (step->choice.rails)
        _set_locality_notice (step);
    if (step->processes.count > 0 && step->config->frameworks & FRAMEWORK_TORCH)
        _set_local_rank_notice (step);
    if (_set_replaced_notice (step, err) < 0)
        return -1;
    if (step->processes.count > 1 && !_is_one_node (&step->roster))
        _set_own_name_notice (step);
    _set_log_dir_notice (step);
    return 0;
}

int step_resolve (struct step *step, const struct host *own, struct errtext *err)
{
    if (roles_assign (&step->roles, err) < 0 || _choose_addresses (step, own, err) < 0
        || (_is_proxied (step) && _list_addresses (step, err) < 0))
        return -1;
    if (_build_dictionary (step, err) < 0 || _find_processes (step, err) < 0)
        return -1;
    return _set_notices (step, err);
}

int step_change (struct step *step, struct errtext *err)
{
    processes_clear (&step->processes);
    free (step->numbers);
    step->numbers = NULL;
    return _build_dictionary (step, err) < 0 ? -1 : _find_processes (step, err);
}

int step_supervise (struct step *step, struct errtext *err)
{
    char name[RANK_NAME_SIZE];

    EACH_RANK (rank, &step->roster)
        if (rank->supervisor_error)
            return errtext_set (err, "%s: %s: %s", step->roster.step.name, rank_name (rank, name),
                                rank->supervisor_error);
    step->supervised = true;
    return 0;
}

/* Results. */

const char *step_log_dir (const struct step *step)
{
    return step->roster.rank[0].log_dir;
}

const char *step_notice (const struct step *step, int i)
{
    return i < step->notices ? step->notice[i].text : NULL;
}

const struct network_choice *step_choice (const struct step *step)
{
    return &step->choice;
}

/* One that is lost may return. */
static bool _has_spare (const struct roster *roster)
{
    EACH_RANK (rank, roster)
        if (!rank->place && !rank->released)
            return true;
    return false;
}

/* So many supervisors tell each step as often as all together are to. */
#define TURN_TASKS 8

/*
 * 1,024 supervisors that tell each step would fill the journal in minutes. One of them is enough to know how
 * far the work is: that of the task which is mostly the only one to say steps, if not all do.
 */
static struct watch_rule _watch_rule (const struct step *step, const struct rank *rank)
{
    struct watch_rule rule = step->config->watch;
    int turns = (step->roster.tasks + TURN_TASKS - 1) / TURN_TASKS;
    const struct place *p = rank->place;
    bool first =
        p
        && (p->kind == RULES_CHIEF || p->kind == RULES_MASTER || (p->kind == RULES_WORKER && p->index == 0));

    if (turns > 1 && !first)
        rule.turns = turns < WATCH_RULE_MAX_TURNS ? turns : WATCH_RULE_MAX_TURNS;
    return rule;
}

int step_answer (const struct step *step, const struct rank *rank, const struct goal *goal,
                 struct answer_message *message)
{
    const struct process_place none = { 0 },
                               *place = step->processes.place ? &step->processes.place[rank->number] : &none;
    int process = place->number < step->processes.count ? place->number : -1;
    const struct rank *process_0 = &step->roster.rank[step->processes.coordinator];
    bool jax = process >= 0 && step->config->frameworks & FRAMEWORK_JAX;
    bool torch = process >= 0 && step->torch;
    /* A spare may get the place of one that is watched. */
    bool watched = step->supervised && (rank_works (rank) || !rank->place);
    const struct dictionary_text *cluster = dictionary_cluster (&step->dictionary, rank_role (rank));
    const struct dictionary_text *beside = &step->dictionary.beside;
    struct dictionary_tail tail;
    struct address_text room, coordinator, master;
    struct answer answer = {
        .role = beside_name (rank_role (rank)),
        .index = rank_index (rank),
        .address = address_print (&rank->address, &room),
        .port = rank->port,
        .hide_gpus = step->config->hide_gpus && rank->place && rank->place->kind == RULES_PS,
        .no_tf_config = !(step->config->frameworks & FRAMEWORK_TF),
        .jax_devices = jax,
        .keras = process >= 0 && step->config->frameworks & FRAMEWORK_KERAS,
        .jax = jax,
        .torch = torch,
        /* A spare may become process 0. */
        .keep_master_port = rank->master_port && (torch ? process == 0 : !rank->place),
        .master_address = address_print (&process_0->address, &master),
        /* A script that uses PyTorch seldom has another server, for which the second port is. */
        .master_port = process_0->master_port ? process_0->master_port : process_0->port,
        .local_process = place->local,
        .local_processes = place->locals,
        .group = place->group,
        .coordinator = address_print_port (&process_0->address, process_0->port, &coordinator),
        .process = process,
        .numbered = step->numbers && rank->place,
        .number = place->number,
        .processes = step->processes.count,
        .nccl = step->config->nccl && step->choice.wished,
        .gloo = step->config->nccl && torch && !_is_one_node (&step->roster),
        .log_append = step->config->log_append,
        .supervised = step->supervised,
        .stop_grace = step->config->stop_grace,
        .tee = step->supervised && step->config->tee,
        .serves = rank->place && rank->place->duty.serves,
        .restart = step->supervised ? step->config->restart : (struct restart_rule){ 0 },
        .watch = watched ? _watch_rule (step, rank) : (struct watch_rule){ .seconds = 0 },
        /* When all places are given away, no task has to end because it is cut off. */
        .lost_after = step->supervised && _has_spare (&step->roster) ? step->config->lost_after : 0,
        .options = step->config->task,
        .spare = !rank->place,
        .goal = goal,
        .proxy_exempt = rank->proxied ? step->addresses : NULL,
        .cluster = cluster->text,
        .cluster_length = cluster->length,
        .tail = dictionary_tail (rank_role (rank), rank_index (rank), &tail),
        .beside = beside->text,
        .beside_length = beside->length,
        .numbers = process >= 0 ? step->numbers : NULL,
        .numbers_length = process >= 0 && step->numbers ? step->numbers_length : 0,
    };

    return answer_encode (message, &answer, step->config->server_token);
}
