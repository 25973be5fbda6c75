/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "srun_checks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/list_text.h"
#include "common/preflight.h"
#include "launcher.h"
#include "options.h"
#include "srun_config.h"

static int _check_restart (const struct srun_facts *facts, struct errtext *err)
{
    const char *why = srun_config_restart (facts).times > 0 ? facts->no_restart : NULL;

    return why ? errtext_set (err, "--tf-restart: %s", why) : 0;
}

/* For a restart Slurm must not end the step with the node for which the spare is there. */
static int _check_spares (const struct srun_facts *facts, struct errtext *err)
{
    if (!srun_config_has (RULES_SPARE))
        return 0;
    /* Of a preflight of the site the user may not know. */
    if (srun_config_restart (facts).times == 0)
        return options_is_given (OPTION_PREFLIGHT) && preflight_is_on (options_value (OPTION_PREFLIGHT))
                   ? 0
                   : errtext_set (
                         err, "--tf-tasks: a spare replaces a lost task when all tasks are restarted. Add "
                              "--tf-restart=N to srun");
    if (facts->lacks_no_kill)
        return errtext_set (err,
                            "--tf-tasks: with spare tasks, the step must survive the loss of a node. Add "
                            "--no-kill to srun, and to sbatch or salloc");
    return 0;
}

/* A job's --tf-tee, or a site's, is for those of its steps that have log files. */
static int _check_tee (struct errtext *err)
{
    if (srun_config_logs () || !options_is_own (OPTION_TEE) || options_word (OPTION_TEE) == VALUE_NO)
        return 0;
    return errtext_set (err, "--tf-tee needs --tf-log-dir: it writes the output of tasks to their log files "
                             "and to srun");
}

static int _check_notify (struct errtext *err)
{
    return srun_config_notify (err) || strcmp (options_value (OPTION_USER_NOTIFY), NOTIFY_NONE) == 0 ? 0 : -1;
}

/* Slurm numbers the tasks of a step by the group, whatever the command line's order is. */
static int _check_order (const struct srun_facts *facts, struct errtext *err)
{
    enum option_id option;

    if (!facts->descends || !options_list (1, &option))
        return 0;
    return errtext_set (err,
                        "--tf-tasks: with several lists, the numbers of --het-group must ascend from one "
                        "component to the next");
}

int srun_checks_options (const struct srun_facts *facts, struct errtext *err)
{
    if (_check_order (facts, err) < 0 || _check_restart (facts, err) < 0 || _check_spares (facts, err) < 0)
        return -1;
    return _check_tee (err) < 0 || _check_notify (err) < 0 ? -1 : 0;
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

int srun_checks_input (const struct srun_facts *facts, struct errtext *err)
{
    static const struct cmdline_option option = { "--input", sizeof ("--in") - 1, 'i' };
    const char *given = cmdline_find (&facts->options, &option);
    const char *input = given ? given : getenv ("SLURM_STDINMODE");

    if (srun_config_has (RULES_SPARE) && input && *input
        && (!input[strspn (input, "0123456789")] || _differs_by_task (input)))
        return errtext_set (err,
                            "--input=%s: a spare would not have the input of the task whose place it takes; "
                            "with spare tasks, give all tasks the same input",
                            input);
    return 0;
}

void srun_checks_unused (void)
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
        launcher_say (false, "%s: no effect without --tf-tasks", list_text_end (&list));
}

/* What the user, or the site, has promised to tasks, and srun will not keep. */
static void _say_what_wait_cuts (int wait)
{
    int grace = options_seconds (OPTION_STOP_GRACE), most = srun_config_stop_grace (wait);
    int eval = options_seconds (OPTION_EVAL_GRACE), eval_most = wait > most ? wait - most - 1 : 0;
    bool cuts_evaluator = eval > eval_most && srun_config_has (RULES_EVALUATOR);
    char evaluator[96] = "", stopped[96] = "";

    if (wait == 0 || (grace == most && !cuts_evaluator))
        return;
    if (cuts_evaluator)
        snprintf (evaluator, sizeof (evaluator), "an evaluator gets at most %d s, not %d s, to finish%s",
                  eval_most, eval, grace > most ? "; " : "");
    if (grace > most)
        snprintf (stopped, sizeof (stopped), "a stopped task gets %d s, not %d s", most, grace);
    launcher_say (false, "srun kills all tasks %d s after the first one ended (--wait): %s%s", wait,
                  evaluator, stopped);
}

/* Without messages nothing is watched then. */
static void _say_what_is_watched (void)
{
    if (options_is_given (OPTION_WATCHDOG) && srun_config_watchdog ().seconds > 0 && !srun_config_logs ())
        launcher_say (false,
                      "--tf-watchdog: without --tf-log-dir only tasks that send heartbeats are watched");
}

void srun_checks_say (const struct srun_facts *facts)
{
    _say_what_is_watched ();
    _say_what_wait_cuts (srun_config_wait (facts));
}
