/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/cmdline.h"
#include "common/rules.h"
#include "common/tasklist.h"
#include "common/value.h"
#include "launch/list_help.h"

/* Slurm's prefix of the variable that passes an option to slurmstepd. */
#define TO_STEP "_SLURM_SPANK_OPTION_spank_tf_"
/* Another prefix, before that one, if the variable passes the option from a job to srun. */
#define TO_SRUN "SLURM_SPANK_"

/* The values of one option. They live as long as the process. */
struct state {
    bool expects_inherited;     /* the job set it: the first callback has the job's value */
    int calls;                  /* callbacks in this component */
    const char *inherited;      /* from the job */
    const char *own;            /* of this component */
    const char *settled;        /* of the components before */
    size_t settled_by;          /* the component that gave it */
    const char *site;
};

static struct state state[OPTION_COUNT];

/* The lists that components gave for themselves. */
static struct {
    size_t component;
    enum option_id option;
    const char *value;
} *component_list;
static size_t component_lists;

/* How many components are complete. */
static size_t components;

static bool noted;

static bool _is_list (enum option_id option)
{
    return option == OPTION_TASKS || option == OPTION_TASKS_PER_NODE;
}

bool options_is_none (const char *list)
{
    return strcmp (list, LIST_NONE) == 0;
}

void options_set_site (enum option_id option, const char *value)
{
    state[option].site = value;
}

/*
 * True if this list is the whole cluster of the step. sbatch and salloc have one list. srun may
 * have one for each component; the argument ":" separates components.
 */
static bool _is_whole (void)
{
    return spank_context () == S_CTX_ALLOCATOR || !cmdline_has (":");
}

static int _check_roles (const char *value, struct errtext *err)
{
    struct rules_count count = { 0 };
    struct tasklist *list;
    int rc;

    if (tasklist_parse (&list, value, err) < 0)
        return -1;
    rules_count_list (&count, list);
    rc = rules_check_names (list, options_value (OPTION_ROLES), err);
    if (rc == 0)
        rc = rules_check (&count, _is_whole (), err);
    tasklist_destroy (list);
    return rc;
}

int options_check (enum option_id option, const char *value, struct errtext *err)
{
    if (!_is_list (option))
        return option_check (option, value, err);
    return options_is_none (value) ? 0 : _check_roles (value, err);
}

/* Callbacks. */

static int _bad (const char *name, const char *why)
{
    slurm_error ("spank_tf: --%s: %s", name, why);
    return -1;
}

/*
 * A job's script gets the environment of the job's first component, so an option that is given
 * only on a later component would be lost silently.
 */
static int _check_later_component (enum option_id option, const char *value)
{
    const char *first = state[option].settled;
    struct errtext err;

    if (spank_context () != S_CTX_ALLOCATOR || components == 0 || (first && strcmp (first, value) == 0))
        return 0;
    errtext_set (&err,
                 "given on component %zu; give it on the first component of the job, and it "
                 "is valid for all steps",
                 components);
    return _bad (option_table[option].name, err.text);
}

/* scrontab accepts the options of plugins, but makes the job's environment anew, without them. */
static int _check_scrontab (enum option_id option)
{
    if (strcmp (program_invocation_short_name, "scrontab") != 0)
        return 0;
    return _bad (option_table[option].name,
                 "scrontab does not pass it to the job; give it to srun, in the job's command");
}

static int _check_given (enum option_id option, const char *value)
{
    struct errtext err;

    if (options_check (option, value, &err) < 0)
        return _bad (option_table[option].name, err.text);
    return _check_later_component (option, value) < 0 ? -1 : _check_scrontab (option);
}

