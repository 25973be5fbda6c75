/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The input is a task list, as in --tf-tasks; a second line has the site's own roles.
 */
#include "config.h"

#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/rules.h"
#include "common/tasklist.h"

/* The list as text again, to be freed. */
static char *_print (const struct tasklist *list)
{
    char *text;
    size_t size;
    FILE *f = open_memstream (&text, &size);

    CHECK (f);
    for (size_t i = 0; i < list->length; i++) {
        const struct tasklist_item *item = &list->item[i];

        fprintf (f, "%s%s:", i ? "," : "", item->role);
        if (item->count)
            fprintf (f, "%d", item->count);
        else
            fprintf (f, "rest");
    }
    CHECK (fclose (f) == 0);
    return text;
}

static void _check_items (const struct tasklist *list)
{
    int named = 0, rests = 0;

    for (size_t i = 0; i < list->length; i++) {
        const struct tasklist_item *item = &list->item[i];

        CHECK (item->role[0] && strlen (item->role) <= TASKLIST_MAX_ROLE);
        CHECK (item->count >= 0 && item->count <= TASKLIST_MAX_TASKS);
        named += item->count;
        rests += item->count == 0;
    }
    CHECK (named == list->named && named <= TASKLIST_MAX_TASKS);
    CHECK (rests == list->rest);
}

static void _check_round_trip (const struct tasklist *list)
{
    char *text = _print (list);
    struct tasklist *list2;
    struct errtext err;

    /* "a" is printed as "a:1", which can be too long. */
    if (strlen (text) <= TASKLIST_MAX_TEXT) {
        CHECK (fuzz_succeeded (tasklist_parse (&list2, text, &err), &err));
        CHECK (list2->length == list->length);
        for (size_t i = 0; i < list->length; i++)
            CHECK (memcmp (&list->item[i], &list2->item[i], sizeof (struct tasklist_item)) == 0);
        tasklist_destroy (list2);
    }
    free (text);
}

/* Every task gets a role, if there are as many as the list names. One more may be the rest; one has none. */
static void _check_assignment (const struct tasklist *list)
{
    static const char *role[TASKLIST_MAX_TASKS + 1 + 1];
    int tasks = list->named + list->rest;
    struct errtext err;

    memset (role, 0, sizeof (role[0]) * (size_t)(tasks + 1));
    CHECK (fuzz_succeeded (tasklist_assign (list, role, tasks, "step 1.0", "--tf-tasks", &err), &err));
    for (int i = 0; i < tasks; i++)
        CHECK (role[i]);
    CHECK (!role[tasks]);
    CHECK (!fuzz_succeeded (tasklist_assign (list, role, tasks - 1, "step 1.0", "--tf-tasks", &err), &err));
}

static void _check_rules (const struct tasklist *list, const char *extra)
{
    struct rules_count count = { 0 };
    struct errtext err;

    fuzz_succeeded (rules_check_names (list, NULL, &err), &err);
    if (fuzz_is_line (extra))
        fuzz_succeeded (rules_check_names (list, extra, &err), &err);
    rules_count_list (&count, list);
    if (fuzz_succeeded (rules_check (&count, true, &err), &err))
        CHECK (fuzz_succeeded (rules_check (&count, false, &err), &err));
}

FUZZ_TARGET (tasklist)
{
    char *text = fuzz_text (data, size), *rest = text, *line = fuzz_line (&rest);
    struct tasklist *list;
    struct errtext err;
    char described[160];

    if (fuzz_succeeded (tasklist_parse (&list, line, &err), &err)) {
        _check_items (list);
        _check_round_trip (list);
        _check_assignment (list);
        _check_rules (list, fuzz_line (&rest));
        CHECK (fuzz_is_line (tasklist_describe (list, described, sizeof (described))));
        tasklist_destroy (list);
    }
    free (text);
}
