/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmdline.h"

/* What Slurm puts before an option's name, and what it puts before that where srun is to find
 * it. */
#define TO_STEP "_SLURM_SPANK_OPTION_spank_tf_"
#define TO_SRUN "SLURM_SPANK_"

/* What is known of one option. Values live as long as the process. */
struct state {
    bool expects_inherited;     /* its variable is set: the first callback of a component */
    int calls;                  /* in this component */
    const char *inherited;
    const char *own;            /* in this component */
    const char *settled;        /* of the components before, */
    size_t settled_by;          /* and the one that gave it */
    const char *site;
};

static struct state state[OPTION_COUNT];

/* The lists that components gave for themselves, and how many components there are. */
static struct {
    size_t component;
    enum option option;
    const char *value;
} *component_list;
static size_t component_lists, components;

static bool noted;

static bool _is_list (enum option option)
{
    return option == OPTION_TASKS || option == OPTION_TASKS_PER_NODE;
}

bool options_is_none (const char *list)
{
    return strcmp (list, LIST_NONE) == 0;
}

int options_set_site (const char *key, const char *value, struct errtext *err)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        if (!definition[i].site || strcmp (definition[i].site, key) != 0)
            continue;
        if (definition[i].check (value, err) < 0)
            return -1;
        state[i].site = value;
        return 1;
    }
    return 0;
}

/* Callbacks. */

static int _bad (const char *name, const char *why)
{
    slurm_error ("spank_tf: --%s: %s", name, why);
    return -1;
}

/*
 * Slurm carries the environment of a job's first component into its script, so an option
 * that stands on a later one alone would be lost without a word.
 */
static int _check_later_component (enum option option, const char *value)
{
    const char *first = state[option].settled;
    struct errtext err;

    if (spank_context () != S_CTX_ALLOCATOR || components == 0
        || (first && strcmp (first, value) == 0))
        return 0;
    errtext_set (&err, "given on component %zu; a heterogeneous job has it on its first "
                 "component, for all its steps", components);
    return _bad (definition[option].name, err.text);
}

static int _take (int val, const char *argument, int remote)
{
    enum option option = (enum option)val;
    const struct definition *d = &definition[option];
    struct state *s = &state[option];
    const char *value = argument && d->arginfo ? argument : "";
    struct errtext err;

    if (remote) {
        noted = noted || _is_list (option);
        return 0;
    }
    /* Slurm hands an option without a value on as nothing, or as the text of a NULL. */
    if (d->implied && (*value == '\0' || strcmp (value, "(null)") == 0))
        value = d->implied;
    if (d->check (value, &err) < 0)
        return _bad (d->name, err.text);
    if (_check_later_component (option, value) < 0)
        return -1;
    if (!(value = strdup (value)))
        return _bad (d->name, strerror (ENOMEM));
    if (s->expects_inherited && s->calls++ == 0)
        s->inherited = value;
    else
        s->own = value;
    return 0;
}

void options_variables (enum option option, struct option_variables *variables)
{
    char name[40];

    snprintf (name, sizeof (name), "%s", definition[option].name);
    for (char *p = name; *p; p++)
        if (*p == '-')
            *p = '_';
    snprintf (variables->to_step, sizeof (variables->to_step), TO_STEP "%s", name);
    snprintf (variables->to_srun, sizeof (variables->to_srun), TO_SRUN "%s", variables->to_step);
}

static bool _names (const char *string, const char *option)
{
    for (; *option; option++, string++)
        if (*string != (*option == '-' ? '_' : *option))
            return false;
    return *string == '=';
}

bool options_is_variable (const char *string)
{
    if (strncmp (string, TO_SRUN, sizeof (TO_SRUN) - 1) == 0)
        string += sizeof (TO_SRUN) - 1;
    if (strncmp (string, TO_STEP, sizeof (TO_STEP) - 1) != 0)
        return false;
    for (int i = 0; i < OPTION_COUNT; i++)
        if (_names (string + sizeof (TO_STEP) - 1, definition[i].name))
            return true;
    return false;
}

void options_disinherit (void)
{
    struct option_variables variables;

    for (int i = 0; i < OPTION_COUNT; i++) {
        options_variables ((enum option)i, &variables);
        unsetenv (variables.to_srun);
        unsetenv (variables.to_step);
    }
}

int options_register (spank_t spank)
{
    struct option_variables variables;

    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct definition *d = &definition[i];
        struct spank_option option = {
            .name = (char *)(uintptr_t)d->name,
            .arginfo = (char *)(uintptr_t)d->arginfo,
            .usage = (char *)(uintptr_t)d->usage,
            .has_arg = !d->arginfo ? 0 : d->implied ? 2 : 1,
            .val = i,
            .cb = _take,
        };

        options_variables ((enum option)i, &variables);
        state[i].expects_inherited = getenv (variables.to_srun) != NULL;
        if (spank_option_register (spank, &option) != ESPANK_SUCCESS)
            return -1;
    }
    return 0;
}

