/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "task.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/address.h"
#include "common/deadline.h"
#include "common/logdir.h"
#include "common/variables.h"
#include "environment.h"
#include "fork_server.h"
#include "launcher.h"
#include "namespaces.h"
#include "output.h"
#include "protocol/client.h"
#include "protocol/contact.h"
#include "supervisor.h"
#include "task_abort.h"
#include "task_info.h"
#include "watch_socket.h"

/*
 * A task waits so much longer than the rendezvous, which then gives up first and prints a better
 * message than the task could.
 */
#define MORE_TIMEOUT_S 5

/* A task between its registration and its program. */
static struct prepared {
    struct contact contact;
    struct task_info info;
    struct address srun;
    struct client_answer answer;
    struct fork_server server;
    struct output_paths paths;      /* "" without --tf-log-dir */
    struct watch_socket_name watch; /* "" if there is no socket for heartbeats */
    int log;                        /* the log file, to which each further life writes a line; or -1 */
    int checker; /* tf-supervise, which a container may hide, for checks; or -1 */
    struct namespace network, mounts; /* where it has registered, after task_pause () */
} prepared;

static const char *_or_null (const char *text)
{
    return *text ? text : NULL;
}

/* As this node's slurmd saw it; the step's own traffic goes there. */
static int _find_srun (char *const env[])
{
    const char *text = variable_get (env, "SLURM_SRUN_COMM_HOST");

    if (!text)
        text = variable_get (env, "SLURM_LAUNCH_NODE_IPADDR");
    return text ? address_parse (&prepared.srun, text) : -1;
}

/*
 * Must the supervisor forward Slurm's signals? If that is not known, it does: a program that gets a
 * signal twice is better off than one that never gets it. Rank 0 reports that for the step.
 */
static bool _forwards_signals (const struct task_of_slurm *slurm)
{
    const struct registration *r = &prepared.info.registration;

    if (slurm->forwards < 0 && r->rank == 0)
        launcher_say (true,
                      "step %s: %s: %s; if it sets SignalChildrenProcesses, programs get Slurm's signals "
                      "twice; let users read it",
                      r->step, r->node, slurm->forwards_error.text);
    return slurm->forwards != 0;
}

/*
 * Become two processes; returns in the fork server of the task. slurmstepd's process ID is that of this
 * process' parent, unless slurmstepd has died meanwhile.
 */
static void _start_supervisor (const struct task_of_slurm *slurm, const struct output *output)
{
    const struct contact *contact = &prepared.contact;
    const struct registration *r = &prepared.info.registration;
    const struct answer *answer = &prepared.answer.answer;
    struct supervisor_config config = {
        .slurmstepd = slurm->slurmstepd,
        .rank = r->rank,
        .node = r->node,
        .step = r->step,
        .address = prepared.srun,
        .port = contact->port,
        .token = contact->token,
        .server_token = contact->server_token,
        .stop_grace = answer->stop_grace,
        .kill_wait = slurm->kill_wait,
        .forward_signals = _forwards_signals (slurm),
        .serves = answer->serves,
        .restart = answer->restart,
        .watch = answer->watch,
        .lost_after = answer->lost_after,
        .options = answer->options,
        .node_index = r->node_index,
        .spare = answer->spare,
        .task_port = r->port,
        .master_port = answer->keep_master_port ? r->master_port : 0,
        .has_peers = r->tasks > 1,
        .prints = r->rank == 0,
        .log = _or_null (prepared.paths.log),
        .error_file = _or_null (prepared.paths.error_file),
        .tee = output->tee,
        .role = answer->role,
        .index = answer->index,
    };
    struct errtext err;

    if (config.options.batch_host) {
        config.path = variable_get (launcher_environment (), "PATH");
        config.slurm_conf = variable_get (launcher_environment (), "SLURM_CONF");
    }
    if (supervisor_start (prepared.info.supervisor, &config, prepared.answer.fd, output, &prepared.server,
                          &err)
        < 0)
        task_abort_report (prepared.answer.fd, r->node, err.text);
}

/* The answer of this life, if it is not that of the first one. */
static int _load_answer (struct errtext *err)
{
    struct client_answer *answer = &prepared.answer;

    if (prepared.server.answer < 0)
        return 0;
    frame_destroy (answer->frame);
    if (!(answer->frame = frame_load (prepared.server.answer)))
        return errtext_set (err, "its new answer is malformed");
    close (prepared.server.answer);
    return answer_decode (&answer->answer, answer->frame, prepared.contact.server_token, err);
}

/* slurmstepd serves PMI to the first process that asks for a rank, and to no other. */
static void _print_pmi_limit (void)
{
    const struct registration *r = &prepared.info.registration;
    char *const *env = launcher_environment ();

    if (r->rank == 0 && (variable_get (env, "PMI_FD") || variable_get (env, "PMIX_NAMESPACE")))
        launcher_say (false, "step %s: a restarted program cannot use PMI (--mpi) again", r->step);
}

