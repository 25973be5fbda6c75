/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "task.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/address.h"
#include "common/deadline.h"
#include "common/logdir.h"
#include "common/variables.h"
#include "environment.h"
#include "launch/fork_server.h"
#include "late.h"
#include "launch/namespaces.h"
#include "options.h"
#include "launch/output.h"
#include "protocol/client.h"
#include "protocol/contact.h"
#include "protocol/fork_request.h"
#include "site.h"
#include "slurm_private.h"
#include "launch/supervisor.h"
#include "launch/task_abort.h"
#include "task_info.h"
#include "launch/watch_socket.h"

/*
 * A task waits so much longer than the rendezvous, which then gives up first and prints a better
 * message than the task could.
 */
#define MORE_TIMEOUT_S 5

/* The process that runs the step on this node, and forks its tasks. */
static pid_t slurmstepd;
static struct namespace slurmstepd_mounts;

void task_note_slurmstepd (void)
{
    slurmstepd = getpid ();
    slurmstepd_mounts = namespace_own ("mnt");
}

/* srun's address as this node's slurmd saw it; the step's own traffic goes there. */
static int _srun_address (char *const env[], struct address *srun)
{
    const char *text = variable_get (env, "SLURM_SRUN_COMM_HOST");

    if (!text)
        text = variable_get (env, "SLURM_LAUNCH_NODE_IPADDR");
    return text ? address_parse (srun, text) : -1;
}

/*
 * Must the supervisor forward Slurm's signals? If that is not known, it does: a program that gets a
 * signal twice is better off than one that never gets it. Rank 0 reports that for the step.
 */
static bool _forwards_signals (const struct registration *registration)
{
    struct errtext err;
    int forwards = slurm_private_signals_only_children (&err);

    if (forwards < 0 && registration->rank == 0)
        dprintf (STDERR_FILENO,
                 "slurmstepd: error: spank_tf: step %s: %s: %s; if it sets "
                 "SignalChildrenProcesses, programs get Slurm's signals twice; let users read it\n",
                 registration->step, registration->node, err.text);
    return forwards != 0;
}

/*
 * Become two processes; returns in the fork server of the task. slurmstepd's process ID is that of this
 * process' parent, unless slurmstepd has died meanwhile.
 */
static void _start_supervisor (spank_t spank, const struct task_info *info, const struct contact *contact,
                               const struct address *srun, const struct client_answer *answer,
                               const struct output *output, const struct output_paths *paths,
                               struct fork_server *server)
{
    struct supervisor_config config = {
        .slurmstepd = slurmstepd,
        .rank = info->registration.rank,
        .node = info->registration.node,
        .step = info->registration.step,
        .address = *srun,
        .port = contact->port,
        .token = contact->token,
        .server_token = contact->server_token,
        .stop_grace = answer->answer.stop_grace,
        .kill_wait = slurm_private_kill_wait (),
        .forward_signals = _forwards_signals (&info->registration),
        .serves = answer->answer.serves,
        .restart = answer->answer.restart,
        .watch = answer->answer.watch,
        .lost_after = answer->answer.lost_after,
        .options = answer->answer.options,
        .node_index = info->registration.node_index,
        .spare = answer->answer.spare,
        .task_port = info->registration.port,
        .master_port = answer->answer.keep_master_port ? info->registration.master_port : 0,
        .has_peers = info->registration.tasks > 1,
        .prints = info->registration.rank == 0,
        .log = info->logs ? paths->log : NULL,
        .error_file = info->logs && paths->error_file[0] ? paths->error_file : NULL,
        .tee = output->tee,
        .role = answer->answer.role,
        .index = answer->answer.index,
    };
    struct errtext err;
    char path[PATH_MAX], conf[PATH_MAX];

    if (config.options.batch_host && spank_getenv (spank, "PATH", path, sizeof (path)) == ESPANK_SUCCESS)
        config.path = path;
    if (config.options.batch_host
        && spank_getenv (spank, "SLURM_CONF", conf, sizeof (conf)) == ESPANK_SUCCESS)
        config.slurm_conf = conf;
    if (supervisor_start (info->supervisor, &config, answer->fd, output, server, &err) < 0)
        task_abort_report (answer->fd, config.node, err.text);
}

/* What a program gets of an answer. */
struct program {
    const char *node;
    const char *error_file;     /* or NULL */
    const char *step;           /* its number */
    int log;                    /* its log file, or -1 */
    const char *notify;         /* the name of the socket for signs of life, or NULL */
};

