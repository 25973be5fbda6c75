/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * step.golden has what a dictionary is; here is how long it may be.
 */
#include "config.h"

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/tf_config.h"
#include "rendezvous/dictionary.h"

static struct dictionary_task task (const char *role, int index, const char *address, int port)
{
    struct dictionary_task task = { .role = role, .index = index, .port = port };

    assert_int_equal (address_parse (&task.address, address), 0);
    return task;
}

/* The whole TF_CONFIG of this task. The caller frees it. */
static char *config (const struct dictionary *dictionary, const char *role, int index)
{
    struct dictionary_tail tail;
    size_t length;
    const char *cluster = dictionary_cluster (dictionary, role, &length);
    char *text;

    assert_int_equal (strlen (cluster), length);
    assert_true (asprintf (&text, TF_CONFIG_HEAD "%s%s", cluster, dictionary_tail (role, index, &tail)) > 0);
    return text;
}

static struct dictionary *create (const struct dictionary_task *tasks, size_t count)
{
    struct dictionary *dictionary = NULL;
    struct errtext err = { "" };

    if (dictionary_create (&dictionary, tasks, count, &err) < 0)
        fail_msg ("%s", err.text);
    return dictionary;
}

TEST (the_longest_tail_fits_its_buffer)
{
    static const char role[] = "r23456789_r23456789_r23456789_r23456789_r23456789_r23456789_r23";
    struct dictionary_tail room;

    dictionary_tail (role, 1048575, &room);
    assert_non_null (strstr (room.text, "\"index\":1048575}}"));
}

/*
 * Create workers such that the longest TF_CONFIG, the last worker's, has exactly `length` bytes:
 * one worker too many, with ports shortened until the length is right. The caller frees the array.
 */
static struct dictionary_task *workers (size_t length, size_t *count)
{
    static const int port[] = { 40000, 4000, 400, 40, 4 };
    struct dictionary_task *tasks = calloc (10000, sizeof (*tasks));
    size_t total = strlen ("{\"cluster\":{\"worker\":[]},\"task\":{\"type\":\"worker\",\"index\":"
                           "1000}}")
                   - strlen (",");

    assert_non_null (tasks);
    for (*count = 0; total < length; (*count)++) {
        tasks[*count] = task ("worker", (int)*count, "10.0.0.1", 40000);
        total += strlen (",\"10.0.0.1:40000\"");
    }
    assert_between (*count, 1001, 9999);       /* the last index has four digits */
    for (size_t i = 0; total > length; i++) {
        size_t cut = total - length < 4 ? total - length : 4;

        tasks[i].port = port[cut];
        total -= cut;
    }
    return tasks;
}

TEST (the_longest_tf_config_is_accepted)
{
    size_t count;
    struct dictionary_task *tasks = workers (TF_CONFIG_MAX_TEXT, &count);
    struct dictionary *dictionary = create (tasks, count);
    char *text = config (dictionary, "worker", tasks[count - 1].index);

    assert_int_equal (strlen (text), TF_CONFIG_MAX_TEXT);
    free (text);
    dictionary_destroy (dictionary);
    free (tasks);
}

/* An answer has room for TF_CONFIG_MAX_TEXT bytes of addresses, wherever they are. */
TEST (the_addresses_beside_the_cluster_count_too)
{
    static const char variables[] = "SLURM_TF_BESIDE=x SLURM_TF_X=10.0.0.1:40000 ";
    size_t count;
    struct dictionary_task *tasks = workers (TF_CONFIG_MAX_TEXT - strlen (variables), &count);
    struct dictionary *dictionary = NULL;
    struct errtext err;

    tasks[count++] = task ("+x", 0, "10.0.0.1", 40000);
    dictionary_destroy (create (tasks, count));
    tasks[count++] = task ("+x", 1, "10.0.0.1", 4);
    assert_int_equal (dictionary_create (&dictionary, tasks, count, &err), -1);
    assert_string_equal (err.text, "TF_CONFIG and the addresses of the auxiliary tasks would "
                                   "have 131071 bytes; at most 131060 are possible");
    free (tasks);
}

TEST (a_longer_tf_config_is_refused_with_its_length_and_the_limit)
{
    size_t count;
    struct dictionary_task *tasks = workers (TF_CONFIG_MAX_TEXT + 1, &count);
    struct dictionary *dictionary = NULL;
    struct errtext err;
    char message[128];

    snprintf (message, sizeof (message),
              "the TF_CONFIG of %zu tasks would have 131061 bytes; "
              "Linux allows at most 131060",
              count);
    assert_int_equal (dictionary_create (&dictionary, tasks, count, &err), -1);
    assert_null (dictionary);
    assert_string_equal (err.text, message);
    free (tasks);
}

TEST (the_evaluators_longer_tf_config_must_fit)
{
    size_t count;
    struct dictionary_task *tasks = workers (TF_CONFIG_MAX_TEXT, &count);
    struct dictionary *dictionary = NULL;
    struct errtext err;

    tasks[count] = task ("evaluator", 0, "10.0.0.1", 1);
    assert_int_equal (dictionary_create (&dictionary, tasks, count + 1, &err), -1);
    assert_null (dictionary);
    free (tasks);
}

/* True if Linux executes a program with this TF_CONFIG. */
static bool can_run_with (const char *text)
{
    int status;
    pid_t pid = fork ();

    if (pid == 0) {
        setenv ("TF_CONFIG", text, 1);
        execlp ("true", "true", NULL);
        _exit (1);
    }
    waitpid (pid, &status, 0);
    return status == 0;
}

TEST (linux_accepts_the_longest_tf_config_but_not_two_bytes_more)
{
    char *text = malloc (TF_CONFIG_MAX_TEXT + 3);

    memset (text, 'x', TF_CONFIG_MAX_TEXT + 3);
    text[TF_CONFIG_MAX_TEXT] = '\0';
    assert_true (can_run_with (text));
    /* Slurm's own limit is one byte lower. */
    text[TF_CONFIG_MAX_TEXT] = 'x';
    text[TF_CONFIG_MAX_TEXT + 2] = '\0';
    assert_false (can_run_with (text));
    free (text);
}
