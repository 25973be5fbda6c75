/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "srun_config.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/frameworks.h"
#include "common/helper.h"
#include "common/netlist.h"
#include "common/number.h"
#include "common/preflight.h"
#include "common/tasklist.h"
#include "common/value.h"
#include "options.h"
#include "protocol/rendezvous_config.h"

static bool _is_with (const char *text, enum rules_name role)
{
    struct tasklist *list;
    bool found = false;

    if (tasklist_parse (&list, text, NULL) < 0)
        return false;
    for (size_t i = 0; i < list->length; i++)
        found = found || rules_find (list->item[i].role) == role;
    tasklist_destroy (list);
    return found;
}

bool srun_config_has (enum rules_name role)
{
    enum option_id option;
    const char *list;

    for (size_t i = 0; (list = options_list (i, &option)); i++)
        if (_is_with (list, role))
            return true;
    return false;
}

bool srun_config_shows (void)
{
    int word = options_word (OPTION_SHOW);

    return word == SHOW_TABLES || word == SHOW_JSON;
}

bool srun_config_logs (void)
{
    return strcmp (options_value (OPTION_LOG_DIR), LOG_DIR_NONE) != 0;
}

/* PATH/NAME, if it is a program. */
static bool _is_notifier (char *buf, size_t size, const char *directory, size_t length, const char *name)
{
    struct stat st;

    return snprintf (buf, size, "%.*s%s%s", (int)length, directory, length > 0 ? "/" : "", name) < (int)size
           && access (buf, X_OK) == 0 && stat (buf, &st) == 0 && S_ISREG (st.st_mode);
}

/* As a shell finds it. */
static bool _find_notifier (char *buf, size_t size, const char *name)
{
    const char *path = getenv ("PATH");
    char directory[PATH_MAX];

    if (name[0] == '/')
        return _is_notifier (buf, size, "", 0, name);
    if (strchr (name, '/'))
        return getcwd (directory, sizeof (directory))
               && _is_notifier (buf, size, directory, strlen (directory), name);
    for (size_t length; path && *path; path += length + (path[length] == ':')) {
        length = strcspn (path, ":");
        if (*path == '/' && _is_notifier (buf, size, path, length, name))
            return true;
    }
    return false;
}

const char *srun_config_notify (struct errtext *err)
{
    static char program[PATH_MAX];
    const char *name = options_value (OPTION_USER_NOTIFY);

    if (strcmp (name, NOTIFY_NONE) == 0)
        return NULL;
    if (_find_notifier (program, sizeof (program), name))
        return program;
    errtext_set (err, "--tf-notify: %s is not a program on this host; give its path", name);
    return NULL;
}

struct restart_rule srun_config_restart (const struct srun_facts *facts)
{
    struct restart_rule rule = { .longest_pause = options_seconds (OPTION_RESTART_BACKOFF) };

    value_restart_parse (&rule.times, &rule.any, &rule.total, options_value (OPTION_RESTART));
    if (rule.times > 0 && !options_is_given (OPTION_RESTART) && facts->no_restart)
        rule.times = 0;
    return rule;
}

struct watch_rule srun_config_watchdog (void)
{
    const char *value = options_value (OPTION_WATCHDOG);
    struct watch_rule rule = { 0 };

    value_watchdog_parse (&rule.seconds, &rule.first, &rule.learns, value);
    rule.given = options_is_given (OPTION_WATCHDOG) && !rule.learns && strchr (value, ',');
    return rule;
}

/*
 * --open-mode, from the sources that srun uses, in its order: command line, environment (where
 * sbatch puts its own), JobFileAppend in slurm.conf. Unless the user has said so, a step truncates no files
 * of an earlier step of its job: they often have the same directory, as with %x-%j.
 */
static void _set_append (struct rendezvous_config *config, const struct srun_facts *facts)
{
    static const struct cmdline_option option = { "--open-mode", sizeof ("--op") - 1, 0 };
    const char *given = cmdline_find (&facts->options, &option);
    const char *mode = given ? given : getenv ("SLURM_OPEN_MODE");

    config->log_append = mode ? *mode == 'a' || *mode == 'A' : facts->appends_output;
    config->log_append_later = !mode;
}

/* This host, if it is a node, and may be that of the batch script (tf-abandoned asks Slurm); or NULL. */
static const char *_batch_host (void)
{
    bool asks = srun_config_has (RULES_SPARE) && options_word (OPTION_IF_ABANDONED) != VALUE_NO;

    return asks ? getenv ("SLURMD_NODENAME") : NULL;
}

/* No node counts as lost if none can be replaced. */
static int _lost_after (const struct srun_facts *facts)
{
    return srun_config_has (RULES_SPARE) && srun_config_restart (facts).times > 0
               ? options_seconds (OPTION_LOST_AFTER)
               : 0;
}

static int _job_restarts (void)
{
    const char *count = getenv ("SLURM_RESTART_COUNT");
    int restarts;

    return count && number_parse (&restarts, count, 0, FRAME_MAX_SECONDS) == 0 ? restarts : 0;
}

/* Users know a job of an array by "59_1". NULL if it is not of one. */
static const char *_array (char name[RENDEZVOUS_CONFIG_MAX_ARRAY + 1])
{
    const char *job = getenv ("SLURM_ARRAY_JOB_ID"), *task = getenv ("SLURM_ARRAY_TASK_ID");
    uint32_t id;
    int number;

    if (number_parse_id (&id, job) < 0 || id == 0 || number_parse (&number, task, 0, INT_MAX) < 0)
        return NULL;
    snprintf (name, RENDEZVOUS_CONFIG_MAX_ARRAY + 1, "%.10s_%.10s", job, task);
    return name;
}

/*
 * srun ends the step some time after its first task has ended: --wait, from the sources that srun uses,
 * in its order.
 */
