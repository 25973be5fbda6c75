/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "task.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "address.h"
#include "connection.h"
#include "deadline.h"
#include "environment.h"
#include "frame.h"
#include "giveup.h"
#include "logdir.h"
#include "options.h"
#include "output.h"
#include "rank.h"
#include "registration.h"
#include "rendezvous.h"
#include "site.h"
#include "stepid.h"
#include "supervisor.h"

/* The rendezvous gives up first, with a better message, when it can be reached at all. */
#define GRACE_S 5

/* srun's address as this node's slurmd saw it, where the step's own traffic goes. */
static int _srun_address (char *const env[], struct address *srun)
{
    const char *text = environment_get (env, "SLURM_SRUN_COMM_HOST");

    if (!text)
        text = environment_get (env, "SLURM_LAUNCH_NODE_IPADDR");
    return text ? address_parse (srun, text) : -1;
}

/* A task that is supervised is the child of its supervisor from here on. */
static void _be_supervised (spank_t spank, const struct registration *registration,
                            const struct rendezvous *rendezvous, const struct address *srun,
                            const struct frame *answer, int fd)
{
    struct errtext err;
    char pid[16];

    if (supervisor_start (registration->supervisor, &registration->rank, rendezvous, srun, fd,
                          answer, &err) < 0)
        give_up_answered (fd, registration->rank.node, err.text);
    snprintf (pid, sizeof (pid), "%d", (int)getpid ());
    environment_correct (spank, "SLURM_TASK_PID", pid);
}

/* With the answer: what is left to do before the program starts. */
static void _go_on (spank_t spank, char *const env[], const struct registration *registration,
                    const struct rendezvous *rendezvous, const struct address *srun,
                    const struct frame *answer, int fd)
{
    const char *role = frame_get (answer, "SLURM_TF_ROLE");
    const char *index = frame_get (answer, "SLURM_TF_INDEX");
    bool supervised = frame_get_number (answer, "SUPERVISE", 0, INT_MAX) >= 0;
    struct errtext err;

    if (!registration->port || !role || !index || environment_set (spank, env, answer) < 0)
        give_up_answered (fd, registration->rank.node, "the environment could not be set");
    if (supervised)
        _be_supervised (spank, registration, rendezvous, srun, answer, fd);
    if (registration->logs
        && output_redirect (&registration->log_dir, frame_get (answer, "LOG_APPEND") != NULL, role,
                            index, &err) < 0)
        give_up (true, "%s: --tf-log-dir: %s", registration->rank.node, err.text);
    if (supervised)
        close (fd);     /* the supervisor goes on with it */
    else
        connection_close (fd);
}

static void _meet (spank_t spank, char *const env[], const char *text)
{
    struct registration registration;
    struct rendezvous rendezvous;
    struct address srun;
    struct frame *answer;
    struct errtext err;
    int fd;
    bool first = environment_number (env, "SLURM_PROCID") == 0;
    bool first_here = environment_number (env, "SLURM_LOCALID") == 0;

    if (rendezvous_parse (&rendezvous, text, &err) < 0)
        give_up (first, "%s", err.text);
    if (registration_make (&registration, spank, env, &rendezvous) < 0
        || _srun_address (env, &srun) < 0)
        give_up (first, "Slurm's environment of the task lacks its rank, node or srun's address");
    switch (rank_register (&registration.rank, &rendezvous, &srun,
                           deadline_in_ms ((rendezvous.timeout + GRACE_S) * INT64_C (1000)),
                           &answer, &fd, &err)) {
        case RANK_ANSWERED:
            break;
        case RANK_REFUSED:
            _exit (1);      /* the rendezvous has said why */
        case RANK_NOBODY:
            give_up (first, "%s", err.text);
        case RANK_LATE:
            give_up (first_here, "%s: %s", registration.rank.node, err.text);
    }
    _go_on (spank, env, &registration, &rendezvous, &srun, answer, fd);
    frame_destroy (answer);
    registration_leave (&registration);
}

/* The job came with a list, whether srun's host has the plugin and has seen it or not. */
static bool _inherits_list (char *const env[], enum option option)
{
    struct option_variables variables;
    const char *list;

    options_variables (option, &variables);
    list = environment_get (env, variables.to_srun);
    return list && !options_is_none (list);
}

int task_init (spank_t spank, int argc, char *argv[])
{
    uint32_t step = 0;
    char **env = NULL;
    const char *text;

    spank_get_item (spank, S_JOB_STEPID, &step);
    if (step == SLURM_INTERACTIVE_STEP) {
        spank_unsetenv (spank, RENDEZVOUS_VARIABLE);
        spank_unsetenv (spank, LOGDIR_VARIABLE);
    }
    if (step == SLURM_INTERACTIVE_STEP || step == SLURM_BATCH_SCRIPT)
        return 0;
    spank_get_item (spank, S_JOB_ENV, &env);
    if (!options_noted () && !_inherits_list (env, OPTION_TASKS)
        && !_inherits_list (env, OPTION_TASKS_PER_NODE))
        return 0;

    /* By its old name, slurmstepd, it could not be killed while it waits (proctrack/linuxproc),
     * nor by one with a blank. */
    prctl (PR_SET_NAME, "tf-rank");
    text = environment_get (env, RENDEZVOUS_VARIABLE);
    if (!text)
        give_up (environment_number (env, "SLURM_PROCID") == 0, "--tf-tasks needs an srun that waits for "
              "its step and has spank_tf; no rendezvous was exported");
    if (strcmp (text, RENDEZVOUS_FAILED) == 0)
        _exit (1);          /* srun has said why */
    if (strcmp (text, RENDEZVOUS_OFF) != 0) {
        site_read (argc, argv);
        _meet (spank, env, text);
    }
    environment_clean (spank);
    return 0;
}
