/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "step.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dictionary.h"
#include "layout.h"
#include "network.h"
#include "rules.h"
#include "tasklist.h"

#define OPTION_WHOLE "tf-tasks"
#define OPTION_PER_NODE "tf-tasks-per-node"
/* As many ranks as one line of a message names. */
#define MAX_NAMED 8

struct list {
    struct tasklist *tasks;
    bool per_node;
};

struct member {
    bool here;
    bool lost;                  /* was here once */
    char *node;
    int node_index;
    struct host host;
    struct address address;     /* its end of the connection; the chosen one when resolved */
    struct address srun;
    int port;
    int component_first;
    int component_tasks;
    struct interface *interface;        /* and its near texts: its own copies */
    int interfaces;
    char *near_error;           /* or NULL */
    char *no_supervisor;        /* or NULL */
    char *log_dir;              /* or NULL */
    bool proxied;
    char *cpus;                 /* or NULL */
    char chosen_interface[IF_NAMESIZE];
    const char *role;           /* NULL before roles are assigned */
    int index;
};

struct step {
    char name[sizeof ("step ") + RANK_MAX_STEP];
    char *het_group;            /* or NULL */
    bool inherited;
    bool hold;
    size_t lists;
    struct list *list;
    int tasks;
    int here;
    int lost;
    struct member *member;      /* by rank */
    bool assigned;
    struct layout *layout;
    bool supervised, last_words;
    int grace;                  /* of a task that is stopped, in seconds */
    struct network_wish wish;
    struct network_choice choice;
    char near_notice[512];      /* or "" */
    struct dictionary *dictionary;
    bool hide_gpus;             /* from every ps */
    bool log_append;
    char *hosts;                /* all addresses, "10.0.0.1,10.0.0.2", or NULL */
};

static int _add_list (struct step *step, const char *text, bool per_node, struct errtext *err)
{
    struct list *list = realloc (step->list, (step->lists + 1) * sizeof (*list));

    if (!list)
        return errtext_set (err, "%s", strerror (ENOMEM));
    step->list = list;
    list[step->lists].per_node = per_node;
    if (tasklist_parse (&list[step->lists].tasks, text, err) < 0)
        return -1;
    step->lists++;
    return 0;
}

static int _read_wish (struct network_wish *wish, const struct frame *configuration,
                       struct errtext *err)
{
    const char *ib = frame_get (configuration, "IB");
    const char *networks = frame_get (configuration, "NETWORKS");

    wish->infiniband = ib != NULL;
    wish->infiniband_required = ib && strcmp (ib, "require") == 0;
    wish->networks_required = frame_get (configuration, "NETWORKS_REQUIRED") != NULL;
    return networks ? netlist_parse (&wish->networks, networks, err) : 0;
}

static const char *_value_of (const char *string, const char *key)
{
    size_t len = strlen (key);

    return strncmp (string, key, len) == 0 && string[len] == '=' ? string + len + 1 : NULL;
}

static int _read (struct step *step, const struct frame *configuration, struct errtext *err)
{
    const char *name = frame_get (configuration, "STEP");
    const char *het_group = frame_get (configuration, "HET_GROUP");
    const char *text;

    step->inherited = frame_get (configuration, "INHERITED") != NULL;
    step->hold = frame_get (configuration, "HOLD") != NULL;
    step->log_append = frame_get (configuration, "LOG_APPEND") != NULL;
    step->hide_gpus = frame_get (configuration, "HIDE_GPUS") != NULL;
    snprintf (step->name, sizeof (step->name), "step %s", name ? name : "?");
    if (het_group && !(step->het_group = strdup (het_group)))
        return errtext_set (err, "%s", strerror (ENOMEM));
    for (const char *s = frame_next (configuration, NULL); s; s = frame_next (configuration, s))
        if (((text = _value_of (s, OPTION_WHOLE)) && _add_list (step, text, false, err) < 0)
            || ((text = _value_of (s, OPTION_PER_NODE)) && _add_list (step, text, true, err) < 0))
            return -1;
    if (step->lists == 0)
        return errtext_set (err, "srun gave no list");
    return _read_wish (&step->wish, configuration, err);
}

int step_create (struct step **sp, const struct frame *configuration, struct errtext *err)
{
    struct step *step = calloc (1, sizeof (*step));

    if (!step)
        return errtext_set (err, "%s", strerror (ENOMEM));
    if (_read (step, configuration, err) < 0) {
        step_destroy (step);
        return -1;
    }
    *sp = step;
    return 0;
}

