/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "srun.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <unistd.h>

#include "common/errtext.h"
#include "common/preflight.h"
#include "common/rules.h"
#include "common/tasklist.h"
#include "containers.h"
#include "launch/cmdline.h"
#include "launch/launcher.h"
#include "launch/options.h"
#include "launch/srun_checks.h"
#include "launch/srun_config.h"
#include "launch/srun_side.h"
#include "protocol/contact.h"
#include "site.h"
#include "slurm_private.h"
#include "submission.h"

static int _check_options (struct errtext *err)
{
    if (options_end_component (err) < 0)
        return -1;
    if (options_use () == OPTIONS_ON && site_error ())
        return errtext_set (err, "%s", site_error ());
    return 0;
}

/*
 * In init_post_opt: print why, and end the command with the exit code that it has for errors. There is
 * neither a job nor a step yet, and Slurm itself calls exit () after an init_post_opt that fails; but first
 * it prints two lines about the plugin, and with `optional` in plugstack.conf it goes on.
 */
static noreturn void _refuse (const char *why)
{
    launcher_say (true, "%s", why);
    exit (srun_side_error_code ());
}

/* sbatch and salloc. */

/* Slurm would end the job with the node for which the spare is there, if it is not for the preflight. */
static void _say_what_kills (const struct submission *submission)
{
    static const struct srun_facts any = { 0 };

    if (submission->dies_with_node && srun_config_has (RULES_SPARE)
        && (srun_config_restart (&any).times > 0 || !preflight_is_on (options_value (OPTION_PREFLIGHT))))
        launcher_say (
            false, "--tf-tasks: with spare tasks, the job must survive the loss of a node. Add --no-kill to "
                   "it, and to its srun");
}

static void _say_what_runs_once (const struct submission *submission)
{
    if (submission->runs_once)
        launcher_say (false,
                      "--tf-tasks: the script starts a Python program without srun, so it will run once, on "
                      "the first node, without TF_CONFIG. Write \"srun python ...\" to start one process for "
                      "each task");
}

/* A list that needs more tasks than the job has. One that needs less may be for an srun -n. */
static void _say_what_does_not_fit (const struct submission *submission, struct tasklist *list,
                                    enum option_id option)
{
    bool per_node = option == OPTION_TASKS_PER_NODE && submission->tasks_per_node;
    int tasks = per_node ? submission->tasks_per_node : submission->tasks;
    struct errtext why;

    if (tasks > 0 && list->named + list->rest > tasks
        && rules_assign (list, NULL, tasks, per_node ? "a node of this job" : "this job",
                         option == OPTION_TASKS ? "--tf-tasks" : "--tf-tasks-per-node", &why)
               < 0)
        launcher_say (false, "%s. An srun with its own number of tasks may fit", why.text);
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

void srun_check_submission (void)
{
    struct errtext err;

    if (_check_options (&err) < 0)
        _refuse (err.text);
    if (options_use () == OPTIONS_ON)
        _say_what_the_job_lacks ();
}

/* srun. */

static struct srun_facts facts;

/*
 * Slurm reads the options of a component by getopt_long (), which leaves in optind where they end. It counts
 * from the program's name, and for a later component from the ":" in front of it (init_srun () in Slurm's
 * src/srun/libsrun/srun_job.c).
 */
static void _add_options (void)
{
    static size_t begin;
    const struct cmdline *line = &facts.line;
    size_t end, next;
    struct cmdline own;

    if (!line->text)
        cmdline_read (&facts.line);
    end = optind > 0 && begin + (size_t)optind < line->count ? begin + (size_t)optind : line->count;
    own = (struct cmdline){ end - begin, line->text + begin };
    for (size_t i = 1; i < own.count; i++)
        if (cmdline_add (&facts.options, own.text[i]) < 0 && options_use () == OPTIONS_ON)
            _refuse (strerror (ENOMEM));
    srun_side_add_component (&facts, &own);
    for (next = end; next < line->count && strcmp (line->text[next], ":") != 0; next++)
        ;
    facts.has_later = next < line->count;
    if (facts.has_later)
        begin = next;
}

static void _gather_facts (void)
{
    slurm_private_srun (&facts);
    facts.no_restart = containers_forbid_restart (&facts.options);
}

void srun_prepare (void)
{
    struct errtext err;

    srun_side_reset ();
    _add_options ();
    if (_check_options (&err) < 0)
        _refuse (err.text);
    if (options_use () == OPTIONS_ON)
        _gather_facts ();
    /* The shell of salloc (use_interactive_step) is not what the job's options are for. */
    if (cmdline_has (&facts.options, "--interactive"))
        return;
    if (srun_side_prepare (&facts, &err) < 0)
        _refuse (err.text);
}

int srun_start (spank_t spank)
{
    char **argv = NULL;
    int argc = 0;
    uint32_t job = 0, step = 0;
    struct errtext err;
    char name[64];

    if (options_use () == OPTIONS_UNUSED)
        srun_checks_unused ();
    if (options_use () != OPTIONS_ON || spank_get_item (spank, S_JOB_STEPID, &step) != ESPANK_SUCCESS
        || step == SLURM_INTERACTIVE_STEP)
        return 0;
    spank_get_item (spank, S_JOB_ID, &job);
    snprintf (name, sizeof (name), "%u.%u", job, step);
    if (spank_get_item (spank, S_JOB_ARGV, &argc, &argv) == ESPANK_SUCCESS && argc > 0)
        facts.program = argv[0];
    if (srun_side_start (&facts, name, &err) >= 0)
        return 0;
    launcher_say (true, "%s", err.text);
    /* Its tasks, which Slurm launches all the same, end at once. */
    setenv (CONTACT_VARIABLE, CONTACT_FAILED, 1);
    return 0;
}
