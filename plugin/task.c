/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "task.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/address.h"
#include "common/deadline.h"
#include "common/logdir.h"
#include "environment.h"
#include "options.h"
#include "output.h"
#include "protocol/client.h"
#include "protocol/contact.h"
#include "site.h"
#include "slurm_private.h"
#include "supervisor.h"
#include "task_abort.h"
#include "task_info.h"

/*
 * A task waits so much longer than the rendezvous, which then gives up first and prints a better
 * message than the task could.
 */
#define MORE_TIMEOUT_S 5

/* srun's address as this node's slurmd saw it; the step's own traffic goes there. */
static int _srun_address (char *const env[], struct address *srun)
{
    const char *text = environment_get (env, "SLURM_SRUN_COMM_HOST");

    if (!text)
        text = environment_get (env, "SLURM_LAUNCH_NODE_IPADDR");
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
        dprintf (STDERR_FILENO, "slurmstepd: error: spank_tf: step %s: %s: %s; if it sets "
                 "SignalChildrenProcesses, programs get Slurm's signals twice; let users read it\n",
                 registration->step, registration->node, err.text);
    return forwards != 0;
}

/* Returns in the task, which is a child of its supervisor from here on. */
static void _start_supervisor (spank_t spank, const struct task_info *info,
                               const struct contact *contact, const struct address *srun,
                               const struct client_answer *answer, int messages)
{
    const struct supervisor_keeps keeps = { messages, port_descriptor (info->port) };
    struct supervisor_config config = {
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
        .restart_alone = answer->answer.restart_alone,
        .claimed_port = port_is_held (info->port) ? 0 : info->registration.port,
        .prints = info->registration.rank == 0,
    };
    struct errtext err;
    char pid[16];

    if (supervisor_start (info->supervisor, &config, answer->fd, &keeps, &err) < 0)
        task_abort_report (answer->fd, config.node, err.text);
    snprintf (pid, sizeof (pid), "%d", (int)getpid ());
    spank_setenv (spank, "SLURM_TASK_PID", pid, 1);
}

/* Write to the log file. Returns the stderr of before. */
static int _redirect (struct task_info *info, const struct client_answer *answer)
{
    int before = fcntl (STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    struct errtext err, why;

    if (info->logs && output_redirect (&info->log_dir, &answer->answer, &err) < 0) {
        errtext_set (&why, "--tf-log-dir: %s", err.text);
        /* A supervisor, if there is one already, reports the end. */
        if (answer->answer.restart.times > 0)
            task_abort_report (answer->fd, info->registration.node, why.text);
        task_abort (true, "%s: %s", info->registration.node, why.text);
    }
    return before;
}

/* What is left to do between the answer and the program. */
static void _use_answer (spank_t spank, char *const env[], struct task_info *info,
                         const struct contact *contact, const struct address *srun,
                         const struct client_answer *answer)
{
    bool restarts = answer->answer.restart.times > 0;
    int messages = -1;

    if (!info->port || environment_set (spank, env, answer) < 0
        || (answer->answer.open_port && port_open (info->port) < 0))
        task_abort_report (answer->fd, info->registration.node, "the environment could not be set");
    /* A supervisor that starts the program again needs what the program has. */
    if (restarts)
        messages = _redirect (info, answer);
    if (answer->answer.supervised)
        _start_supervisor (spank, info, contact, srun, answer, messages);
    if (!restarts)
        messages = _redirect (info, answer);
    if (messages >= 0)
        close (messages);
    close (answer->fd);         /* a supervisor keeps the connection */
}

static void _register (spank_t spank, char *const env[], const char *text)
{
    bool first = environment_number (env, "SLURM_PROCID") == 0;
    bool first_of_node = environment_number (env, "SLURM_LOCALID") == 0;
    struct task_info info;
    struct contact contact;
    struct address srun;
    struct client_answer answer;
    struct errtext err;

    if (contact_decode (&contact, text, &err) < 0)
        task_abort (first, "%s", err.text);
    if (task_info_gather (&info, spank, env, &contact) < 0 || _srun_address (env, &srun) < 0)
        task_abort (first, "Slurm's environment of the task lacks its rank, its node or srun's "
                    "address");
    switch (client_register (&info.registration, &contact, &srun,
                             deadline_in_ms ((contact.timeout + MORE_TIMEOUT_S) * INT64_C (1000)),
                             &answer, &err)) {
        case CLIENT_ANSWERED:
            break;
        case CLIENT_REFUSED:
            _exit (1);      /* the rendezvous has printed why */
        case CLIENT_NO_RENDEZVOUS:
        case CLIENT_TIMED_OUT:
            task_abort (first_of_node, "%s: %s", info.registration.node, err.text);
    }
    _use_answer (spank, env, &info, &contact, &srun, &answer);
    frame_destroy (answer.frame);
    task_info_release (&info);
}

/* The job has a task list. srun did not see it if its host lacks the plugin. */
static bool _inherits_list (char *const env[], enum option option)
{
    struct option_variables variables;
    const char *list;

    options_variables (option, &variables);
    list = environment_get (env, variables.to_srun);
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
    prctl (PR_SET_NAME, "tf-rank");
    text = environment_get (env, CONTACT_VARIABLE);
    if (!text)
        task_abort (environment_number (env, "SLURM_PROCID") == 0, "--tf-tasks needs an srun that "
                    "waits for its step and has spank_tf; no rendezvous was exported");
    if (strcmp (text, CONTACT_FAILED) == 0)
        _exit (1);          /* srun has printed why */
    if (strcmp (text, CONTACT_OFF) != 0) {
        site_read (argc, argv);
        _register (spank, env, text);
    }
    environment_clean (spank);
    return 0;
}
