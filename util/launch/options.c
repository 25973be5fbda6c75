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

#include "common/rules.h"
#include "common/tasklist.h"
#include "common/value.h"
#include "list_help.h"

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

/* options_set_command () */
static bool submits, has_components;

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

void options_set_command (bool is_submission, bool with_components)
{
    submits = is_submission;
    has_components = with_components;
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
        rc = rules_check (&count, submits || !has_components, err);
    tasklist_destroy (list);
    return rc;
}

int options_check (enum option_id option, const char *value, struct errtext *err)
{
    if (!_is_list (option))
        return option_check (option, value, err);
    return options_is_none (value) ? 0 : _check_roles (value, err);
}

/*
 * A job's script gets the environment of the job's first component, so an option that is given
 * only on a later component would be lost silently.
 */
static int _check_later_component (enum option_id option, const char *value, struct errtext *err)
{
    const char *first = state[option].settled;

    if (!submits || components == 0 || (first && strcmp (first, value) == 0))
        return 0;
    return errtext_set (err,
                        "given on component %zu; give it on the first component of the job, and it "
                        "is valid for all steps",
                        components);
}

/* As srun itself does for --mpi=list: the text, and no step or job. */
static void _help (void)
{
    list_help_print (stdout, options_value (OPTION_ROLES));
    exit (fflush (stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
}

void options_expect_inherited (enum option_id option)
{
    state[option].expects_inherited = true;
}

int options_take (enum option_id option, const char *argument, struct errtext *err)
{
    const struct option_definition *d = &option_table[option];
    struct state *s = &state[option];
    const char *text = argument ? argument : "";
    struct errtext why;
    char *value;

    /* Slurm passes an option without a value as an empty text, or as a printed NULL. */
    if (d->implied && (*text == '\0' || strcmp (text, "(null)") == 0))
        text = d->implied;
    if (_is_list (option) && strcmp (text, LIST_HELP) == 0)
        _help ();
    if (!(value = option_copy (option, text)))
        return errtext_set (err, "--%s: %s", d->name, strerror (ENOMEM));
    if (options_check (option, value, &why) < 0 || _check_later_component (option, value, &why) < 0) {
        free (value);
        return errtext_set (err, "--%s: %s", d->name, why.text);
    }
    if (s->expects_inherited && s->calls++ == 0)
        s->inherited = value;
    else
        s->own = value;
    return 0;
}

/* Components. */

static int _add_component_list (struct errtext *err)
{
    const char *whole = state[OPTION_TASKS].own;
    const char *per_node = state[OPTION_TASKS_PER_NODE].own;
    bool is_whole = whole && (!per_node || options_is_none (per_node));
    void *grown;

    /* --het-group=0,1 without a ":" has one command line for all components. */
    if ((!whole && !per_node) || (component_lists == 1 && !has_components))
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

static bool _has_jobs_list (void)
{
    const char *whole = state[OPTION_TASKS].inherited, *per_node = state[OPTION_TASKS_PER_NODE].inherited;

    return (whole && !options_is_none (whole)) || (per_node && !options_is_none (per_node));
}

/* One list is for all components. If there are several, every component needs one. */
static int _check_components (struct errtext *err)
{
    if (component_lists == 1 && component_list[0].component > 0 && options_is_none (component_list[0].value)
        && _has_jobs_list ())
        return errtext_set (err,
                            "component %zu has \"none\" and component 0 has the job's list; give a list to "
                            "both, or \"none\" to both",
                            component_list[0].component);
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
    struct errtext why;

    if (_exclude (state[OPTION_TASKS].own, state[OPTION_TASKS_PER_NODE].own, err) < 0
        || (!submits && _add_component_list (err) < 0))
        return -1;
    for (int i = 0; i < OPTION_COUNT; i++)
        if (_settle ((enum option_id)i, err) < 0)
            return -1;
    components++;
    if (!submits && _check_components (&why) < 0)
        return errtext_set (err, "--tf-tasks: %s", why.text);
    return !submits ? 0 : _exclude (state[OPTION_TASKS].settled, state[OPTION_TASKS_PER_NODE].settled, err);
}

/* Values. */

/* To this command, or to its job; or NULL. Of a list, that for all components. */
static const char *_given (enum option_id option)
{
    return state[option].settled ? state[option].settled : state[option].inherited;
}

const char *options_value (enum option_id option)
{
    const char *given = _given (option), *site = state[option].site;

    return given ? given : site ? site : option_table[option].normal;
}

bool options_is_given (enum option_id option)
{
    return _given (option);
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
