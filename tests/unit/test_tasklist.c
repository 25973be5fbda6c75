/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Lists that are too long for parse.golden.
 */
#include "config.h"

#include "unit.h"

#include "common/tasklist.h"

static struct tasklist *parse (const char *text)
{
    struct tasklist *list = NULL;
    struct errtext err = { "" };

    assert_int_equal (tasklist_parse (&list, text, &err), 0);
    assert_non_null (list);
    return list;
}

/* A list "w,w,...,ww" of so many bytes. */
static char *long_list (size_t length)
{
    char *text = malloc (length + 1);

    assert_non_null (text);
    for (size_t i = 0; i < length; i++)
        text[i] = i % 2 && i + 1 < length ? ',' : 'w';
    text[length] = '\0';
    return text;
}

TEST (a_list_of_at_most_32_KiB_is_accepted)
{
    char *fits = long_list (32768), *longer = long_list (32769);
    struct tasklist *list = parse (fits);
    struct errtext err;

    assert_int_equal (list->length, 16384);
    assert_int_equal (list->named, 16384);
    tasklist_destroy (list);
    assert_int_equal (tasklist_parse (&list, longer, &err), -1);
    assert_string_equal (err.text, "the list has 32769 bytes, and at most 32768 are allowed; "
                                   "ROLE:COUNT is shorter");
    free (fits);
    free (longer);
}

TEST (a_long_invalid_item_is_truncated_in_the_message)
{
    char text[1000];
    struct tasklist *list;
    struct errtext err;

    memset (text, ' ', sizeof (text));
    text[sizeof (text) - 1] = '\0';
    assert_int_equal (tasklist_parse (&list, text, &err), -1);
    assert_non_null (strstr (err.text, "...\": a role is a word; a list is "));
    assert_true (strlen (err.text) < 200);
}

TEST (rest_can_stand_for_a_million_tasks)
{
    const char **role = malloc (1048576 * sizeof (*role));
    struct tasklist *list = parse ("ps,worker:rest,evaluator");

    assert_int_equal (tasklist_assign (list, role, 1048576, "", "", NULL), 0);
    assert_string_equal (role[0], "ps");
    assert_string_equal (role[1048574], "worker");
    assert_string_equal (role[1048575], "evaluator");
    tasklist_destroy (list);
    free (role);
}

TEST (a_description_leaves_out_items_that_do_not_fit)
{
    struct tasklist *list = parse ("chief,ps:2,ps:3,worker:rest,evaluator");
    char text[128];

    assert_string_equal (tasklist_describe (list, text, sizeof (text)), "chief,ps:5,worker:rest,evaluator");
    assert_string_equal (tasklist_describe (list, text, 48), "chief,ps:5 and 2 more");
    tasklist_destroy (list);
}
