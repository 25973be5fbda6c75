/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "srun.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/cmdline.h"
#include "common/errtext.h"
#include "common/frameworks.h"
#include "common/list_text.h"
#include "common/logdir.h"
#include "common/netlist.h"
#include "common/number.h"
#include "common/port.h"
#include "common/rules.h"
#include "common/tasklist.h"
#include "common/value.h"
#include "containers.h"
#include "options.h"
#include "protocol/contact.h"
#include "protocol/rendezvous_config.h"
#include "launch/rendezvous.h"
#include "site.h"
#include "slurm_private.h"
#include "submission.h"

/*
 * One rendezvous for all components. Its port is held for as long as srun lives, and is listened on until the
 * rendezvous has a socket of its own for that.
 */
static struct contact contact;
static struct port *reserved;

static char program[4096];

static int _check_options (struct errtext *err)
{
    if (options_end_component (err) < 0)
        return -1;
    if (options_use () == OPTIONS_ON && site_error ())
        return errtext_set (err, "%s", site_error ());
    return 0;
}

static bool _is_with (const char *text, enum rules_name role)
{
    struct tasklist *list;
    bool found = false;

    if (tasklist_parse (&list, text, NULL) < 0)
        return false;
    for (size_t i = 0; i < tasklist_length (list); i++)
        found = found || rules_find (tasklist_item (list, i)->role) == role;
    tasklist_destroy (list);
    return found;
}

static bool _has (enum rules_name role)
{
    enum option_id option;
    const char *list;

    for (size_t i = 0; (list = options_list (i, &option)); i++)
        if (_is_with (list, role))
            return true;
    return false;
}

static bool _has_spares (void)
{
    return _has (RULES_SPARE);
}

/* Slurm would end the job with the node for which the spare is there. */
static void _say_what_kills (const struct submission *submission)
{
    if (submission->dies_with_node && _has_spares ())
        slurm_info (
            "spank_tf: --tf-tasks: with spare tasks, the job has to survive the loss of a node: give it "
            "--no-kill, and its srun, too");
}

static void _say_what_runs_once (const struct submission *submission)
{
    if (submission->runs_once)
        slurm_info ("spank_tf: --tf-tasks: the script starts a Python program without srun or another "
                    "launcher: it runs once, on the first node, and without TF_CONFIG; to start it for each "
                    "task, write \"srun python ...\"");
}

/* A list that needs more tasks than the job has. One that needs less may be for an srun -n. */
static void _say_what_does_not_fit (const struct submission *submission, struct tasklist *list,
                                    enum option_id option)
{
    bool per_node = option == OPTION_TASKS_PER_NODE && submission->tasks_per_node;
    int tasks = per_node ? submission->tasks_per_node : submission->tasks;
    struct errtext why;

    if (tasks > 0 && tasklist_named (list) + tasklist_has_rest (list) > tasks
        && rules_assign (list, NULL, tasks, per_node ? "a node of this job" : "srun in this job",
                         option == OPTION_TASKS ? "--tf-tasks" : "--tf-tasks-per-node", &why)
               < 0)
        slurm_info ("spank_tf: %s; an srun with its own number of tasks may fit", why.text);
}

/* An srun in the script may have options of its own, so nothing is refused. */
static void _say_what_the_job_lacks (void)
{
    enum option_id option;
    const char *text = options_list (0, &option);
    struct submission submission;
    struct tasklist *list;

    submission_read (&submission);
    _say_what_kills (&submission);
    _say_what_runs_once (&submission);
    if (tasklist_parse (&list, text, NULL) < 0)
        return;
    _say_what_does_not_fit (&submission, list, option);
    tasklist_destroy (list);
}

static int _find_program (struct errtext *err)
{
    if (snprintf (program, sizeof (program), "%s/tf-rendezvous", options_value (OPTION_LIBEXECDIR))
        >= (int)sizeof (program))
        return errtext_set (err, "libexecdir= is too long");
    if (access (program, X_OK) < 0)
        return errtext_set (err, "%s: %s; spank-tf is not installed completely on this host", program,
                            strerror (errno));
    return 0;
}