/*
 * The last step before the program: each life begins with the environment that Slurm has made, so that it
 * can have another answer than the one before. -1 if Slurm or the kernel refuses something.
 */
static int _set_program (spank_t spank, const struct client_answer *answer, int life,
                         const struct program *program)
{
    char **env = NULL;

    spank_get_item (spank, S_JOB_ENV, &env);
    return environment_set (spank, env, answer, life, program->error_file, program->notify);
}

/* The answer of this life, if it is not that of the first one. The task's life does not free it. */
static int _load_answer (struct client_answer *answer, int file, const char *server_token,
                         struct errtext *err)
{
    if (file < 0)
        return 0;
    if (!(answer->frame = frame_load (file)))
        return errtext_set (err, "its new answer is malformed");
    close (file);
    return answer_decode (&answer->answer, answer->frame, server_token, err);
}

/* Go on as a life of the task, and as each one that follows. */
static void _live (spank_t spank, struct fork_server *server, const struct client_answer *first,
                   const char *server_token, const struct program *program)
{
    int life = fork_server_run (server);
    struct client_answer answer = *first;
    struct errtext err = { "the environment could not be set" };
    char text[16];

    if (_load_answer (&answer, server->answer, server_token, &err) < 0
        || _set_program (spank, &answer, life, program) < 0)
        task_abort (true, "%s: %s", program->node, err.text);
    snprintf (text, sizeof (text), "%d", (int)getpid ());
    spank_setenv (spank, "SLURM_TASK_PID", text, 1);
    if (life > 0 && program->log >= 0)
        logdir_begin_life (program->log, program->step, life, server->at);
}

/* slurmstepd serves PMI to the first process that asks for a rank, and to no other. */
static void _print_pmi_limit (spank_t spank, const struct registration *registration)
{
    char value[PATH_MAX];

    if (registration->rank == 0
        && (spank_getenv (spank, "PMI_FD", value, sizeof (value)) == ESPANK_SUCCESS
            || spank_getenv (spank, "PMIX_NAMESPACE", value, sizeof (value)) == ESPANK_SUCCESS))
        dprintf (STDERR_FILENO,
                 "slurmstepd: spank_tf: step %s: a restarted program cannot use PMI "
                 "(--mpi) again\n",
                 registration->step);
}

/*
 * The log file, and pipes for --tf-tee, which all lives of the task share. The file is opened here, and not
 * by a life, because the file system may hang for any time.
 */
static struct output _open_output (struct task_info *info, const struct client_answer *answer)
{
    struct output output = { .log = -1, .watch = -1 };
    struct errtext err, why;

    if (!info->logs)
        return output;
    output.log = output_open (&info->log_dir, &answer->answer, info->registration.step, &err);
    if (output.log >= 0
        && (!answer->answer.supervised || !answer->answer.tee || output_tee (&output, &err) == 0))
        return output;
    errtext_set (&why, "%s%s", output.log < 0 ? "--tf-log-dir: " : "", err.text);
    if (answer->answer.supervised)
        task_abort_report (answer->fd, info->registration.node, why.text);
    task_abort (true, "%s: %s", info->registration.node, why.text);
}

/*
 * Where the programs of a watched task send their signs of life, unless the user has another place for
 * them. -1: nowhere; then the task has its log.
 */
static int _open_watch (spank_t spank, const struct registration *registration, const struct answer *answer,
                        struct watch_socket_name *name)
{
    struct errtext err;
    char room[2];
    int watch;

    if (answer->watch.seconds == 0
        || spank_getenv (spank, "NOTIFY_SOCKET", room, sizeof (room)) != ESPANK_ENV_NOEXIST)
        return -1;
    watch = watch_socket_open (name, registration->step, registration->rank, &err);
    if (watch < 0)
        dprintf (STDERR_FILENO,
                 "slurmstepd: error: spank_tf: step %s: rank %d on %s has no socket for signs of life: %s; "
                 "--tf-watchdog uses only its log\n",
                 registration->step, registration->rank, registration->node, err.text);
    return watch;
}

/* A task between its answer and its program. The second stage goes on with it, in the same process. */
static struct prepared {
    bool waits;                 /* for the second stage */
    bool first_of_node;
    struct namespace network;   /* where it has registered */
    struct contact contact;
    struct task_info info;
    struct client_answer answer;
    struct fork_server server;
    struct output_paths paths;
    struct watch_socket_name watch;
    struct program program;
} prepared;

