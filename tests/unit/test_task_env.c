/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/tf_config.h"
#include "rendezvous/dictionary.h"
#include "exec/task_env.h"

#define CLUSTER \
    "{\"ps\":[\"10.0.0.1:4001\"],\"worker\":[\"10.0.0.2:4002\",\"10.0.0.3:4003\"]," \
    "\"logger\":[\"[fd00::1]:4004\"]}"
#define TASK ",\"task\":{\"type\":\"worker\",\"index\":1}}"

/* Set the environment of worker 1, with this TF_CONFIG unless it is NULL. */
static void set_environment (const char *config)
{
    clearenv ();
    setenv ("SLURM_TF_ROLE", "worker", 1);
    setenv ("SLURM_TF_INDEX", "1", 1);
    setenv ("SLURM_TF_ADDRESS", "10.0.0.3", 1);
    setenv ("SLURM_TF_PORT", "4003", 1);
    setenv ("SLURM_PROCID", "2", 1);
    setenv ("SLURMD_NODENAME", "n3", 1);
    if (config)
        setenv ("TF_CONFIG", config, 1);
}

static struct task_env *read_task (const char *config)
{
    struct task_env *task = NULL;

    set_environment (config);
    assert_int_equal (task_env_read (&task, NULL), 0);
    return task;
}

TEST (task_env_has_the_tasks_role_and_index)
{
    static const char *const expected[PLACEHOLDERS] = {
        [PLACEHOLDER_ROLE] = "worker",
        [PLACEHOLDER_INDEX] = "1",
        [PLACEHOLDER_ADDRESS] = "10.0.0.3",
        [PLACEHOLDER_PORT] = "4003",
        [PLACEHOLDER_RANK] = "2",
        [PLACEHOLDER_NODE] = "n3",
        /* NOLINTNEXTLINE(bugprone-suspicious-missing-comma): one text of three parts. */
        [PLACEHOLDER_TF_CONFIG] = TF_CONFIG_HEAD CLUSTER TASK,
        [PLACEHOLDER_CLUSTER] = CLUSTER,
        [PLACEHOLDER_CHIEF_HOSTS] = "",
        [PLACEHOLDER_MASTER_HOSTS] = "",
        [PLACEHOLDER_PS_HOSTS] = "10.0.0.1:4001",
        [PLACEHOLDER_WORKER_HOSTS] = "10.0.0.2:4002,10.0.0.3:4003",
        [PLACEHOLDER_EVALUATOR_HOSTS] = "",
        [PLACEHOLDER_NUM_PS] = "1",
        [PLACEHOLDER_NUM_WORKERS] = "2",
    };
    struct task_env *task = read_task (TF_CONFIG_HEAD CLUSTER TASK);

    for (int i = 0; i < PLACEHOLDERS; i++)
        if (i == PLACEHOLDER_TF_CONFIG_FILE)
            assert_null (task_env_values (task)->of[i]);
        else
            assert_string_equal (task_env_values (task)->of[i], expected[i]);
    task_env_destroy (task);
    task_env_destroy (NULL);
}

TEST (task_env_has_the_names_beside_the_cluster)
{
    struct task_env *task = NULL;
    char roles[64];
    char *text;

    set_environment (TF_CONFIG_HEAD CLUSTER TASK);
    setenv ("SLURM_TF_BESIDE", "data,Log_9", 1);
    setenv ("SLURM_TF_DATA", "10.0.0.5:1,10.0.0.6:2", 1);
    setenv ("SLURM_TF_LOG_9", "10.0.0.7:3", 1);
    assert_int_equal (task_env_read (&task, NULL), 0);
    assert_true (task_env_knows_role (task, "data"));
    assert_true (task_env_knows_role (task, "Log_9"));
    assert_false (task_env_knows_role (task, "log_9"));
    assert_string_equal (task_env_roles (task, roles, sizeof (roles)), "ps, worker, logger, data, Log_9");
    assert_int_equal (placeholders_replace (&text,
                                            "{data_hosts} {Log_9_hosts} {{data_hosts} "
                                            "{log_9_hosts} {x_hosts}",
                                            task_env_values (task), NULL),
                      0);
    assert_string_equal (text, "10.0.0.5:1,10.0.0.6:2 10.0.0.7:3 {data_hosts} {log_9_hosts} "
                               "{x_hosts}");
    free (text);
    task_env_destroy (task);
}