/*
 * The log file, and pipes for --tf-tee, which all lives of the task share. The file is opened here, and not
 * by a life, because the file system may hang for any time.
 */
static struct output _open_output (void)
{
    struct task_info *info = &prepared.info;
    const struct answer *answer = &prepared.answer.answer;
    struct output output = { .log = -1, .watch = -1 };
    struct errtext err, why;

    if (!info->logs)
        return output;
    output.log = output_open (&prepared.paths, &info->log_dir, answer, info->registration.step, &err);
    if (output.log >= 0 && (!answer->supervised || !answer->tee || output_tee (&output, &err) == 0))
        return output;
    errtext_set (&why, "%s%s", output.log < 0 ? "--tf-log-dir: " : "", err.text);
    if (answer->supervised)
        task_abort_report (prepared.answer.fd, info->registration.node, why.text);
    task_abort (true, "%s: %s", info->registration.node, why.text);
}

/*
 * Where the programs of a watched task send their heartbeats, unless the user has another place for
 * them. -1: nowhere; then the task has its log.
 */
static int _open_watch (void)
{
    const struct registration *r = &prepared.info.registration;
    struct errtext err;
    int watch;

    if (prepared.answer.answer.watch.seconds == 0 || variable_get (launcher_environment (), "NOTIFY_SOCKET"))
        return -1;
    watch = watch_socket_open (&prepared.watch, r->step, r->rank, &err);
    if (watch < 0) {
        prepared.watch.text[0] = '\0';
        launcher_say (true,
                      "step %s: rank %d on %s has no socket for heartbeats: %s; --tf-watchdog uses only "
                      "its log",
                      r->step, r->rank, r->node, err.text);
    }
    return watch;
}

void task_begin (void)
{
    const struct registration *r = &prepared.info.registration;
    const struct answer *answer = &prepared.answer.answer;
    const char *error_file = _or_null (prepared.paths.error_file);
    struct errtext err = { "the environment could not be set" };
    char pid[16];
    int life = 0;

    if (answer->supervised)
        life = fork_server_run (&prepared.server);
    else if (answer->spare)
        _exit (0); /* without supervisors no task is restarted */
    if (_load_answer (&err) < 0
        || environment_set (&prepared.answer, prepared.info.users, life, error_file,
                            _or_null (prepared.watch.text))
               < 0)
        task_abort (true, "%s: %s", r->node, err.text);
    if (answer->supervised) {
        snprintf (pid, sizeof (pid), "%d", (int)getpid ());
        launcher_set ("SLURM_TASK_PID", pid);
    }
    if (life > 0 && prepared.log >= 0)
        logdir_begin (prepared.log, r->step, life, prepared.server.at);
    /* What a former life has written there is not about this one. */
    if (error_file)
        unlink (error_file);
    frame_destroy (prepared.answer.frame);
    free (prepared.info.locality);
    environment_clean ();
}

/* Its port and its address are those of the network namespace in which it has registered. */
static void _check_network (void)
{
    const struct registration *r = &prepared.info.registration;

    if (r->tasks > 1 && namespace_has_changed (&prepared.network, "net"))
        task_abort (
            true,
            "step %s: rank %d on %s: its container has a network of its own, in which other tasks cannot "
            "reach it. Let it use the node's (with pyxis: no --container-unshare=net)",
            r->step, r->rank, r->node);
}

void task_pause (void)
{
    prepared.network = namespace_own ("net");
    prepared.mounts = namespace_own ("mnt");
    environment_clean (); /* the container does not get what srun has exported, as the tokens */
    if (prepared.answer.answer.supervised)
        fork_server_take_signals (&prepared.server.mask);
}

void task_resume (void)
{
    sigset_t all;

    _check_network ();
    sigfillset (&all);
    if (prepared.answer.answer.supervised)
        sigprocmask (SIG_SETMASK, &all, NULL);
    task_begin ();
}

/*
 * In a child of the fork server: tf-supervise is executed once more, with the environment of the job and
 * without the launch's own variables. A container that the task is in may not have its file, nor the log
 * directory, which is the node's.
 */
