/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "additions.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/marks.h"
#include "common/variables.h"
#include "launcher.h"

/* The marks of what additions_set () has set. */
static char added[MARKS_MAX];

/* Of the step, before that variable gets another value. */
static int tasks;

struct former {
    char name[128];
};

/* Where the former value of a variable is kept. Returns room->name. */
static const char *_former (const char *name, struct former *room)
{
    snprintf (room->name, sizeof (room->name), VARIABLE_FORMER "%s", name);
    return room->name;
}

/* Note that the variable gets this value in the place of the former one, or of none. */
static int _note (const char *name, const char *value, const char *former)
{
    struct former room;

    if (former && launcher_set (_former (name, &room), former) < 0)
        return -1;
    return marks_add (added, sizeof (added), name, value);
}

/* Does the task get this value? `variable` and `former`, which the task has now, may be NULL. */
static bool _sets (const struct variable *variable, const char *value, const char *former)
{
    if (!former)
        return !variable || variable->kind != VARIABLE_SLURM;
    return strcmp (former, value) != 0 && (!variable || variable_replaces (variable, tasks));
}

int additions_set (const char *name, const char *value)
{
    char *const *env = launcher_environment ();
    const char *former;

    if (tasks == 0)
        tasks = variable_number (env, "SLURM_STEP_NUM_TASKS");
    former = variable_get (env, name);
    if (!_sets (variable_find (name), value, former))
        return 0;
    if (_note (name, value, former) < 0)
        return -1;
    return launcher_set (name, value);
}

int additions_end (void)
{
    return launcher_set (MARKS_VARIABLE, added);
}

/* Of a variable with a mark. A value that has changed since is not the launch's. */
static void _undo (const char *name, const char *marks)
{
    const char *value = getenv (name), *former;
    struct former room;

    if (value && marks_find (marks, name, strlen (name), value) == MARKS_SAME) {
        former = getenv (_former (name, &room));
        if (former)
            setenv (name, former, 1);
        else
            unsetenv (name);
    }
    unsetenv (_former (name, &room));
}

void additions_undo (void)
{
    const char *marks = getenv (MARKS_VARIABLE);
    char *names = marks ? strdup (marks) : NULL, *rest = names, *name;

    if (!names)
        return;
    while ((name = strsep (&rest, ","))) {
        name[strcspn (name, ":")] = '\0';
        _undo (name, marks);
    }
    free (names);
    unsetenv (MARKS_VARIABLE);
}