static int _reserve_port (struct errtext *err)
{
    struct port_ranges ranges;
    struct errtext why;

    if (reserved)
        return 0;
    port_ranges_parse (&ranges, options_value (OPTION_RENDEZVOUS_PORTS), NULL);
    if (ranges.count == 0 && slurm_private_srun_ports (&ranges.range[0]))
        ranges.count = 1;
    if (contact_make_tokens (&contact, err) < 0)
        return -1;
    if (port_reserve_listening (&reserved, &ranges, (unsigned int)getpid (), &why) < 0)
        return errtext_set (err, "srun's rendezvous: %s", why.text);
    contact.port = port_number (reserved);
    return 0;
}

static bool _shows (void)
{
    int word = options_word (OPTION_SHOW);

    return word == SHOW_TABLES || word == SHOW_JSON;
}

static bool _logs (void)
{
    return strcmp (options_value (OPTION_LOG_DIR), LOG_DIR_NONE) != 0;
}

/* What the rendezvous must know of the interfaces to choose addresses and to show the choice. */
static enum contact_ask _ask (void)
{
    if (options_word (OPTION_IB) != IB_NO)
        return CONTACT_ASK_RAILS;
    if (strcmp (options_value (OPTION_NETWORK), NETLIST_ANY) != 0 || _shows () || _logs ())
        return CONTACT_ASK_INTERFACES;
    return CONTACT_ASK_NOTHING;
}

/* The tasks replace the patterns in it. */
static int _export_log_dir (void)
{
    return _logs () ? setenv (LOGDIR_VARIABLE, options_value (OPTION_LOG_DIR), 1) : 0;
}

static int _export_contact (void)
{
    char *text = contact_encode (&contact);
    int rc = text ? setenv (CONTACT_VARIABLE, text, 1) : -1;

    free (text);
    return rc;
}

/* The last part of a path, or the text itself. */
static const char *_base (const char *path)
{
    const char *slash = strrchr (path, '/');

    return slash ? slash + 1 : path;
}

static bool _runs_torchrun (void)
{
    struct cmdline line;
    bool runs = false;

    cmdline_read (&line);
    for (size_t i = 1; i < line.count; i++)
        runs = runs || strcmp (_base (line.text[i]), "torchrun") == 0
               || strcmp (line.text[i], "torch.distributed.run") == 0;
    cmdline_clear (&line);
    return runs;
}

/*
 * Does the program look up its node's own name? JAX on CPUs does, and torchrun. What cannot be known of a
 * script is known from its environment, or because the user has written "jax".
 */
static bool _needs_own_names (unsigned int frameworks)
{
    const char *backend = getenv ("KERAS_BACKEND"), *platforms = getenv ("JAX_PLATFORMS");

    if (_runs_torchrun ())
        return true;
    if (!(frameworks & FRAMEWORK_JAX) || (platforms && !strstr (platforms, "cpu")))
        return false;
    return platforms || options_is_given (OPTION_FRAMEWORKS) || (backend && strcmp (backend, "jax") == 0);
}

static int _export (struct errtext *err)
{
    unsigned int frameworks;

    contact.timeout = options_seconds (OPTION_TIMEOUT);
    contact.hold = options_word (OPTION_HOLD);
    contact.ask = _ask ();
    frameworks_parse (&frameworks, options_value (OPTION_FRAMEWORKS), err);
    contact.second_port = frameworks & FRAMEWORK_TORCH;
    contact.own_name = _needs_own_names (frameworks);
    if (snprintf (contact.ports, sizeof (contact.ports), "%s", options_value (OPTION_PORTS))
        >= (int)sizeof (contact.ports))
        return errtext_set (err, "--tf-ports: too many ranges");
    if (_export_log_dir () < 0 || _export_contact () < 0)
        return errtext_set (err, "%s", strerror (errno));
    return 0;
}

