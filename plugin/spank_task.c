/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "spank_task.h"

#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/logdir.h"
#include "common/variables.h"
#include "late.h"
#include "launch/environment.h"
#include "launch/launcher.h"
#include "launch/namespaces.h"
#include "launch/task.h"
#include "launch/task_abort.h"
#include "protocol/contact.h"
#include "protocol/fork_request.h"
#include "site.h"
#include "slurm_private.h"
#include "spank_launcher.h"
#include "spank_options.h"

/* The process that runs the step on this node, and forks its tasks. */
static pid_t slurmstepd;
static struct namespace slurmstepd_mounts;

void spank_task_note_slurmstepd (void)
{
    slurmstepd = getpid ();
    slurmstepd_mounts = namespace_own ("mnt");
}

/* A task that waits for the second stage, which goes on with it, in the same process. */
static bool waits;

/* Has Slurm loaded the second stage, whose task_init comes after this one? */
static bool late_stage_called;

static bool _has_late_stage (void)
{
    void *late =
        late_stage_called ? NULL : late_neighbour ((const void *)_has_late_stage, "spank_tf_late.so");

    if (late)
        dlclose (late);
    return late;
}

int spank_tf_late_stage (spank_t spank)
{
    late_stage_called = true;
    if (!waits)
        return 0;
    waits = false;
    spank_launcher_set_task (spank);
    task_resume ();
    return 0;
}

/* -1 if Slurm does not say which task this is. */
static int _find_component (spank_t spank, char *const env[], struct task_of_slurm *slurm)
{
    uint32_t rank_in_component, tasks;

    if (spank_get_item (spank, S_TASK_GLOBAL_ID, &rank_in_component) != ESPANK_SUCCESS
        || spank_get_item (spank, S_JOB_TOTAL_TASK_COUNT, &tasks) != ESPANK_SUCCESS)
        return -1;
    slurm->component_first = variable_number (env, "SLURM_PROCID") - (int)rank_in_component;
    slurm->component_tasks = (int)tasks;
    return 0;
}

static void _launch_task (spank_t spank, char *const env[], const char *contact)
{
    struct task_of_slurm slurm = { .slurmstepd = slurmstepd };

    if (_find_component (spank, env, &slurm) < 0)
        task_abort (variable_number (env, "SLURM_PROCID") == 0, "Slurm does not report the task's rank");
    slurm_private_task (&slurm);
    /* A container of another plugin hides what is installed on the node. */
    if (namespace_has_changed (&slurmstepd_mounts, "mnt"))
        slurm.hidden = "either spank-tf is not installed completely there, or the task is in a container "
                       "already: spank_tf must come before whatever enters it, such as pyxis, in "
                       "plugstack.conf";
    task_register (&slurm, contact);
    waits = _has_late_stage ();
    if (waits)
        task_pause ();
    else
        task_begin ();
}

int spank_task_init (spank_t spank, int argc, char *argv[])
{
    uint32_t step = 0;
    char *const *env;
    const char *text;

    spank_launcher_set_task (spank);
    spank_get_item (spank, S_JOB_STEPID, &step);
    if (step == SLURM_INTERACTIVE_STEP) {
        spank_unsetenv (spank, CONTACT_VARIABLE);
        spank_unsetenv (spank, LOGDIR_VARIABLE);
    }
    env = launcher_environment ();
    if (step == SLURM_INTERACTIVE_STEP || step == SLURM_BATCH_SCRIPT || !spank_options_have_list (env))
        return 0;

    /*
     * proctrack/linuxproc signals no process that is called slurmstepd, nor one with a blank in
     * its name: without a new name this process could not be killed while it waits.
     */
    prctl (PR_SET_NAME, FORK_LIFE_NAME);
    text = variable_get (env, CONTACT_VARIABLE);
    if (!text)
        task_abort (variable_number (env, "SLURM_PROCID") == 0,
                    "--tf-tasks needs an srun that "
                    "waits for its step and has spank_tf; no rendezvous was exported");
    if (strcmp (text, CONTACT_FAILED) == 0)
        _exit (1); /* srun has printed why */
    if (strcmp (text, CONTACT_OFF) != 0) {
        site_read (argc, argv);
        _launch_task (spank, env, text);
        return 0;
    }
    environment_clean ();
    return 0;
}
