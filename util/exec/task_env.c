/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "task_env.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/beside.h"
#include "common/list_text.h"
#include "common/tf_config.h"

/* The placeholders for the addresses of each role, and for their number. */
static const struct {
    const char *role;
    enum placeholder hosts;
    enum placeholder number;    /* PLACEHOLDERS: there is none */
} listed[] = {
    { "chief", PLACEHOLDER_CHIEF_HOSTS, PLACEHOLDERS },
    { "master", PLACEHOLDER_MASTER_HOSTS, PLACEHOLDERS },
    { "ps", PLACEHOLDER_PS_HOSTS, PLACEHOLDER_NUM_PS },
    { "worker", PLACEHOLDER_WORKER_HOSTS, PLACEHOLDER_NUM_WORKERS },
    { "evaluator", PLACEHOLDER_EVALUATOR_HOSTS, PLACEHOLDERS },
};

/* `value` belongs to the task from now on; NULL: there was no memory for it. */
static int _set_computed (struct task_env *task, enum placeholder which, char *value, struct errtext *err)
{
    if (!value)
        return errtext_set (err, "%s", strerror (ENOMEM));
    free (task->computed[which]);
    task->values.of[which] = task->computed[which] = value;
    return 0;
}

/* "10.0.0.1:4001,10.0.0.2:4001"; "" if there are no addresses; NULL if there is no memory. */
static char *_join (const json_t *addresses)
{
    size_t count = json_array_size (addresses), length = 1;
    char *text, *end;

    for (size_t i = 0; i < count; i++)
        length += json_string_length (json_array_get (addresses, i)) + 1;
    if (!(text = end = malloc (length)))
        return NULL;
    for (size_t i = 0; i < count; i++) {
        if (i)
            *end++ = ',';
        end = stpcpy (end, json_string_value (json_array_get (addresses, i)));
    }
    *end = '\0';
    return text;
}

static char *_number (size_t number)
{
    char *text;

    return asprintf (&text, "%zu", number) < 0 ? NULL : text;
}

static int _check_cluster (json_t *cluster, struct errtext *err)
{
    struct quoted q;
    const char *role;
    json_t *addresses, *address;
    size_t i;

    if (!json_is_object (cluster))
        return errtext_set (err, "TF_CONFIG has no object \"cluster\"");
    json_object_foreach (cluster, role, addresses) {
        if (!json_is_array (addresses))
            return errtext_set (err, "TF_CONFIG: \"%s\" of the cluster is not an array",
                                text_quoted (&q, role, strlen (role)));
        json_array_foreach (addresses, i, address)
            if (!json_is_string (address))
                return errtext_set (err, "TF_CONFIG: the address of %s %zu is not a string",
                                    text_quoted (&q, role, strlen (role)), i);
    }
    return 0;
}

static int _read_config (struct task_env *task, struct errtext *err)
{
    const char *text = task->values.of[PLACEHOLDER_TF_CONFIG];
    json_error_t wrong;
    struct quoted q;

    if (!text)
        return 0;
    if (!(task->config = json_loads (text, JSON_REJECT_DUPLICATES, &wrong)))
        return errtext_set (err, "TF_CONFIG is not JSON: %s (byte %d)",
                            text_quoted (&q, wrong.text, strlen (wrong.text)), wrong.position);
    task->cluster = json_object_get (task->config, "cluster");
    return _check_cluster (task->cluster, err);
}

static int _set_lists (struct task_env *task, struct errtext *err)
{
    if (!task->config)
        return 0;
    for (size_t i = 0; i < sizeof (listed) / sizeof (listed[0]); i++) {
        const json_t *addresses = json_object_get (task->cluster, listed[i].role);
        enum placeholder number = listed[i].number;

        if (_set_computed (task, listed[i].hosts, _join (addresses), err) < 0)
            return -1;
        if (number < PLACEHOLDERS
            && _set_computed (task, number, _number (json_array_size (addresses)), err) < 0)
            return -1;
    }
    return _set_computed (task, PLACEHOLDER_CLUSTER, json_dumps (task->cluster, JSON_COMPACT), err);
}

static int _add_beside (struct task_env *task, const char *name, struct errtext *err)
{
    struct beside_variable room;
    struct placeholder_beside *beside;
    const char *hosts;
    int i;

    if (!beside_is_name (name, strlen (name)) || !(hosts = getenv (beside_variable (name, &room))))
        return errtext_set (err, BESIDE_VARIABLE " is not what srun has set");
    if ((i = beside_add (&task->beside, name, err)) < 0)
        return -1;
    beside = &task->values.beside[i];
    snprintf (beside->name, sizeof (beside->name), "%s_hosts", name);
    beside->hosts = hosts;
    task->values.besides = task->beside.count;
    return 0;
}

/* The names of auxiliary tasks, and the placeholders for their addresses. */
static int _read_beside (struct task_env *task, struct errtext *err)
{
    const char *names = getenv (BESIDE_VARIABLE);
    char *rest, *name;

    if (!names)
        return 0;
    if (!(rest = task->names = strdup (names)))
        return errtext_set (err, "%s", strerror (ENOMEM));
    while ((name = strsep (&rest, ",")))
        if (_add_beside (task, name, err) < 0)
            return -1;
    return 0;
}