/* --tf-restart; a site's default does not count where it cannot work. */
static struct restart_rule _restart (void)
{
    struct restart_rule rule = { .longest_pause = options_seconds (OPTION_RESTART_BACKOFF) };

    value_restart_parse (&rule.times, &rule.any, &rule.total, options_value (OPTION_RESTART));
    if (rule.times > 0 && !options_is_given (OPTION_RESTART) && containers_forbid_restart ())
        rule.times = 0;
    return rule;
}

/* --tf-watchdog; FIRST of a site's default says nothing about this program. */
static struct watch_rule _watchdog (void)
{
    const char *value = options_value (OPTION_WATCHDOG);
    struct watch_rule rule = { 0 };

    value_watchdog_parse (&rule.seconds, &rule.first, &rule.learns, value);
    rule.given = options_is_given (OPTION_WATCHDOG) && !rule.learns && strchr (value, ',');
    return rule;
}

static int _check_restart (struct errtext *err)
{
    const char *why = _restart ().times > 0 ? containers_forbid_restart () : NULL;

    return why ? errtext_set (err, "--tf-restart: %s", why) : 0;
}

/* Spare tasks. */

/* --no-kill of srun, from the sources that it uses, in its order. */
static bool _is_no_kill (void)
{
    struct cmdline line, options;
    bool no_kill;

    cmdline_read (&line);
    options = line;
    if (optind > 0 && line.count > (size_t)optind)
        options.count = (size_t)optind;
    no_kill = cmdline_no_kill (&options, "SLURM_NO_KILL");
    cmdline_clear (&line);
    return no_kill;
}

/* Otherwise Slurm ends the step with the node for which the spare is there. */
static int _check_spares (struct errtext *err)
{
    if (!_has_spares ())
        return 0;
    if (_restart ().times == 0)
        return errtext_set (err, "--tf-tasks: a spare takes the place of a lost task when all are restarted: "
                                 "give srun --tf-restart=N, too");
    if (!_is_no_kill ())
        return errtext_set (err, "--tf-tasks: with spare tasks, the step has to survive the loss of a node: "
                                 "give srun --no-kill, and sbatch or salloc, too");
    return 0;
}

/* A job's --tf-tee, or a site's, is for those of its steps that have log files. */
static int _check_tee (struct errtext *err)
{
    if (_logs () || !options_is_own (OPTION_TEE) || options_word (OPTION_TEE) == VALUE_NO)
        return 0;
    return errtext_set (err, "--tf-tee needs --tf-log-dir: it writes the output of tasks to their log files "
                             "and to srun");
}

static int _prepare (struct errtext *err)
{
    if (_check_options (err) < 0)
        return -1;
    switch (options_use ()) {
        case OPTIONS_UNUSED: return 0;
        case OPTIONS_OFF: return setenv (CONTACT_VARIABLE, CONTACT_OFF, 1);
        case OPTIONS_ON: break;
    }
    if (_check_restart (err) < 0 || _check_spares (err) < 0 || _check_tee (err) < 0 || _find_program (err) < 0
        || _reserve_port (err) < 0)
        return -1;
    return _export (err);
}

/*
 * In init_post_opt: print why, and end the command with the exit code that it has for errors. There is
 * neither a job nor a step yet, and Slurm itself calls exit () after an init_post_opt that fails; but first
 * it prints two lines about the plugin, and with `optional` in plugstack.conf it goes on.
 */
static noreturn void _refuse (const char *why)
{
    int code;

    /* srun(1), sbatch(1), salloc(1) */
    if (number_parse (&code, getenv ("SLURM_EXIT_ERROR"), 1, 255) < 0)
        code = 1;
    slurm_error ("spank_tf: %s", why);
    exit (code);
}

void srun_prepare (void)
{
    struct errtext err;

    /* An interactive shell keeps the variables of the srun that started it. */
    unsetenv (CONTACT_VARIABLE);
    unsetenv (LOGDIR_VARIABLE);
    if (_prepare (&err) < 0)
        _refuse (err.text);
}