static void _make_check (const struct check_order *order)
{
    static char name[] = "tf-supervise", option[] = CHECK_ARGUMENT, node[] = "node", link[] = "link",
                serve[] = "serve", connect[] = "connect";
    char tokens[2 * CONTACT_TOKEN], port[16], log_dir[PATH_MAX] = "";
    const struct task_info *info = &prepared.info;
    struct address_text room;
    char *argv[] = { name, option, NULL, NULL, NULL, NULL, NULL };

    environment_clean ();
    if (order->port > 0) {
        snprintf (port, sizeof (port), "%d", order->port);
        snprintf (tokens, sizeof (tokens), "%s %s", prepared.contact.link_token,
                  prepared.contact.link_server_token);
        address_print (&order->peer, &room);
        memcpy (&argv[2], (char *[]){ link, room.text, port, order->serves ? serve : connect },
                4 * sizeof (char *));
        launcher_set (CHECK_TOKENS, tokens);
    } else {
        if (info->logs && !namespace_has_changed (&prepared.mounts, "mnt"))
            snprintf (log_dir, sizeof (log_dir), "%s", info->log_dir.path);
        memcpy (&argv[2],
                (char *[]){ node, (char *)(uintptr_t)prepared.answer.answer.options.preflight, log_dir },
                3 * sizeof (char *));
    }
    fexecve (prepared.checker, argv, (char **)(uintptr_t)launcher_environment ());
    dprintf (STDOUT_FILENO, "bad %s: %s\n", info->supervisor, strerror (errno));
}

/* Until the program ends, or, without --tf-hold, until it begins. */
static void _keep_ports (void)
{
    const struct task_info *info = &prepared.info;
    bool keeps_second = prepared.answer.answer.keep_master_port;

    if (!info->port || (keeps_second && !info->master_port))
        task_abort_report (prepared.answer.fd, info->registration.node, "its ports could not be kept");
    /* What it leaves open must not be a close-on-exec socket any more when the fork server closes those. */
    if (prepared.contact.hold)
        port_leave (info->port);
    else
        prepared.server.port = info->port->socket;
    if (keeps_second)
        port_leave (info->master_port);
    else
        port_release (info->master_port);
}

/* What is left to do between the answer and the program. */
static void _use_answer (const struct task_of_slurm *slurm)
{
    const struct answer *answer = &prepared.answer.answer;
    int watch = _open_watch ();
    struct output output;

    prepared.log = prepared.checker = -1;
    if (answer->options.preflight)
        prepared.checker = open (prepared.info.supervisor, O_PATH | O_CLOEXEC);
    prepared.server =
        (struct fork_server){ .may_restart = answer->restart.times > 0 || answer->options.preflight,
                              .port = -1,
                              .answer = -1,
                              .make_check = _make_check };
    _keep_ports ();
    if (answer->restart.times > 0)
        _print_pmi_limit ();
    output = _open_output ();
    output.watch = watch;
    if (getppid () != slurm->slurmstepd)
        task_abort (true, "%s: slurmstepd has died", prepared.info.registration.node);
    if (answer->supervised)
        _start_supervisor (slurm, &output);
    close (prepared.answer.fd); /* a supervisor keeps the connection, and the socket of the watch */
    if (watch >= 0)
        close (watch);
    /* A life writes a line to it, which srun must not get, and closes it when it executes its program. */
    if (prepared.server.may_restart && output.log >= 0)
        prepared.log = fcntl (output.log, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    output_redirect (&output);
}

/* What hides that which is installed on the node may be a container. */
static void _explain (struct errtext *err, const char *hidden)
{
    struct errtext why = *err;

    errtext_set (err, "%.600s; %s", why.text, hidden ? hidden : "spank-tf is not installed completely there");
}

void task_register (const struct task_of_slurm *slurm, const char *text)
{
    char *const *env = launcher_environment ();
    bool first = variable_number (env, "SLURM_PROCID") == 0;
    bool first_of_node = variable_number (env, "SLURM_LOCALID") == 0;
    struct task_info *info = &prepared.info;
    struct errtext err;

    if (contact_decode (&prepared.contact, text, &err) < 0)
        task_abort (first, "%s", err.text);
    if (task_info_gather (info, slurm, env, &prepared.contact) < 0 || _find_srun (env) < 0)
        task_abort (first, "Slurm's environment of the task lacks its rank, its node or srun's "
                           "address");
    if (info->registration.supervisor_error)
        _explain (&info->supervisor_error, slurm->hidden);
    switch (client_register (&info->registration, &prepared.contact, &prepared.srun,
                             deadline_in_ms ((prepared.contact.timeout + MORE_TIMEOUT_S) * INT64_C (1000)),
                             &prepared.answer, &err)) {
        case CLIENT_ANSWERED: break;
        case CLIENT_REFUSED: _exit (1); /* the rendezvous has printed why */
        case CLIENT_NO_RENDEZVOUS:
        case CLIENT_TIMED_OUT: task_abort (first_of_node, "%s: %s", info->registration.node, err.text);
    }
    /* One supervisor of a node is enough to ask Slurm about it. */
    if (!first_of_node)
        prepared.answer.answer.options.batch_host = NULL;
    _use_answer (slurm);
}