int srun_config_wait (const struct srun_facts *facts)
{
    static const struct cmdline_option option = { "--wait", sizeof ("--wait") - 1, 'W' };
    const char *given = cmdline_find (&facts->options, &option),
               *text = given ? given : getenv ("SLURM_WAIT");
    int seconds = facts->wait_time;

    if (text)
        number_parse (&seconds, text, 0, INT_MAX);
    return seconds < FRAME_MAX_SECONDS ? seconds : FRAME_MAX_SECONDS;
}

/* A program is not stopped in its first second (util/supervise/machine.c), and srun counts whole seconds. */
#define WAIT_SPARE_S 2

int srun_config_stop_grace (int wait)
{
    int grace = options_seconds (OPTION_STOP_GRACE), most = wait > WAIT_SPARE_S ? wait - WAIT_SPARE_S : 0;

    return wait > 0 && grace > most ? most : grace;
}

/* tf-rendezvous has no environment of its own. */
static void _set_requeue (struct rendezvous_config *config)
{
    static char path[PATH_MAX];

    config->requeue = options_seconds (OPTION_REQUEUE);
    if (config->requeue == 0)
        return;
    config->requeue_wished = options_is_given (OPTION_REQUEUE);
    helper_find (path, sizeof (path), getenv ("PATH"), "scontrol");
    config->slurm_path = *path ? path : NULL;
    config->slurm_conf = getenv ("SLURM_CONF");
}

static int _add_lists (struct rendezvous_config *config, struct errtext *err)
{
    enum option_id option;
    const char *list;

    while ((list = options_list (config->lists, &option))) {
        if (config->lists == RENDEZVOUS_CONFIG_MAX_LISTS)
            return errtext_set (err, "--tf-tasks: more than %d components", RENDEZVOUS_CONFIG_MAX_LISTS);
        config->list[config->lists].text = list;
        config->list[config->lists].per_node = option == OPTION_TASKS_PER_NODE;
        config->lists++;
    }
    return 0;
}

#define SET_WORD(field, type, name) config.field = (type)options_word (OPTION_##name);

/* Of srun's user; NULL if nothing has it. */
static const char *_user_name (void)
{
    static char buf[4096];
    struct passwd room, *user = NULL;

    if (STATIC_PROGRAMS)
        return getenv ("USER");
    return getpwuid_r (getuid (), &room, buf, sizeof (buf), &user) == 0 && user ? user->pw_name : NULL;
}

static const char *_host_name (void)
{
    static char name[HOST_NAME_MAX + 1];

    return gethostname (name, sizeof (name) - 1) == 0 ? name : NULL;
}

struct frame *srun_config_encode (const struct srun_facts *facts, const struct contact *contact,
                                  const char *step, struct errtext *err)
{
    const char *networks = options_value (OPTION_NETWORK);
    char array[RENDEZVOUS_CONFIG_MAX_ARRAY + 1];
    int wait = srun_config_wait (facts);
    struct rendezvous_config config = {
        .token = contact->token,
        .server_token = contact->server_token,
        .step = step,
        .array = _array (array),
        .user = _user_name (),
        .job_name = getenv ("SLURM_JOB_NAME"),
        .partition = getenv ("SLURM_JOB_PARTITION"),
        .cluster = getenv ("SLURM_CLUSTER_NAME"),
        .srun_host = _host_name (),
        .inherited = !options_is_own (OPTION_TASKS) && !options_is_own (OPTION_TASKS_PER_NODE),
        .timeout = contact->timeout,
        .show = srun_config_shows (),
        .json = options_word (OPTION_SHOW) == SHOW_JSON,
        .notify = options_value (OPTION_NOTIFY),
        .user_notify = srun_config_notify (NULL),
        .job_restarts = _job_restarts (),
        .tee = srun_config_logs () && options_word (OPTION_TEE) == VALUE_YES,
        .stop_grace = srun_config_stop_grace (wait),
        .eval_grace = options_seconds (OPTION_EVAL_GRACE),
        .fail_grace = options_seconds (OPTION_FAIL_GRACE),
        .hide_gpus = options_word (OPTION_HIDE_GPUS),
        .nccl = options_word (OPTION_NCCL),
        .debugged = facts->debugged,
        .restart = srun_config_restart (facts),
        .watch = srun_config_watchdog (),
        .lost_after = _lost_after (facts),
        .wait = wait,
        .task = { .batch_host = _batch_host () },
    };
    static const struct cmdline_option het_group_option = { "--het-group", sizeof ("--het-group") - 1, 0 };
    struct frame *frame = NULL;

    RENDEZVOUS_CONFIG_WORDS (SET_WORD)
    if (config.task.batch_host)
        config.task.if_abandoned = options_value (OPTION_IF_ABANDONED);
    if (preflight_is_on (options_value (OPTION_PREFLIGHT)))
        config.task.preflight = options_value (OPTION_PREFLIGHT);
    if (!cmdline_has (&facts->line, ":"))
        config.het_group = cmdline_find (&facts->options, &het_group_option);
    _set_append (&config, facts);
    _set_requeue (&config);
    if (strcmp (networks, NETLIST_ANY) != 0) {
        config.networks = networks;
        config.networks_required = options_is_given (OPTION_NETWORK);
    }
    frameworks_parse (&config.frameworks, options_value (OPTION_FRAMEWORKS), err);
    /* Without variables a task is not expected to use its address. */
    config.ask_alone = config.frameworks && options_word (OPTION_SHOW) != SHOW_QUIET;
    if (_add_lists (&config, err) == 0 && !(frame = fields_frame (&rendezvous_config_fields, &config)))
        errtext_set (err, "%s", strerror (ENOMEM));
    return frame;
}
