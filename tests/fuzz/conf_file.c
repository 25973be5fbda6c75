/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The input is a configuration file of Slurm or NCCL; each reader gets it. What it includes is the same file
 * again, except names with "missing" in them.
 */
#include "config.h"

#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/plugstack.h"
#include "check/slurm_conf.h"
#include "launch/cgroup_conf.h"

static void _read_slurm_conf (const char *path)
{
    static struct slurm_conf conf;
    struct errtext err = { "" };

    memset (&conf, 0, sizeof (conf));
    snprintf (conf.path, sizeof (conf.path), "%s", path);
    if (slurm_conf_read (&conf, &err) < 0) {
        CHECK (err.text[0]);        /* with the name of a file, as it is */
        return;
    }
    CHECK (conf.plugstack[0]);
    CHECK (memchr (conf.plugin_dir, '\0', sizeof (conf.plugin_dir)));
    CHECK (memchr (conf.srun_ports, '\0', sizeof (conf.srun_ports)));
    CHECK (memchr (conf.mpi_params, '\0', sizeof (conf.mpi_params)));
    CHECK (memchr (conf.controller, '\0', sizeof (conf.controller)));
    CHECK (!strpbrk (conf.plugin_dir, "\r\n"));
}

static bool _is_word (const char *text)
{
    return *text && !strpbrk (text, " \t\n");
}

static void _check_line (const struct plugstack_line *line)
{
    const char *end = line->text + sizeof (line->text);

    CHECK (line->at.number >= 1 && line->arguments <= PLUGSTACK_MAX_ARGUMENTS);
    CHECK (line->plugin >= line->text && line->plugin < end && _is_word (line->plugin));
    CHECK (strstr (line->plugin, "spank_tf.so"));
    for (size_t i = 0; i < line->arguments; i++)
        CHECK (line->argument[i] > line->plugin && line->argument[i] < end && _is_word (line->argument[i]));
}

static void _read_plugstack (const char *path)
{
    static struct plugstack stack;
    struct errtext err;

    memset (&stack, 0, sizeof (stack));
    if (!fuzz_succeeded (plugstack_read (&stack, path, &err), &err))
        return;
    CHECK (stack.files >= 1);
    for (size_t i = 0; i < stack.lines && i < PLUGSTACK_MAX_LINES; i++)
        _check_line (&stack.line[i]);
    CHECK (!stack.ignored.text[0] || fuzz_is_line (stack.ignored.text));
}

FUZZ_TARGET (conf_file)
{
    const char *path = fuzz_file (data, size);
    char *text = fuzz_text (data, size);
    bool is_whole = strlen (text) == size;
    int all;

    fuzz_include_itself (true);
    _read_slurm_conf (path);
    _read_plugstack (path);
    all = cgroup_conf_signals_all (path, NULL);
    CHECK (all >= -1 && all <= 1);
    CHECK (all < 1 || !is_whole || strchr (text, '\\') || strcasestr (text, "SignalChildrenProcesses"));
    fuzz_include_itself (false);
    free (text);
}
