/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * All programs in one file: it is the one that argv[0] names, or the first argument, and otherwise tf-run.
 *
 *     tf-exec [...]           by a link of that name
 *     tf-run tf-exec [...]    without one
 *
 * So a copy of the file, under any name, is all that a node needs.
 */
#include "config.h"

#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>

#include "programs.h"

struct program {
    const char *name;
    int (*main) (int argc, char *argv[]);
};

static const struct program programs[] = {
    { "tf-run", tf_run_main },
    { "tf-abandoned", tf_abandoned_main },
    { "tf-check", tf_check_main },
    { "tf-exec", tf_exec_main },
    { "tf-rendezvous", tf_rendezvous_main },
    { "tf-status", tf_status_main },
    { "tf-supervise", tf_supervise_main },
};

static const struct program *_find (const char *path)
{
    const char *slash = strrchr (path, '/'), *name = slash ? slash + 1 : path;

    for (size_t i = 0; i < sizeof (programs) / sizeof (programs[0]); i++)
        if (strcmp (name, programs[i].name) == 0)
            return &programs[i];
    return NULL;
}

int main (int argc, char *argv[])
{
    const struct program *program = argc > 0 ? _find (argv[0]) : NULL, *word;

    if (!program)
        program = &programs[0];
    if (program == &programs[0] && argc > 1 && (word = _find (argv[1]))) {
        program = word;
        argc--;
        argv++;
    }
    /* `ps` shows it, instead of the file's name. */
    prctl (PR_SET_NAME, program->name);
    return program->main (argc, argv);
}