/* Has Slurm loaded the second stage, whose task_init comes after this one? */
static bool late_stage_called;

static bool _has_late_stage (void)
{
    char path[PATH_MAX];
    Dl_info self;
    const char *slash;
    void *late;

    if (late_stage_called || dladdr ((const void *)_has_late_stage, &self) == 0
        || !(slash = strrchr (self.dli_fname, '/'))
        || snprintf (path, sizeof (path), "%.*s/spank_tf_late.so", (int)(slash - self.dli_fname),
                     self.dli_fname)
               >= (int)sizeof (path)
        || !(late = dlopen (path, RTLD_NOW | RTLD_NOLOAD)))
        return false;
    dlclose (late);
    return true;
}

/* Go on with the program, in the container if there is one. */
static void _begin (spank_t spank)
{
    const struct client_answer *answer = &prepared.answer;

    if (answer->answer.supervised)
        _live (spank, &prepared.server, answer, prepared.contact.server_token, &prepared.program);
    else if (answer->answer.spare)
        _exit (0); /* without supervisors no task is restarted */
    else if (_set_program (spank, answer, 0, &prepared.program) < 0)
        task_abort (true, "%s: the environment could not be set", prepared.program.node);
    /* What a former life has written there is not about this one. */
    if (prepared.program.error_file)
        unlink (prepared.program.error_file);
    frame_destroy (answer->frame);
    free (prepared.info.locality);
    environment_clean (spank);
}

/* Its port and its address are those of the network namespace in which it has registered. */
static void _check_network (void)
{
    const struct registration *r = &prepared.info.registration;

    if (r->tasks > 1 && namespace_has_changed (&prepared.network, "net"))
        task_abort (
            true,
            "step %s: rank %d on %s: its container has a network of its own, in which the other tasks do "
            "not reach it; let it use the node's (with pyxis: no --container-unshare=net)",
            r->step, r->rank, r->node);
}

int spank_tf_late_stage (spank_t spank)
{
    sigset_t all;

    late_stage_called = true;
    if (!prepared.waits)
        return 0;
    prepared.waits = false;
    _check_network ();
    sigfillset (&all);
    if (prepared.answer.answer.supervised)
        sigprocmask (SIG_SETMASK, &all, NULL);
    _begin (spank);
    return 0;
}

