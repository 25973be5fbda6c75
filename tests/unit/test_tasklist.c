/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/tasklist.h"

#define NAME_31 "n23456789_n23456789_n23456789_n"
#define ROLE_63 "r23456789_r23456789_r23456789_r23456789_r23456789_r23456789_r23"

static struct tasklist *parse (const char *text)
{
    struct tasklist *list = NULL;
    struct errtext err = { "" };

    assert_int_equal (tasklist_parse (&list, text, &err), 0);
    assert_non_null (list);
    return list;
}

static void check_bad (const char *text, const char *message)
{
    struct tasklist *list = NULL;
    struct errtext err = { "" };

    assert_int_equal (tasklist_parse (&list, text, &err), -1);
    assert_null (list);
    assert_string_equal (err.text, message);
    assert_true (is_line (err.text));
}

TEST (a_valid_list_is_parsed)
{
    static const struct {
        const char *text;
        size_t length;
        int named;
        bool rest;
        const char *description;
    } row[] = {
        { "ps", 1, 1, false, "ps" },
        { "ps,worker,worker", 3, 3, false, "ps,worker:2" },
        { "chief,ps:2,worker:rest", 3, 3, true, "chief,ps:2,worker:rest" },
        { "worker:rest", 1, 0, true, "worker:rest" },
        { "worker:rest,ps", 2, 1, true, "worker:rest,ps" },
        { "worker,worker:rest,worker", 3, 2, true, "worker,worker:rest,worker" },
        { "ps:1,ps:2,ps:3", 3, 6, false, "ps:6" },
        { "ps,worker,ps,worker", 4, 4, false, "ps,worker,ps,worker" },
        { "worker:0002", 1, 2, false, "worker:2" },
        { "worker:65535", 1, 65535, false, "worker:65535" },
        { "ps,worker:65534", 2, 65535, false, "ps,worker:65534" },
        { "worker:65535,ps:rest", 2, 65535, true, "worker:65535,ps:rest" },
        { "Rest:2,rest,a-b_9", 3, 4, false, "Rest:2,rest,a-b_9" },
        { ROLE_63 ":2", 1, 2, false, ROLE_63 ":2" },
        { "worker,+data:2,+data,+T_9", 4, 5, false, "worker,+data:3,+T_9" },
        { "worker,+data:rest", 2, 1, true, "worker,+data:rest" },
        { "data,+data", 2, 2, false, "data,+data" },
        { "+" NAME_31, 1, 1, false, "+" NAME_31 },
    };
    char text[160];

    for (size_t i = 0; i < COUNT (row); i++) {
        struct tasklist *list = parse (row[i].text);

        assert_int_equal (list->length, row[i].length);
        assert_int_equal (list->named, row[i].named);
        assert_int_equal (list->rest, row[i].rest);
        assert_string_equal (tasklist_describe (list, text, sizeof (text)), row[i].description);
        tasklist_destroy (list);
    }
}

#define BAD_COUNT ": a count is a number from 1 to 65535, or \"rest\""
#define BAD_ROLE ": a role is a word; a list is ROLE[:COUNT],..."
#define BAD_NAME ": a name with + has letters, digits and _, at most 31 of them"
#define EMPTY_ITEM " is empty; a list is ROLE[:COUNT],..."