bool options_noted (void)
{
    return noted;
}

/* Components. */

static int _add_component_list (struct errtext *err)
{
    const char *whole = state[OPTION_TASKS].own;
    const char *per_node = state[OPTION_TASKS_PER_NODE].own;
    bool is_whole = whole && (!per_node || options_is_none (per_node));
    void *grown;

    /* Without a ":" one command line is for all components of --het-group=0,1. */
    if ((!whole && !per_node) || (component_lists == 1 && !cmdline_has (":")))
        return 0;
    if (!(grown = realloc (component_list, (component_lists + 1) * sizeof (*component_list))))
        return errtext_set (err, "%s", strerror (ENOMEM));
    component_list = grown;
    component_list[component_lists].component = components;
    component_list[component_lists].option = is_whole ? OPTION_TASKS : OPTION_TASKS_PER_NODE;
    component_list[component_lists].value = is_whole ? whole : per_node;
    component_lists++;
    return 0;
}

/* One list is for all; several are one for each, and all of them lists. */
static int _check_components (struct errtext *err)
{
    for (size_t i = 0; i < component_lists && component_lists > 1; i++) {
        size_t component = component_list[i].component;
        bool none = options_is_none (component_list[i].value);

        if (component != i || (i + 1 == component_lists && component + 1 < components))
            return errtext_set (err, "component %zu has no list; give one to each component, or "
                                "one for the whole step", component != i ? i : i + 1);
        if (none != options_is_none (component_list[0].value))
            return errtext_set (err, "component %zu has \"none\", component %zu a list; a step is "
                                "one cluster or none", none ? i : 0, none ? 0 : i);
    }
    return 0;
}

static int _exclude (const char *whole, const char *per_node, struct errtext *err)
{
    if (!whole || !per_node || options_is_none (whole) || options_is_none (per_node))
        return 0;
    return errtext_set (err, "--tf-tasks and --tf-tasks-per-node exclude each other");
}

/* What this component gave is the step's, unless another one gave something else. */
static int _settle (enum option option, struct errtext *err)
{
    struct state *s = &state[option];
    struct quoted q1, q2;

    if (s->own && s->settled && !_is_list (option) && strcmp (s->own, s->settled) != 0)
        return errtext_set (err, "--%s: \"%s\" on component %zu, \"%s\" on component %zu; a step "
                            "has one value", definition[option].name,
                            text_quoted (&q1, s->settled, strlen (s->settled)), s->settled_by,
                            text_quoted (&q2, s->own, strlen (s->own)), components);
    if (s->own) {
        s->settled = s->own;
        s->settled_by = components;
    }
    s->own = NULL;
    s->calls = 0;
    return 0;
}

int options_end_component (struct errtext *err)
{
    bool srun = spank_context () == S_CTX_LOCAL;
    struct errtext why;

    if (_exclude (state[OPTION_TASKS].own, state[OPTION_TASKS_PER_NODE].own, err) < 0
        || (srun && _add_component_list (err) < 0))
        return -1;
    for (int i = 0; i < OPTION_COUNT; i++)
        if (_settle ((enum option)i, err) < 0)
            return -1;
    components++;
    if (srun && _check_components (&why) < 0)
        return errtext_set (err, "--tf-tasks: %s", why.text);
    return srun ? 0 : _exclude (state[OPTION_TASKS].settled,
                                state[OPTION_TASKS_PER_NODE].settled, err);
}

/* Values. */

const char *options_name (enum option option)
{
    return definition[option].name;
}

const char *options_value (enum option option)
{
    const struct state *s = &state[option];

    if (s->settled)
        return s->settled;
    if (s->inherited)
        return s->inherited;
    return s->site ? s->site : definition[option].normal;
}

bool options_is_given (enum option option)
{
    return state[option].settled || state[option].inherited;
}

bool options_yes (enum option option)
{
    return strcmp (options_value (option), "yes") == 0;
}

bool options_list_inherited (void)
{
    return component_lists == 0;
}

/* For all components: by sbatch and salloc, or with the job. */
static const char *_given (enum option option)
{
    return state[option].settled ? state[option].settled : state[option].inherited;
}

const char *options_list (size_t i, enum option *option)
{
    const char *whole = _given (OPTION_TASKS);
    const char *per_node = _given (OPTION_TASKS_PER_NODE);

    if (i < component_lists) {
        *option = component_list[i].option;
        return component_list[i].value;
    }
    if (component_lists || i > 0)
        return NULL;
    *option = whole && !options_is_none (whole) ? OPTION_TASKS
              : per_node ? OPTION_TASKS_PER_NODE : OPTION_TASKS;
    return *option == OPTION_TASKS ? whole : per_node;
}

enum options_use options_use (void)
{
    enum option option;
    const char *list = options_list (0, &option);

    if (!list)
        return OPTIONS_UNUSED;
    return options_is_none (list) ? OPTIONS_OFF : OPTIONS_ON;
}