/* The user may have set them; what is not a list of names must not harm tf-exec. */
TEST (names_beside_the_cluster_that_srun_has_not_set_are_refused)
{
    static const char *const names[] = { "",    "data,", "data,x",
                                         "a-b", "../x",  "n23456789_n23456789_n23456789_n2" };
    struct task_env *task = NULL;
    struct errtext err;

    set_environment (TF_CONFIG_HEAD CLUSTER TASK);
    setenv ("SLURM_TF_DATA", "10.0.0.5:1", 1);
    for (size_t i = 0; i < COUNT (names); i++) {
        setenv ("SLURM_TF_BESIDE", names[i], 1);
        assert_int_equal (task_env_read (&task, &err), -1);
        assert_string_equal (err.text, "SLURM_TF_BESIDE is not what srun has set");
    }
    setenv ("SLURM_TF_BESIDE", "data,data", 1);
    assert_int_equal (task_env_read (&task, NULL), 0);
    task_env_destroy (task);
}

TEST (task_env_has_the_roles_of_the_cluster)
{
    struct task_env *task = read_task (TF_CONFIG_HEAD CLUSTER TASK);
    char roles[64];

    assert_string_equal (task_env_role (task), "worker");
    assert_true (task_env_knows_role (task, "ps"));
    assert_true (task_env_knows_role (task, "logger"));
    assert_false (task_env_knows_role (task, "chief"));
    assert_false (task_env_knows_role (task, ""));
    assert_string_equal (task_env_roles (task, roles, sizeof (roles)), "ps, worker, logger");
    assert_string_equal (task_env_roles (task, roles, 40), "ps and 2 more");
    task_env_destroy (task);

    task = read_task ("{\"cluster\":{}}");
    assert_true (task_env_knows_role (task, "worker"));
    task_env_destroy (task);
}

TEST (an_environment_is_added_to_tf_config)
{
    struct task_env *task = read_task (TF_CONFIG_HEAD CLUSTER TASK);
    struct errtext err;

    assert_int_equal (task_env_set_environment (task, "cloud", NULL), 0);
    assert_string_equal (task_env_values (task)->of[PLACEHOLDER_TF_CONFIG],
                         TF_CONFIG_HEAD CLUSTER ",\"task\":{\"type\":\"worker\",\"index\":1},"
                                                "\"environment\":\"cloud\"}");
    assert_int_equal (task_env_set_environment (task, "google", NULL), 0);
    assert_string_equal (task_env_values (task)->of[PLACEHOLDER_TF_CONFIG],
                         TF_CONFIG_HEAD CLUSTER ",\"task\":{\"type\":\"worker\",\"index\":1},"
                                                "\"environment\":\"google\"}");
    assert_string_equal (task_env_values (task)->of[PLACEHOLDER_CLUSTER], CLUSTER);
    assert_int_equal (task_env_set_environment (task, "\xff", &err), -1);
    assert_string_equal (err.text, "\"\\xff\" is not UTF-8");
    task_env_destroy (task);
}

TEST (an_environment_that_makes_tf_config_too_long_is_refused)
{
    struct task_env *task = read_task ("{\"cluster\":{}}");
    const int rest = TF_CONFIG_MAX_TEXT - (int)strlen ("{\"cluster\":{},\"environment\":\"\"}");
    char *name = calloc (1, (size_t)rest + 2);
    struct errtext err;

    assert_non_null (name);
    memset (name, 'x', (size_t)rest);
    assert_int_equal (task_env_set_environment (task, name, NULL), 0);
    name[rest] = 'x';
    assert_int_equal (task_env_set_environment (task, name, &err), -1);
    assert_string_equal (err.text, "TF_CONFIG would have 131061 bytes; Linux allows at most "
                                   "131060");
    free (name);
    task_env_destroy (task);
}

TEST (a_process_that_is_not_a_task_is_refused)
{
    static const struct {
        const char *config, *message;
    } row[] = {
        { NULL, "TF_CONFIG is not set, but SLURM_TF_ROLE is" },
        { "[]", "TF_CONFIG has no object \"cluster\"" },
        { "{}", "TF_CONFIG has no object \"cluster\"" },
        { "{\"cluster\":[]}", "TF_CONFIG has no object \"cluster\"" },
        { "{\"cluster\":{\"ps\":{\"0\":\"a:1\"}}}", "TF_CONFIG: \"ps\" of the cluster is not an array" },
        { "{\"cluster\":{\"ps\":[\"a:1\",null]}}", "TF_CONFIG: the address of ps 1 is not a string" },
    };
    struct task_env *task = NULL;
    struct errtext err;

    for (size_t i = 0; i < COUNT (row); i++) {
        set_environment (row[i].config);
        assert_int_equal (task_env_read (&task, &err), -1);
        assert_string_equal (err.text, row[i].message);
    }
    unsetenv ("SLURM_TF_ROLE");
    assert_int_equal (task_env_read (&task, &err), -1);
    assert_string_equal (err.text, "this is not a task of --tf-tasks (SLURM_TF_ROLE is not set); "
                                   "use srun --tf-tasks=LIST tf-exec ...");
    assert_null (task);
}