TEST (an_invalid_list_is_refused_with_one_line)
{
    static const struct {
        const char *text, *message;
    } row[] = {
        { "", "the list is empty; a list is ROLE[:COUNT],... as in ps,worker:2" },
        { ",", "item 1" EMPTY_ITEM },
        { ",ps", "item 1" EMPTY_ITEM },
        { "ps,,worker", "item 2" EMPTY_ITEM },
        { "ps,worker,", "item 3" EMPTY_ITEM },
        { "ps,worker:0", "item 2, \"worker:0\"" BAD_COUNT },
        { "ps:000", "item 1, \"ps:000\"" BAD_COUNT },
        { "worker:-1", "item 1, \"worker:-1\"" BAD_COUNT },
        { "worker:+1", "item 1, \"worker:+1\"" BAD_COUNT },
        { "worker:", "item 1, \"worker:\"" BAD_COUNT },
        { "worker:two", "item 1, \"worker:two\"" BAD_COUNT },
        { "worker: 2", "item 1, \"worker: 2\"" BAD_COUNT },
        { "worker:2 ", "item 1, \"worker:2 \"" BAD_COUNT },
        { "worker:1.5", "item 1, \"worker:1.5\"" BAD_COUNT },
        { "worker:0x2", "item 1, \"worker:0x2\"" BAD_COUNT },
        { "worker:1e3", "item 1, \"worker:1e3\"" BAD_COUNT },
        { "worker:2:3", "item 1, \"worker:2:3\"" BAD_COUNT },
        { "worker::", "item 1, \"worker::\"" BAD_COUNT },
        { "worker:REST", "item 1, \"worker:REST\"" BAD_COUNT },
        { "worker:res", "item 1, \"worker:res\"" BAD_COUNT },
        { "worker:rests", "item 1, \"worker:rests\"" BAD_COUNT },
        { "worker:65536", "item 1, \"worker:65536\"" BAD_COUNT },
        { "worker:4294967297", "item 1, \"worker:4294967297\"" BAD_COUNT },
        { "worker:18446744073709551617", "item 1, \"worker:18446744073709551617\"" BAD_COUNT },
        { "ps:2,worker:65534", "item 2, \"worker:65534\": a list names at most 65535 tasks" },
        { "worker:65535,ps", "item 2, \"ps\": a list names at most 65535 tasks" },
        { "ps:rest,worker:rest", "item 2, \"worker:rest\": a list can have \"rest\" only once" },
        { ":2", "item 1, \":2\": a role is missing before the colon" },
        { "ps,:rest", "item 2, \":rest\": a role is missing before the colon" },
        { " ps", "item 1, \" ps\"" BAD_ROLE },
        { "ps, worker", "item 2, \" worker\"" BAD_ROLE },
        { "ps worker", "item 1, \"ps worker\"" BAD_ROLE },
        { "ps;worker", "item 1, \"ps;worker\"" BAD_ROLE },
        { "{\"ps\":1}", "item 1, \"{\"ps\":1}\"" BAD_ROLE },
        { "ps\n", "item 1, \"ps\\x0a\"" BAD_ROLE },
        { "ps,\033[2Jworker", "item 2, \"\\x1b[2Jworker\"" BAD_ROLE },
        { "worker:\t2", "item 1, \"worker:\\x092\"" BAD_COUNT },
        { "+", "item 1, \"+\"" BAD_NAME },
        { "ps,+:2", "item 2, \"+:2\"" BAD_NAME },
        { "+a-b", "item 1, \"+a-b\"" BAD_NAME },
        { "++a", "item 1, \"++a\"" BAD_NAME },
        { "a+", "item 1, \"a+\"" BAD_ROLE },
        { "+ data", "item 1, \"+ data\"" BAD_NAME },
        { "+" NAME_31 "2", "item 1, \"+" NAME_31 "2\"" BAD_NAME },
        { "+data:0", "item 1, \"+data:0\"" BAD_COUNT },
        { "w\xc3\xb6rker", "item 1, \"w\\xc3\\xb6rker\"" BAD_ROLE },
        { ROLE_63 "4", "item 1, \"" ROLE_63 "4\": a role has at most 63 characters" },
    };

    for (size_t i = 0; i < COUNT (row); i++)
        check_bad (row[i].text, row[i].message);
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

    assert_int_equal (list->length, 16384);
    assert_int_equal (list->named, 16384);
    tasklist_destroy (list);
    check_bad (longer, "the list has 32769 bytes, and at most 32768 are allowed; "
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
    assert_non_null (strstr (err.text, "...\"" BAD_ROLE));
    assert_true (strlen (err.text) < 200);
}

TEST (every_task_gets_its_role_in_rank_order)
{
    static const struct {
        const char *list, *roles;
        int tasks;
    } row[] = {
        { "ps,worker,worker", "ps worker worker ", 3 },
        { "worker:2,ps", "worker worker ps ", 3 },
        { "chief,ps:2,worker:rest", "chief ps ps worker ", 4 },
        { "chief,ps:2,worker:rest", "chief ps ps worker worker worker ", 6 },
        { "worker:rest,ps", "worker worker ps ", 3 },
        { "ps,worker:rest,evaluator", "ps worker evaluator ", 3 },
        { "worker:rest", "worker ", 1 },
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        struct tasklist *list = parse (row[i].list);
        const char *role[8];
        char roles[128] = "";

        assert_int_equal (tasklist_assign (list, role, row[i].tasks, "step 1.0", "--tf-tasks", NULL), 0);
        for (int rank = 0; rank < row[i].tasks; rank++)
            strcat (strcat (roles, role[rank]), " ");
        assert_string_equal (roles, row[i].roles);
        tasklist_destroy (list);
    }
}

TEST (a_list_that_does_not_fit_the_step_is_refused_with_both_counts)
{
    static const struct {
        const char *list;
        int tasks;
        const char *message;
    } row[] = {
        { "ps,worker:9", 3, "step 12.0 has 3 tasks, but --tf-tasks lists 10 (ps,worker:9)" },
        { "ps,worker", 3, "step 12.0 has 3 tasks, but --tf-tasks lists 2 (ps,worker)" },
        { "ps,worker", 1, "step 12.0 has 1 task, but --tf-tasks lists 2 (ps,worker)" },
        { "worker:65535", 65534, "step 12.0 has 65534 tasks, but --tf-tasks lists 65535 (worker:65535)" },
        { "ps:2,worker:rest", 2,
          "step 12.0 has 2 tasks, but --tf-tasks lists 2 and \"rest\" "
          "(ps:2,worker:rest), which needs at least one more" },
        { "ps:2,worker:rest", 1,
          "step 12.0 has 1 task, but --tf-tasks lists 2 and \"rest\" "
          "(ps:2,worker:rest), which needs at least one more" },
    };

    for (size_t i = 0; i < COUNT (row); i++) {
        struct tasklist *list = parse (row[i].list);
        struct errtext err;

        assert_int_equal (tasklist_assign (list, NULL, row[i].tasks, "step 12.0", "--tf-tasks", &err), -1);
        assert_string_equal (err.text, row[i].message);
        tasklist_destroy (list);
    }
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