static void _clear_member (struct member *m)
{
    free (m->node);
    for (int i = 0; i < m->interfaces; i++)
        free ((char *)(uintptr_t)m->interface[i].near);
    free (m->interface);
    free (m->near_error);
    free (m->no_supervisor);
    free (m->log_dir);
    free (m->cpus);
    m->node = m->near_error = m->no_supervisor = m->log_dir = m->cpus = NULL;
    m->interface = NULL;
    m->interfaces = 0;
}

void step_destroy (struct step *step)
{
    if (!step)
        return;
    for (size_t i = 0; i < step->lists; i++)
        tasklist_destroy (step->list[i].tasks);
    for (int i = 0; i < step->tasks; i++)
        _clear_member (&step->member[i]);
    free (step->list);
    free (step->member);
    layout_destroy (step->layout);
    dictionary_destroy (step->dictionary);
    free (step->het_group);
    free (step->hosts);
    free (step);
}

const char *step_name (const struct step *step)
{
    return step->name;
}

int step_tasks (const struct step *step)
{
    return step->tasks;
}

/* Who runs tasks, for a message: "step 12.0", "component 1 of step 12.0 on n3". */
static const char *_who (const struct step *step, size_t list, const char *node, char *buf,
                         size_t size)
{
    char component[48] = "", group[96] = "";

    if (step->lists > 1)
        snprintf (component, sizeof (component), "component %zu of ", list);
    if (step->het_group)
        snprintf (group, sizeof (group), " (--het-group=%s)", step->het_group);
    snprintf (buf, size, "%s%s%s%s%s", component, step->name, group, node ? " on " : "",
              node ? node : "");
    return buf;
}

static int _assign_tasks (struct step *step, size_t list, const char **role, int tasks,
                          const char *node, struct errtext *err)
{
    const struct list *l = &step->list[list];
    struct errtext why;
    char who[512], option[64];

    _who (step, list, node, who, sizeof (who));
    snprintf (option, sizeof (option), "%s--%s", step->inherited ? "the inherited " : "",
              l->per_node ? OPTION_PER_NODE : OPTION_WHOLE);
    if (tasklist_assign (l->tasks, role, tasks, who, option, &why) == 0)
        return 0;
    return errtext_set (err, "%s%s", why.text,
                        step->inherited ? "; --tf-tasks=none switches it off" : "");
}

/* One node's share of a list that is per node: its ranks from `first` to `end`. */
static int _assign_node (struct step *step, size_t list, int first, int end, int node_index,
                         const char **role, struct errtext *err)
{
    const char *node = NULL;
    int tasks = 0;

    for (int rank = first; rank < end; rank++)
        if (step->member[rank].node_index == node_index) {
            node = step->member[rank].node;
            tasks++;
        }
    if (_assign_tasks (step, list, role, tasks, node, err) < 0)
        return -1;
    for (int rank = first; rank < end; rank++)
        if (step->member[rank].node_index == node_index)
            step->member[rank].role = *role++;
    return 0;
}

/* A list for the ranks from `first` on: the whole step's, or a component's. */
static int _assign_part (struct step *step, size_t list, int first, int tasks,
                         struct errtext *err)
{
    const char **role = calloc ((size_t)tasks, sizeof (*role));
    int rc = 0;

    if (!role)
        return errtext_set (err, "%s", strerror (ENOMEM));
    if (!step->list[list].per_node) {
        if ((rc = _assign_tasks (step, list, role, tasks, NULL, err)) == 0)
            for (int i = 0; i < tasks; i++)
                step->member[first + i].role = role[i];
    } else
        for (int rank = first; rc == 0 && rank < first + tasks; rank++)
            if (!step->member[rank].role)
                rc = _assign_node (step, list, first, first + tasks,
                                   step->member[rank].node_index, role, err);
    free (role);
    return rc;
}

/* Can roles be told already? Lists per node need every rank, lists per component its size. */
static bool _assignable (const struct step *step)
{
    if (step->here == step->tasks)
        return true;
    return step->lists == 1 && !step->list[0].per_node;
}

