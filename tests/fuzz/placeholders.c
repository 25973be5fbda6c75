/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The first line is a task's TF_CONFIG, the second its role, the third the names of auxiliary tasks,
 * and the rest an argument with placeholders.
 */
#include "config.h"

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "exec/placeholders.h"
#include "exec/task_env.h"

/* "{{" stands for one brace: with all braces doubled the text is replaced by itself. */
static void _check_escaped (const char *text, const struct placeholder_values *values)
{
    char *escaped = malloc (2 * strlen (text) + 1), *end = escaped, *replaced;
    struct errtext err;

    CHECK (escaped);
    for (const char *p = text; *p; p++) {
        if (*p == '{')
            *end++ = '{';
        *end++ = *p;
    }
    *end = '\0';
    CHECK (fuzz_succeeded (placeholders_replace (&replaced, escaped, values, &err), &err));
    CHECK (strcmp (replaced, text) == 0);
    free (replaced);
    free (escaped);
}

/* It is replaced in the same way behind another placeholder. */
static void _check_behind_another (const char *text, const char *replaced,
                                   const struct placeholder_values *values)
{
    static const char first[] = "}{role}";
    char *both = malloc (sizeof (first) + strlen (text)), *result;
    const char *role = values->of[PLACEHOLDER_ROLE];
    struct errtext err;

    CHECK (both);
    strcpy (stpcpy (both, first), text);
    CHECK (fuzz_succeeded (placeholders_replace (&result, both, values, &err), &err) == (role != NULL));
    if (role) {
        CHECK (result[0] == '}' && strncmp (result + 1, role, strlen (role)) == 0);
        CHECK (strcmp (result + 1 + strlen (role), replaced) == 0);
        free (result);
    }
    free (both);
}

static void _check_text (const char *text, const struct placeholder_values *values)
{
    struct errtext err;
    char *replaced;

    _check_escaped (text, values);
    if (fuzz_succeeded (placeholders_replace (&replaced, text, values, &err), &err)) {
        CHECK (strchr (text, '{') || strcmp (replaced, text) == 0);
        _check_behind_another (text, replaced, values);
        free (replaced);
    } else
        CHECK (strchr (text, '{') && strchr (text, '}'));
}

/* Every name has a variable, unless the variable is one that a task has anyway. */
static void _set_names (const char *names)
{
    struct beside_variable room;

    CHECK ((*names ? setenv (BESIDE_VARIABLE, names, 1) : unsetenv (BESIDE_VARIABLE)) == 0);
    for (; *names; names += *names == ',') {
        char name[BESIDE_MAX_NAME + 1] = "";
        size_t length = strcspn (names, ",");

        if (beside_is_name (names, length))
            memcpy (name, names, length);
        if (*name && beside_check (name, NULL) == 0)
            CHECK (setenv (beside_variable (name, &room), "a:1,b:2", 1) == 0);
        names += length;
    }
}

FUZZ_TARGET (placeholders)
{
    char *text = fuzz_text (data, size), *rest = text, *config = fuzz_line (&rest);
    struct task_env task;
    struct errtext err;
    char roles[128];

    CHECK (setenv ("TF_CONFIG", config, 1) == 0);
    CHECK (setenv ("SLURM_TF_ROLE", fuzz_line (&rest), 1) == 0);
    _set_names (fuzz_line (&rest));
    /* jansson's objects are larger than its text. */
    fuzz_allow (SIZE_MAX);
    if (fuzz_succeeded (task_env_read (&task, &err), &err)) {
        CHECK (task_env_knows_role (&task, task.values.of[PLACEHOLDER_ROLE]));
        task_env_roles (&task, roles, sizeof (roles));
        fuzz_succeeded (task_env_set_environment (&task, "cloud", &err), &err);
        _check_text (rest, &task.values);
        task_env_clear (&task);
    }
    free (text);
}