void srun_check_submission (void)
{
    struct errtext err;

    if (_check_options (&err) < 0)
        _refuse (err.text);
    if (options_use () == OPTIONS_ON)
        _say_what_the_job_lacks ();
}

/* The rendezvous' configuration. */

/*
 * --open-mode, from the sources that srun uses, in its order: command line, environment (where
 * sbatch puts its own), JobFileAppend in slurm.conf. Unless the user has said so, a step truncates no files
 * of an earlier step of its job: they often have the same directory, as with %x-%j.
 */
static bool _appends_output (uint32_t step, const struct cmdline_program *of_step)
{
    static const struct cmdline_option option = { "--open-mode", sizeof ("--op") - 1, 0 };
    char *given = cmdline_value (&option, of_step);
    const char *mode = given ? given : getenv ("SLURM_OPEN_MODE");
    bool appends = mode ? *mode == 'a' || *mode == 'A' : step > 0 || slurm_private_appends_output ();

    free (given);
    return appends;
}

/* This host, if it is a node, and may be that of the batch script (tf-abandoned asks Slurm); or NULL. */
static const char *_batch_host (void)
{
    bool asks = _has_spares () && options_word (OPTION_IF_ABANDONED) != VALUE_NO;

    return asks ? getenv ("SLURMD_NODENAME") : NULL;
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
    int number;

    if (number_parse (&number, job, 1, INT_MAX) < 0 || number_parse (&number, task, 0, INT_MAX) < 0)
        return NULL;
    snprintf (name, RENDEZVOUS_CONFIG_MAX_ARRAY + 1, "%.10s_%.10s", job, task);
    return name;
}

/*
 * srun ends the step some time after its first task has ended: --wait, from the sources that srun uses,
 * in its order.
 */
static int _wait (const struct cmdline_program *of_step)
{
    static const struct cmdline_option option = { "--wait", sizeof ("--wait") - 1, 'W' };
    char *given = cmdline_value (&option, of_step);
    const char *text;
    int seconds = slurm_private_wait_time ();

    if ((text = given ? given : getenv ("SLURM_WAIT")))
        number_parse (&seconds, text, 0, INT_MAX);
    free (given);
    return seconds < FRAME_MAX_SECONDS ? seconds : FRAME_MAX_SECONDS;
}

/* A program is not stopped in its first second (util/supervise/machine.c), and srun counts whole seconds. */
#define WAIT_SPARE_S 2

/* Of SIGTERM's grace, so that a task which is stopped when the first one ends is not killed by srun. */
static int _stop_grace (int wait)
{
    int grace = options_seconds (OPTION_STOP_GRACE), most = wait > WAIT_SPARE_S ? wait - WAIT_SPARE_S : 0;

    return wait > 0 && grace > most ? most : grace;
}

/* What the user, or the site, has promised to tasks, and srun will not keep. */
static void _say_what_wait_cuts (int wait)
{
    int grace = options_seconds (OPTION_STOP_GRACE), most = _stop_grace (wait);
    int eval = options_seconds (OPTION_EVAL_GRACE), eval_most = wait > most ? wait - most - 1 : 0;
    bool cuts_evaluator = eval > eval_most && _has (RULES_EVALUATOR);
    char evaluator[96] = "", stopped[96] = "";

    if (wait == 0 || (grace == most && !cuts_evaluator))
        return;
    if (cuts_evaluator)
        snprintf (evaluator, sizeof (evaluator), "an evaluator has at most %d s, not %d s, to finish%s",
                  eval_most, eval, grace > most ? "; " : "");
    if (grace > most)
        snprintf (stopped, sizeof (stopped), "a task that is stopped has %d s, not %d s", most, grace);
    slurm_info ("spank_tf: srun kills all tasks %d s after the first one has ended (--wait): %s%s", wait,
                evaluator, stopped);
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

    return getpwuid_r (getuid (), &room, buf, sizeof (buf), &user) == 0 && user ? user->pw_name : NULL;
}