static int _assign_parts (struct step *step, struct errtext *err)
{
    size_t list = 0;

    if (step->lists == 1)
        return _assign_part (step, 0, 0, step->tasks, err);
    for (int first = 0; first < step->tasks; list++) {
        const struct member *m = &step->member[first];

        if (m->component_first != first || list == step->lists)
            break;
        if (_assign_part (step, list, first, m->component_tasks, err) < 0)
            return -1;
        first += m->component_tasks;
        if (first == step->tasks && list + 1 == step->lists)
            return 0;
    }
    return errtext_set (err, "%s has not the %zu components that %zu lists were given for",
                        step->name, step->lists, step->lists);
}

static int _role_index (struct step *step, int rank)
{
    int index = 0;

    for (int i = rank - 1; i >= 0; i--)
        if (strcmp (step->member[i].role, step->member[rank].role) == 0) {
            index = step->member[i].index + 1;
            break;
        }
    return index;
}

static int _assign (struct step *step, struct errtext *err)
{
    struct rules_count count = { 0 };
    struct errtext why;

    if (step->assigned || !_assignable (step))
        return 0;
    if (_assign_parts (step, err) < 0)
        return -1;
    for (int rank = 0; rank < step->tasks; rank++) {
        step->member[rank].index = _role_index (step, rank);
        rules_count (&count, step->member[rank].role, 1, 0);
    }
    step->assigned = true;
    if (rules_check (&count, true, &why) < 0)
        return errtext_set (err, "%s has %s", step->name, why.text);
    return 0;
}

/*
 * The first rank tells how many there are, and what they call their step: srun knows the job
 * of whichever component it was about to launch.
 */
static int _size (struct step *step, const struct rank *rank, struct errtext *err)
{
    int tasks = rank->tasks;

    snprintf (step->name, sizeof (step->name), "step %s", rank->step);
    if (!(step->member = calloc ((size_t)tasks, sizeof (*step->member)))
        || !(step->layout = layout_create (tasks)))
        return errtext_set (err, "%s", strerror (ENOMEM));
    step->tasks = tasks;
    return 0;
}

const char *step_rank_name (const struct step *step, int rank, char *buf, size_t size)
{
    const struct member *m = &step->member[rank];
    const char *node = m->node ? m->node : layout_node (step->layout, rank);
    int used = snprintf (buf, size, "rank %d", rank);

    if (m->role)
        used += snprintf (buf + used, size - (size_t)used, " (%s %d)", m->role, m->index);
    if (node)
        snprintf (buf + used, size - (size_t)used, " on %s", node);
    return buf;
}

/* The text's own copy, NULL for none; false when memory ends. */
static bool _copy (char **copy, const char *text)
{
    return !text || (*copy = strdup (text)) != NULL;
}

/* A registration's texts live as long as its frame. */
static bool _keep (struct member *m, const struct rank *rank)
{
    size_t size = (size_t)rank->interfaces * sizeof (struct interface);

    _clear_member (m);
    if (!_copy (&m->node, rank->node) || !_copy (&m->cpus, rank->cpus)
        || !_copy (&m->near_error, rank->near_error)
        || !_copy (&m->no_supervisor, rank->no_supervisor)
        || !_copy (&m->log_dir, rank->log_dir)
        || (size && !(m->interface = malloc (size))))
        return false;
    for (int i = 0; i < rank->interfaces; i++) {
        char *near = NULL;

        if (!_copy (&near, rank->interface[i].near))
            return false;
        m->interface[i] = rank->interface[i];
        m->interface[i].near = near;
        m->interfaces++;
    }
    return true;
}

enum step_verdict step_add (struct step *step, const struct rank *rank,
                            const struct address *srun, struct errtext *err)
{
    struct member *m;
    char name[512];

    if (step->tasks == 0 && _size (step, rank, err) < 0)
        return STEP_REFUSED;
    if (rank->tasks != step->tasks || step->member[rank->rank].here)
        return STEP_STRANGER;

    m = &step->member[rank->rank];
    if (!_keep (m, rank)) {
        errtext_set (err, "%s", strerror (ENOMEM));
        return STEP_REFUSED;
    }
    m->here = true;
    step->lost -= m->lost;
    m->lost = false;
    m->node_index = rank->node_index;
    m->host = rank->host;
    m->address = rank->address;
    m->srun = *srun;
    m->port = rank->port;
    m->proxied = rank->proxied;
    m->component_first = rank->component_first;
    m->component_tasks = rank->component_tasks;
    step->here++;

    layout_add (step->layout, rank->rank, rank->node_index, rank->node);
    if (rank->node_ranks)
        layout_add_node_ranks (step->layout, rank->node_index, rank->node_ranks);
    if (rank->step_nodes && rank->step_node_tasks)
        layout_add_step (step->layout, rank->step_nodes, rank->step_node_tasks);
    if (_assign (step, err) < 0)
        return STEP_REFUSED;
    if (rank->error) {
        errtext_set (err, "%s: %s: %s", step->name,
                     step_rank_name (step, rank->rank, name, sizeof (name)), rank->error);
        return STEP_REFUSED;
    }
    return STEP_TAKEN;
}

