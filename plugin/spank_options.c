/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "spank_options.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/variables.h"
#include "launch/cmdline.h"
#include "launch/launcher.h"
#include "launch/option_variables.h"
#include "launch/options.h"

static bool noted;

/* scrontab accepts the options of plugins, but makes the job's environment anew, without them. */
static int _check_scrontab (enum option_id option, struct errtext *err)
{
    if (strcmp (program_invocation_short_name, "scrontab") != 0)
        return 0;
    return errtext_set (err,
                        "--%s: scrontab does not pass it to the job; give it to srun, in the job's command",
                        option_table[option].name);
}

/* srun may have a list for each component; the argument ":" separates components. */
static void _set_command (void)
{
    static bool is_set;
    struct cmdline line;

    if (is_set)
        return;
    is_set = true;
    cmdline_read (&line);
    options_set_command (spank_context () == S_CTX_ALLOCATOR, cmdline_has (&line, ":"));
    cmdline_clear (&line);
}

static int _take (int val, const char *argument, int remote)
{
    enum option_id option = (enum option_id)val;
    struct errtext err;

    if (remote) {
        noted = noted || option == OPTION_TASKS || option == OPTION_TASKS_PER_NODE;
        return 0;
    }
    _set_command ();
    if (options_take (option, argument, &err) == 0 && _check_scrontab (option, &err) == 0)
        return 0;
    launcher_say (true, "%s", err.text);
    return -1;
}

static int _register_option (spank_t spank, enum option_id id)
{
    static struct option_help help[OPTION_COUNT];   /* Slurm may keep its texts */
    const struct option_definition *d = &option_table[id];
    struct option_variables variables;
    struct spank_option option = {
        .name = (char *)(uintptr_t)d->name,
        .arginfo = help[id].arginfo,
        .usage = help[id].usage,
        .has_arg = d->implied ? 2 : 1,
        .val = (int)id,
        .cb = _take,
    };

    option_help (id, &help[id]);
    option_variables_of (id, &variables);
    if (getenv (variables.to_srun))
        options_expect_inherited (id);
    return spank_option_register (spank, &option) == ESPANK_SUCCESS ? 0 : -1;
}

int spank_options_register (spank_t spank)
{
    for (int i = 0; i < OPTION_COUNT; i++)
        if (option_table[i].name && _register_option (spank, (enum option_id)i) < 0)
            return -1;
    return 0;
}

/* The job has a task list. srun did not see it if its host lacks the plugin. */
static bool _inherits_list (char *const env[], enum option_id option)
{
    struct option_variables variables;
    const char *list;

    option_variables_of (option, &variables);
    list = variable_get (env, variables.to_srun);
    return list && !options_is_none (list);
}

bool spank_options_have_list (char *const env[])
{
    return noted || _inherits_list (env, OPTION_TASKS) || _inherits_list (env, OPTION_TASKS_PER_NODE);
}