static const char *_host_name (void)
{
    static char name[HOST_NAME_MAX + 1];

    return gethostname (name, sizeof (name) - 1) == 0 ? name : NULL;
}

static struct frame *_configuration (const char *step, uint32_t number, const struct cmdline_program *of_step,
                                     struct errtext *err)
{
    const char *networks = options_value (OPTION_NETWORK);
    char array[RENDEZVOUS_CONFIG_MAX_ARRAY + 1];
    int wait = _wait (of_step);
    struct rendezvous_config config = {
        .token = contact.token,
        .server_token = contact.server_token,
        .step = step,
        .array = _array (array),
        .user = _user_name (),
        .job_name = getenv ("SLURM_JOB_NAME"),
        .partition = getenv ("SLURM_JOB_PARTITION"),
        .cluster = getenv ("SLURM_CLUSTER_NAME"),
        .srun_host = _host_name (),
        .inherited = options_list_inherited (),
        .timeout = contact.timeout,
        .show = _shows (),
        .json = options_word (OPTION_SHOW) == SHOW_JSON,
        .notify = options_value (OPTION_NOTIFY),
        .log_append = _appends_output (number, of_step),
        .job_restarts = _job_restarts (),
        .tee = _logs () && options_word (OPTION_TEE) == VALUE_YES,
        .stop_grace = _stop_grace (wait),
        .eval_grace = options_seconds (OPTION_EVAL_GRACE),
        .fail_grace = options_seconds (OPTION_FAIL_GRACE),
        .hide_gpus = options_word (OPTION_HIDE_GPUS),
        .nccl = options_word (OPTION_NCCL),
        .debugged = slurm_private_is_debugged (),
        .restart = _restart (),
        .watch = _watchdog (),
        .lost_after = _has_spares () ? options_seconds (OPTION_LOST_AFTER) : 0,
        .wait = wait,
        .task = { .batch_host = _batch_host () },
    };
    static const struct cmdline_option het_group_option = { "--het-group", sizeof ("--het-group") - 1, 0 };
    char *het_group = cmdline_value (&het_group_option, of_step);
    struct frame *frame = NULL;

    RENDEZVOUS_CONFIG_WORDS (SET_WORD)
    if (config.task.batch_host)
        config.task.if_abandoned = options_value (OPTION_IF_ABANDONED);
    config.het_group = het_group;
    if (strcmp (networks, NETLIST_ANY) != 0) {
        config.networks = networks;
        config.networks_required = options_is_given (OPTION_NETWORK);
    }
    frameworks_parse (&config.frameworks, options_value (OPTION_FRAMEWORKS), err);
    /* Without variables a task is not expected to use its address. */
    config.ask_alone = config.frameworks && options_word (OPTION_SHOW) != SHOW_QUIET;
    if (_add_lists (&config, err) == 0 && !(frame = rendezvous_config_encode (&config)))
        errtext_set (err, "%s", strerror (ENOMEM));
    free (het_group);
    return frame;
}

/*
 * mpirun starts its daemons by an srun whose stderr is /dev/null, and that inherits the job's list. A list
 * that does not fit would show as a text of Open MPI's about networks; so messages go to mpirun's own stderr.
 */
static const char *_stderr_of_mpirun (const struct cmdline_program *of_step, char *path, size_t size)
{
    const char *name = of_step->argc > 0 ? basename (of_step->argv[0]) : "";
    struct stat err, null;

    if ((strcmp (name, "orted") != 0 && strcmp (name, "prted") != 0) || fstat (STDERR_FILENO, &err) < 0
        || stat ("/dev/null", &null) < 0 || err.st_rdev != null.st_rdev)
        return NULL;
    snprintf (path, size, "/proc/%d/fd/%d", (int)getppid (), STDERR_FILENO);
    return access (path, W_OK) == 0 ? path : NULL;
}