void step_lose (struct step *step, int rank)
{
    step->member[rank].here = false;
    step->member[rank].lost = true;
    step->here--;
    step->lost++;
}

bool step_come_again (struct step *step, const struct rank *rank)
{
    struct member *m;

    if (rank->tasks != step->tasks)
        return false;
    m = &step->member[rank->rank];
    if (!m->node || strcmp (m->node, rank->node) != 0
        || strcmp (m->host.id, rank->host.id) != 0 || m->port != rank->port)
        return false;
    if (!m->here) {
        m->here = true;
        step->here++;
        step->lost -= m->lost;
        m->lost = false;
    }
    return true;
}

int step_missing (const struct step *step)
{
    return step->tasks - step->here;
}

int step_lost (const struct step *step)
{
    return step->lost;
}

/* Name the ranks that are not here, or those of them that were. */
static const char *_name_ranks (struct step *step, bool lost, char *buf, size_t size)
{
    int left = lost ? step->lost : step_missing (step), named = 0;
    size_t used = 0;
    char name[512];

    buf[0] = '\0';
    layout_guess (step->layout);
    for (int rank = 0; rank < step->tasks; rank++) {
        if (lost ? !step->member[rank].lost : step->member[rank].here)
            continue;
        step_rank_name (step, rank, name, sizeof (name));
        if (named == MAX_NAMED || used + strlen (name) + sizeof (", and 1000000 more") > size) {
            snprintf (buf + used, size - used, " and %d more", left - named);
            break;
        }
        used += (size_t)snprintf (buf + used, size - used, "%s%s", named++ ? ", " : "", name);
    }
    return buf;
}

const char *step_missing_ranks (struct step *step, char *buf, size_t size)
{
    return _name_ranks (step, false, buf, size);
}

const char *step_lost_ranks (struct step *step, char *buf, size_t size)
{
    return _name_ranks (step, true, buf, size);
}

static bool _is_named (const char *const *named, int count, const char *node)
{
    while (count-- > 0)
        if (strcmp (named[count], node) == 0)
            return true;
    return false;
}

const char *step_missing_nodes (struct step *step, char *buf, size_t size)
{
    const char *named[MAX_NAMED];
    size_t used = 0;
    int count = 0;

    buf[0] = '\0';
    layout_guess (step->layout);
    for (int rank = 0; rank < step->tasks; rank++) {
        const char *node = layout_node (step->layout, rank);

        if (step->member[rank].here || !node || _is_named (named, count, node))
            continue;
        if (count == MAX_NAMED || used + strlen (node) + sizeof (", on , ...") > size) {
            snprintf (buf + used, size - used, ", ...");
            break;
        }
        used += (size_t)snprintf (buf + used, size - used, "%s%s", count ? ", " : ", on ", node);
        named[count++] = node;
    }
    return buf;
}

/* Interfaces were shared out without knowing which are near: said once for all nodes. */
static void _tell_of_nearness (struct step *step)
{
    const struct member *first = NULL;
    char more[32] = "";
    int nodes = 0;

    for (int i = step->tasks - 1; i >= 0; i--)
        if (step->member[i].near_error) {
            first = &step->member[i];
            nodes++;
        }
    if (nodes > 1)
        snprintf (more, sizeof (more), " and %d more", nodes - 1);
    if (nodes > 0)
        snprintf (step->near_notice, sizeof (step->near_notice), "%s%s: %s; InfiniBand "
                  "interfaces are taken in the kernel's order, not by nearness", first->node, more,
                  first->near_error);
}