/* `place` is "worker 1", or "worker 1 at 10.0.0.3:4003". */
static int _check_variable (const char *name, const char *value, const char *wanted, const char *place,
                            struct errtext *err)
{
    const char *node = getenv ("SLURMD_NODENAME");
    struct quoted q, q_node, q_place;

    if (!value || strcmp (value, wanted) == 0)
        return 0;
    return errtext_set (
        err,
        "%s: %s \"%s\", but TF_CONFIG is that of %s; pass both on to the program as srun has set "
        "them: a container may have another task's",
        node ? text_quoted (&q_node, node, strlen (node)) : "this task", name,
        text_quoted (&q, value, strlen (value)), text_quoted (&q_place, place, strlen (place)));
}

/*
 * TF_CONFIG tells the program its place, and the variables tell it to tf-exec's placeholders: the program
 * must not run with two places. A container may have the variables of its node's first task (enroot's hooks).
 */
static int _check_place (const struct task_env *task, struct errtext *err)
{
    const json_t *own = json_object_get (task->config, "task"), *index = json_object_get (own, "index");
    const char *role = json_string_value (json_object_get (own, "type")), *address;
    const char *const *value = task->values.of, *ip = value[PLACEHOLDER_ADDRESS];
    char text[16], place[512], used[512];
    int i;

    if (!role || !json_is_integer (index))
        return 0;
    i = (int)json_integer_value (index);
    snprintf (text, sizeof (text), "%d", i);
    snprintf (place, sizeof (place), "%s %d", role, i);
    if (_check_variable ("SLURM_TF_ROLE is", value[PLACEHOLDER_ROLE], role, place, err) < 0
        || _check_variable ("SLURM_TF_INDEX is", value[PLACEHOLDER_INDEX], text, place, err) < 0)
        return -1;
    address = json_string_value (json_array_get (json_object_get (task->cluster, role), (size_t)i));
    if (!address || !ip || !value[PLACEHOLDER_PORT])
        return 0;
    snprintf (used, sizeof (used), strchr (ip, ':') ? "[%s]:%s" : "%s:%s", ip, value[PLACEHOLDER_PORT]);
    snprintf (place, sizeof (place), "%s %d at %s", role, i, address);
    return _check_variable ("SLURM_TF_ADDRESS and SLURM_TF_PORT are", used, address, place, err);
}

static int _fill (struct task_env *task, struct errtext *err)
{
    for (int i = 0; i < PLACEHOLDERS; i++)
        if (placeholders_variable[i])
            task->values.of[i] = getenv (placeholders_variable[i]);
    if (!task->values.of[PLACEHOLDER_ROLE])
        return errtext_set (err, "this is not a task of --tf-tasks (SLURM_TF_ROLE is not set); "
                                 "use srun --tf-tasks=LIST tf-exec ...");
    if (_read_config (task, err) < 0 || _check_place (task, err) < 0 || _read_beside (task, err) < 0)
        return -1;
    return _set_lists (task, err);
}

int task_env_read (struct task_env *task, struct errtext *err)
{
    memset (task, 0, sizeof (*task));
    if (_fill (task, err) == 0)
        return 0;
    task_env_clear (task);
    return -1;
}

void task_env_clear (struct task_env *task)
{
    json_decref (task->config);
    for (int i = 0; i < PLACEHOLDERS; i++)
        free (task->computed[i]);
    free (task->names);
}

bool task_env_knows_role (const struct task_env *task, const char *role)
{
    for (size_t i = 0; i < task->beside.count; i++)
        if (strcmp (role, task->beside.name[i]) == 0)
            return true;
    return !task->config || strcmp (role, task->values.of[PLACEHOLDER_ROLE]) == 0
           || json_object_get (task->cluster, role);
}

const char *task_env_roles (const struct task_env *task, char *buf, size_t size)
{
    struct list_text list = { buf, size, ", ", 0, 0, 0 };
    struct quoted q;
    const char *role;
    json_t *addresses;

    json_object_foreach (task->cluster, role, addresses)
        list_text_add (&list, text_quoted (&q, role, strlen (role)));
    for (size_t i = 0; i < task->beside.count; i++)
        list_text_add (&list, task->beside.name[i]);
    return list_text_end (&list);
}

int task_env_set_environment (struct task_env *task, const char *name, struct errtext *err)
{
    struct quoted q;
    size_t length;

    if (!task->config)
        return errtext_set (err, "TF_CONFIG is not set");
    if (json_object_set_new (task->config, "environment", json_string (name)) < 0)
        return errtext_set (err, "\"%s\" is not UTF-8", text_quoted (&q, name, strlen (name)));
    if (_set_computed (task, PLACEHOLDER_TF_CONFIG, json_dumps (task->config, JSON_COMPACT), err) < 0)
        return -1;
    length = strlen (task->values.of[PLACEHOLDER_TF_CONFIG]);
    if (length > TF_CONFIG_MAX_TEXT)
        return errtext_set (err, "TF_CONFIG would have %zu bytes; Linux allows at most %d", length,
                            TF_CONFIG_MAX_TEXT);
    return 0;
}