/*
 * A process that srun has forked meanwhile, its shepherd, has the socket that listens, too: if
 * tf-rendezvous were killed, tasks would connect to that, and get no answer. So tf-rendezvous gets another
 * one.
 */
static int _start (const char *step, uint32_t number, const struct cmdline_program *of_step,
                   struct errtext *err)
{
    struct frame *configuration = _configuration (step, number, of_step, err);
    char path[64];
    const char *messages = _stderr_of_mpirun (of_step, path, sizeof (path));
    int listener = -1, rc = -1;

    if (configuration && (listener = port_listen_anew (reserved, err)) >= 0)
        rc = rendezvous_start (program, step, messages, listener, configuration, err);
    frame_destroy (configuration);
    return rc;
}

/* Has Slurm a file of its own for each task, or node? Digits may stand in a pattern: %3t. */
static bool _differs_by_task (const char *name)
{
    while ((name = strchr (name, '%'))) {
        name += 1 + strspn (name + 1, "0123456789");
        if (*name && strchr ("tnN", *name))
            return true;
    }
    return false;
}

/*
 * --input, from srun's sources, in its order: with the number of a task, only that one has srun's stdin. A
 * spare would go on with an input that is not its place's.
 */
static int _check_input (const struct cmdline_program *of_step, struct errtext *err)
{
    static const struct cmdline_option option = { "--input", sizeof ("--in") - 1, 'i' };
    char *given = _has_spares () ? cmdline_value (&option, of_step) : NULL;
    const char *input = given || !_has_spares () ? given : getenv ("SLURM_STDINMODE");
    int rc = 0;

    if (input && *input && (!input[strspn (input, "0123456789")] || _differs_by_task (input)))
        rc = errtext_set (err,
                          "--input=%s: a spare would not have the input of the task whose place it takes; "
                          "with spare tasks, give all tasks the same input",
                          input);
    free (given);
    return rc;
}

/*
 * Without a list the other options do nothing. Those of the job or the site are meant for other steps, but
 * one on this srun's command line has probably lost its list. Not an error: an alias may have given it.
 */
static void _say_what_has_no_effect (void)
{
    static bool said;
    char names[256], name[64];
    struct list_text list = { names, sizeof (names), ", ", 0, 0, 0 };

    if (said)
        return;
    said = true;
    for (int i = 0; i < OPTION_COUNT; i++)
        if (options_is_own ((enum option_id)i)) {
            snprintf (name, sizeof (name), "--%s", option_table[i].name);
            list_text_add (&list, name);
        }
    if (list.named)
        slurm_info ("spank_tf: %s: no effect without --tf-tasks", list_text_end (&list));
}

/* Without messages nothing is watched then. */
static void _say_what_is_watched (void)
{
    if (options_is_given (OPTION_WATCHDOG) && _watchdog ().seconds > 0 && !_logs ())
        slurm_info ("spank_tf: --tf-watchdog: without --tf-log-dir only tasks that send messages are "
                    "watched");
}

int srun_start (spank_t spank)
{
    struct cmdline_program of_step = { 0, NULL };
    uint32_t job = 0, step = 0;
    struct errtext err;
    char name[64];

    if (options_use () == OPTIONS_UNUSED)
        _say_what_has_no_effect ();
    if (options_use () != OPTIONS_ON || spank_get_item (spank, S_JOB_STEPID, &step) != ESPANK_SUCCESS
        || step == SLURM_INTERACTIVE_STEP)
        return 0;
    spank_get_item (spank, S_JOB_ID, &job);
    snprintf (name, sizeof (name), "%u.%u", job, step);
    spank_get_item (spank, S_JOB_ARGV, &of_step.argc, &of_step.argv);
    if (_check_input (&of_step, &err) < 0 || _start (name, step, &of_step, &err) < 0) {
        slurm_error ("spank_tf: %s", err.text);
        setenv (CONTACT_VARIABLE, CONTACT_FAILED, 1);
        return 0;
    }
    _say_what_is_watched ();
    _say_what_wait_cuts (_wait (&of_step));
    return 0;
}