static int _choose_addresses (struct step *step, const struct host *own, struct errtext *err)
{
    struct network_rank *ranks = calloc ((size_t)step->tasks, sizeof (*ranks));
    struct errtext why;
    int rc;

    if (!ranks)
        return errtext_set (err, "%s", strerror (ENOMEM));
    for (int i = 0; i < step->tasks; i++)
        ranks[i] = (struct network_rank){
            .node = step->member[i].node,
            .host = &step->member[i].host,
            .here = step->member[i].address,
            .srun = step->member[i].srun,
            .interface = step->member[i].interface,
            .interfaces = step->member[i].interfaces,
            .cpus = step->member[i].cpus,
        };
    rc = network_choose (ranks, (size_t)step->tasks, own, &step->wish, &step->choice, &why);
    for (int i = 0; rc == 0 && i < step->tasks; i++) {
        step->member[i].address = ranks[i].chosen;
        snprintf (step->member[i].chosen_interface, IF_NAMESIZE, "%s",
                  ranks[i].chosen_interface ? ranks[i].chosen_interface : "");
    }
    if (rc < 0)
        errtext_set (err, "%s: %s", step->name, why.text);
    else if (step->choice.rails)
        _tell_of_nearness (step);
    free (ranks);
    return rc;
}

static int _build_dictionary (struct step *step, struct errtext *err)
{
    size_t count = step->tasks > 0 ? (size_t)step->tasks : 0;
    struct dictionary_task *tasks = calloc (count, sizeof (*tasks));
    int rc;

    if (!tasks)
        return errtext_set (err, "%s", strerror (ENOMEM));
    for (size_t i = 0; i < count; i++)
        tasks[i] = (struct dictionary_task){
            .role = step->member[i].role,
            .index = step->member[i].index,
            .address = step->member[i].address,
            .port = step->member[i].port,
        };
    rc = dictionary_create (&step->dictionary, tasks, count, err);
    free (tasks);
    return rc;
}

static int _by_address (const void *a, const void *b)
{
    return memcmp (a, b, sizeof (struct address));
}

/* Every address once. */
static int _list_hosts (struct step *step, struct errtext *err)
{
    size_t tasks = (size_t)step->tasks, size;
    struct address *address = calloc (tasks, sizeof (*address));
    FILE *f = address ? open_memstream (&step->hosts, &size) : NULL;
    struct address_text room;

    for (size_t i = 0; f && i < tasks; i++)
        address[i] = step->member[i].address;
    if (f)
        qsort (address, tasks, sizeof (*address), _by_address);
    for (size_t i = 0; f && i < tasks; i++)
        if (i == 0 || !address_equal (&address[i - 1], &address[i]))
            fprintf (f, "%s%s", i ? "," : "", address_print (&address[i], &room));
    free (address);
    return f && fclose (f) == 0 ? 0 : errtext_set (err, "%s", strerror (ENOMEM));
}

static bool _is_proxied (const struct step *step)
{
    for (int i = 0; i < step->tasks; i++)
        if (step->member[i].proxied)
            return true;
    return false;
}

int step_resolve (struct step *step, const struct host *own, struct errtext *err)
{
    if (_assign (step, err) < 0 || _choose_addresses (step, own, err) < 0
        || (_is_proxied (step) && _list_hosts (step, err) < 0))
        return -1;
    return _build_dictionary (step, err);
}

const char *step_role (const struct step *step, int rank)
{
    return step->member[rank].role;
}

int step_index (const struct step *step, int rank)
{
    return step->member[rank].index;
}

const char *step_log_dir (const struct step *step)
{
    return step->member[0].log_dir;
}

int step_supervise (struct step *step, int grace, bool last_words, struct errtext *err)
{
    char name[512];

    for (int rank = 0; rank < step->tasks; rank++)
        if (step->member[rank].no_supervisor)
            return errtext_set (err, "%s: %s: %s; spank-tf is not installed whole there",
                                step->name, step_rank_name (step, rank, name, sizeof (name)),
                                step->member[rank].no_supervisor);
    step->supervised = true;
    step->grace = grace;
    step->last_words = last_words;
    return 0;
}

const char *step_notice (const struct step *step, int i)
{
    const char *notice[] = { step->choice.notice, step->near_notice };

    for (size_t n = 0; n < sizeof (notice) / sizeof (notice[0]); n++)
        if (notice[n][0] && i-- == 0)
            return notice[n];
    return NULL;
}

static int _nodes (const struct step *step)
{
    int nodes = 0;

    for (int i = 0; i < step->tasks; i++)
        if (i == 0 || step->member[i].node_index + 1 > nodes)
            nodes = step->member[i].node_index + 1;
    return nodes;
}