/* What is left to do between the answer and the program. */
static void _use_answer (spank_t spank, const struct address *srun)
{
    const struct contact *contact = &prepared.contact;
    const struct client_answer *answer = &prepared.answer;
    struct task_info *info = &prepared.info;
    struct output output;
    int watch = _open_watch (spank, &info->registration, &answer->answer, &prepared.watch);

    prepared.server =
        (struct fork_server){ .may_restart = answer->answer.restart.times > 0, .port = -1, .answer = -1 };
    prepared.program =
        (struct program){ .node = info->registration.node, .step = info->registration.step, .log = -1 };
    if (watch >= 0)
        prepared.program.notify = prepared.watch.text;
    if (info->logs) {
        output_paths (&prepared.paths, &info->log_dir, &answer->answer);
        prepared.program.error_file = prepared.paths.error_file[0] ? prepared.paths.error_file : NULL;
    }
    if (!info->port || (answer->answer.keep_master_port && !info->master_port))
        task_abort_report (answer->fd, info->registration.node, "its ports could not be kept");
    /* What it leaves open must not be a close-on-exec socket any more when the fork server closes those. */
    if (contact->hold)
        port_leave (info->port);
    else
        prepared.server.port = port_descriptor (info->port);
    if (answer->answer.keep_master_port)
        port_leave (info->master_port);
    else
        port_release (info->master_port);
    if (prepared.server.may_restart)
        _print_pmi_limit (spank, &info->registration);
    output = _open_output (info, answer);
    output.watch = watch;
    if (getppid () != slurmstepd)
        task_abort (true, "%s: slurmstepd has died", info->registration.node);
    /* One supervisor of a node is enough to ask Slurm about it. */
    if (!prepared.first_of_node)
        prepared.answer.answer.options.batch_host = NULL;
    if (answer->answer.supervised)
        _start_supervisor (spank, info, contact, srun, answer, &output, &prepared.paths, &prepared.server);
    close (answer->fd); /* a supervisor keeps the connection, and the socket of the watch */
    if (watch >= 0)
        close (watch);
    /* A life writes a line to it, which srun must not get, and closes it when it executes its program. */
    if (prepared.server.may_restart && output.log >= 0)
        prepared.program.log = fcntl (output.log, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    output_redirect (&output);
    if (!_has_late_stage ()) {
        _begin (spank);
        return;
    }
    /* A signal ends it as it does a program, until the second stage waits for the supervisor's order. */
    prepared.waits = true;
    environment_clean (spank); /* the container does not get what srun has exported, as the tokens */
    if (answer->answer.supervised)
        fork_server_take_signals (&prepared.server.mask);
}

/* A container of another plugin hides what is installed on the node. */
static void _explain (struct errtext *err)
{
    struct errtext why = *err;

    errtext_set (
        err, "%.600s; %s", why.text,
        namespace_has_changed (&slurmstepd_mounts, "mnt")
            ? "the task is in a container already: spank_tf has to stand before what enters it, such as "
              "pyxis, in plugstack.conf there"
            : "spank-tf is not installed completely there");
}

static void _register (spank_t spank, char *const env[], const char *text)
{
    bool first = environment_number (env, "SLURM_PROCID") == 0;
    bool first_of_node = environment_number (env, "SLURM_LOCALID") == 0;
    struct task_info *info = &prepared.info;
    struct address srun;
    struct errtext err;

    if (contact_decode (&prepared.contact, text, &err) < 0)
        task_abort (first, "%s", err.text);
    if (task_info_gather (info, spank, env, &prepared.contact) < 0 || _srun_address (env, &srun) < 0)
        task_abort (first, "Slurm's environment of the task lacks its rank, its node or srun's "
                           "address");
    if (info->registration.supervisor_error)
        _explain (&info->supervisor_error);
    prepared.first_of_node = first_of_node;
    prepared.network = namespace_own ("net");
    switch (client_register (&info->registration, &prepared.contact, &srun,
                             deadline_in_ms ((prepared.contact.timeout + MORE_TIMEOUT_S) * INT64_C (1000)),
                             &prepared.answer, &err)) {
        case CLIENT_ANSWERED: break;
        case CLIENT_REFUSED: _exit (1); /* the rendezvous has printed why */
        case CLIENT_NO_RENDEZVOUS:
        case CLIENT_TIMED_OUT: task_abort (first_of_node, "%s: %s", info->registration.node, err.text);
    }
    _use_answer (spank, &srun);
}

/* The job has a task list. srun did not see it if its host lacks the plugin. */
static bool _inherits_list (char *const env[], enum option_id option)
{
    struct option_variables variables;
    const char *list;

    options_variables (option, &variables);
    list = variable_get (env, variables.to_srun);
    return list && !options_is_none (list);
}

/* True if this process is a task of a step that has a task list. */
static bool _has_list (uint32_t step, char *const env[])
{
    if (step == SLURM_INTERACTIVE_STEP || step == SLURM_BATCH_SCRIPT)
        return false;
    return options_noted () || _inherits_list (env, OPTION_TASKS)
           || _inherits_list (env, OPTION_TASKS_PER_NODE);
}

int task_init (spank_t spank, int argc, char *argv[])
{
    uint32_t step = 0;
    char **env = NULL;
    const char *text;

    spank_get_item (spank, S_JOB_STEPID, &step);
    if (step == SLURM_INTERACTIVE_STEP) {
        spank_unsetenv (spank, CONTACT_VARIABLE);
        spank_unsetenv (spank, LOGDIR_VARIABLE);
    }
    spank_get_item (spank, S_JOB_ENV, &env);
    if (!_has_list (step, env))
        return 0;

    /*
     * proctrack/linuxproc signals no process that is called slurmstepd, nor one with a blank in
     * its name: without a new name this process could not be killed while it waits.
     */
    prctl (PR_SET_NAME, FORK_LIFE_NAME);
    text = variable_get (env, CONTACT_VARIABLE);
    if (!text)
        task_abort (environment_number (env, "SLURM_PROCID") == 0,
                    "--tf-tasks needs an srun that "
                    "waits for its step and has spank_tf; no rendezvous was exported");
    if (strcmp (text, CONTACT_FAILED) == 0)
        _exit (1); /* srun has printed why */
    if (strcmp (text, CONTACT_OFF) != 0) {
        site_read (argc, argv);
        _register (spank, env, text);
        return 0;
    }
    environment_clean (spank);
    return 0;
}