/* As srun itself does for --mpi=list: the text, and no step or job. */
static void _help (void)
{
    list_help_print (stdout, options_value (OPTION_ROLES));
    exit (fflush (stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
}

static int _take (int val, const char *argument, int remote)
{
    enum option_id option = (enum option_id)val;
    const struct option_definition *d = &option_table[option];
    struct state *s = &state[option];
    const char *text = argument ? argument : "";
    char *value;

    if (remote) {
        noted = noted || _is_list (option);
        return 0;
    }
    /* Slurm passes an option without a value as an empty text, or as a printed NULL. */
    if (d->implied && (*text == '\0' || strcmp (text, "(null)") == 0))
        text = d->implied;
    if (_is_list (option) && strcmp (text, LIST_HELP) == 0)
        _help ();
    if (!(value = option_copy (option, text)))
        return _bad (d->name, strerror (ENOMEM));
    if (_check_given (option, value) < 0) {
        free (value);
        return -1;
    }
    if (s->expects_inherited && s->calls++ == 0)
        s->inherited = value;
    else
        s->own = value;
    return 0;
}

void options_variables (enum option_id option, struct option_variables *variables)
{
    char name[40];

    snprintf (name, sizeof (name), "%s", option_table[option].name);
    for (char *p = name; *p; p++)
        if (*p == '-')
            *p = '_';
    snprintf (variables->to_step, sizeof (variables->to_step), TO_STEP "%s", name);
    snprintf (variables->to_srun, sizeof (variables->to_srun), TO_SRUN "%s", variables->to_step);
}

/* True if the string is the option's name with '_' for '-', and "=". */
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
        if (option_table[i].name && _names (string + sizeof (TO_STEP) - 1, option_table[i].name))
            return true;
    return false;
}

void options_disinherit (void)
{
    struct option_variables variables;

    for (int i = 0; i < OPTION_COUNT; i++)
        if (option_table[i].name) {
            options_variables ((enum option_id)i, &variables);
            unsetenv (variables.to_srun);
            unsetenv (variables.to_step);
        }
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
    options_variables (id, &variables);
    state[id].expects_inherited = getenv (variables.to_srun) != NULL;
    return spank_option_register (spank, &option) == ESPANK_SUCCESS ? 0 : -1;
}

int options_register (spank_t spank)
{
    for (int i = 0; i < OPTION_COUNT; i++)
        if (option_table[i].name && _register_option (spank, (enum option_id)i) < 0)
            return -1;
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

    /* --het-group=0,1 without a ":" has one command line for all components. */
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

/* One list is for all components. If there are several, every component needs one. */
static int _check_components (struct errtext *err)
{
    for (size_t i = 0; i < component_lists && component_lists > 1; i++) {
        size_t component = component_list[i].component;
        bool none = options_is_none (component_list[i].value);

        if (component != i || (i + 1 == component_lists && component + 1 < components))
            return errtext_set (err,
                                "component %zu has no list; give one to each component, or "
                                "one for the whole step",
                                component != i ? i : i + 1);
        if (none != options_is_none (component_list[0].value))
            return errtext_set (err,
                                "component %zu has \"none\" and component %zu has a list; "
                                "give a list to both, or \"none\" to both",
                                none ? i : 0, none ? 0 : i);
    }
    return 0;
}

static int _exclude (const char *whole, const char *per_node, struct errtext *err)
{
    if (!whole || !per_node || options_is_none (whole) || options_is_none (per_node))
        return 0;
    return errtext_set (err, "--tf-tasks and --tf-tasks-per-node cannot be used together");
}

/* A component's value is valid for the whole step. -1 and err if another one has another value. */
static int _settle (enum option_id option, struct errtext *err)
{
    struct state *s = &state[option];
    struct quoted q1, q2;

    if (s->own && s->settled && !_is_list (option) && strcmp (s->own, s->settled) != 0)
        return errtext_set (err,
                            "--%s: \"%s\" on component %zu, but \"%s\" on component %zu; a "
                            "step has only one value",
                            option_table[option].name, text_quoted (&q1, s->settled, strlen (s->settled)),
                            s->settled_by, text_quoted (&q2, s->own, strlen (s->own)), components);
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
        if (_settle ((enum option_id)i, err) < 0)
            return -1;
    components++;
    if (srun && _check_components (&why) < 0)
        return errtext_set (err, "--tf-tasks: %s", why.text);
    return srun ? 0 : _exclude (state[OPTION_TASKS].settled, state[OPTION_TASKS_PER_NODE].settled, err);
}

/* Values. */

const char *options_value (enum option_id option)
{
    const struct state *s = &state[option];

    if (s->settled)
        return s->settled;
    if (s->inherited)
        return s->inherited;
    return s->site ? s->site : option_table[option].normal;
}

bool options_is_given (enum option_id option)
{
    return state[option].settled || state[option].inherited;
}

bool options_is_own (enum option_id option)
{
    return state[option].settled;
}

int options_word (enum option_id option)
{
    return option_word (option, options_value (option), NULL);
}

int options_seconds (enum option_id option)
{
    int seconds = 0;

    value_seconds_parse (&seconds, options_value (option), 0, INT_MAX);
    return seconds;
}

bool options_list_inherited (void)
{
    return component_lists == 0;
}

/* The value for all components, given to sbatch or salloc or to the job; or NULL. */
static const char *_given (enum option_id option)
{
    return state[option].settled ? state[option].settled : state[option].inherited;
}

const char *options_list (size_t i, enum option_id *option)
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
              : per_node                        ? OPTION_TASKS_PER_NODE
                                                : OPTION_TASKS;
    return *option == OPTION_TASKS ? whole : per_node;
}

enum options_use options_use (void)
{
    enum option_id option;
    const char *list = options_list (0, &option);

    if (!list)
        return OPTIONS_UNUSED;
    return options_is_none (list) ? OPTIONS_OFF : OPTIONS_ON;
}