char *step_table (const struct step *step)
{
    int role_width = 4, node_width = 4, address_width = 7, nodes = _nodes (step);
    bool rails = step->choice.rails;
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream (&text, &size);

    if (!f)
        return NULL;
    for (int i = 0; i < step->tasks; i++) {
        const struct member *m = &step->member[i];
        int role = snprintf (NULL, 0, "%s %d", m->role, m->index);
        int node = (int)strlen (m->node);
        struct address_text room;
        int address = (int)strlen (address_print_port (&m->address, m->port, &room));

        address_width = address > address_width ? address : address_width;
        role_width = role > role_width ? role : role_width;
        node_width = node > node_width ? node : node_width;
    }
    fprintf (f, "spank_tf: %s: %d task%s on %d node%s%s%s\n", step->name, step->tasks,
             step->tasks == 1 ? "" : "s", nodes, nodes == 1 ? "" : "s",
             step->choice.network[0] ? ", network " : "", step->choice.network);
    fprintf (f, "%6s  %-*s  %-*s  %-*s%s\n", "rank", role_width, "role", node_width, "node",
             rails ? address_width + 2 : 0, "address", rails ? "interface" : "");
    for (int i = 0; i < step->tasks; i++) {
        const struct member *m = &step->member[i];
        struct address_text room;
        char role[TASKLIST_MAX_ROLE + 16];

        snprintf (role, sizeof (role), "%s %d", m->role, m->index);
        fprintf (f, "%6d  %-*s  %-*s  %-*s%s\n", i, role_width, role, node_width, m->node,
                 rails ? address_width + 2 : 0, address_print_port (&m->address, m->port, &room),
                 rails ? m->chosen_interface : "");
    }
    if (fclose (f) != 0) {
        free (text);
        return NULL;
    }
    return text;
}

/*
 * TensorFlow maps nearly all memory of every GPU that it sees, also in a ps that computes
 * nothing on it. To Level Zero an empty mask is none: a number that no device has hides them.
 */
static void _hide_gpus (struct frame *answer)
{
    frame_add (answer, "CUDA_VISIBLE_DEVICES", "%s", "");
    frame_add (answer, "ROCR_VISIBLE_DEVICES", "%s", "");
    frame_add (answer, "HIP_VISIBLE_DEVICES", "%s", "");
    frame_add (answer, "ZE_AFFINITY_MASK", "255");
}

int step_answer (const struct step *step, int rank, const char *proof,
                 struct step_answer *answer)
{
    static const char name[] = "TF_CONFIG=" DICTIONARY_HEAD;
    const struct member *m = &step->member[rank];
    struct dictionary_tail tail;
    struct address_text room;
    size_t cluster_len, tail_len, head_len;
    const char *cluster = dictionary_cluster (step->dictionary, m->role, &cluster_len);

    if (!(answer->head = frame_create ()))
        return -1;
    frame_add (answer->head, "PROOF", "%s", proof);
    frame_add (answer->head, "SLURM_TF_ROLE", "%s", m->role);
    frame_add (answer->head, "SLURM_TF_INDEX", "%d", m->index);
    frame_add (answer->head, "SLURM_TF_ADDRESS", "%s", address_print (&m->address, &room));
    frame_add (answer->head, "SLURM_TF_PORT", "%d", m->port);
    if (step->hide_gpus && strcmp (m->role, "ps") == 0)
        _hide_gpus (answer->head);
    if (m->proxied)
        frame_add (answer->head, "HOSTS", "%s", step->hosts);
    if (step->log_append)
        frame_add (answer->head, "LOG_APPEND", "1");
    if (step->supervised)
        frame_add (answer->head, "SUPERVISE", "%d", step->grace);
    if (step->supervised && !step->last_words)
        frame_add (answer->head, "MAY_LEAVE", "1");
    if (step->hold)
        frame_add (answer->head, "TF_GRPC_REUSE_PORT", "1");

    snprintf (answer->tail, sizeof (answer->tail), "%s",
              dictionary_tail (m->role, m->index, &tail));
    tail_len = strlen (answer->tail) + 1;
    answer->iov[1] = (struct iovec){ (void *)(uintptr_t)name, sizeof (name) - 1 };
    answer->iov[2] = (struct iovec){ (void *)(uintptr_t)cluster, cluster_len };
    answer->iov[3] = (struct iovec){ answer->tail, tail_len };
    answer->iov[0].iov_base = (void *)(uintptr_t)frame_bytes (
        answer->head, sizeof (name) - 1 + cluster_len + tail_len, &head_len);
    answer->iov[0].iov_len = head_len;
    if (answer->iov[0].iov_base)
        return 0;
    frame_destroy (answer->head);
    answer->head = NULL;
    return -1;
}
