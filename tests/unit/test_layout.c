/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include <stdio.h>

#include "rendezvous/layout.h"

/* "n1:2 n2:1", each node with its tasks; "" if the lists are ignored. */
static const char *nodes (int tasks, const char *names, const char *node_tasks)
{
    static char text[256];
    struct layout layout = { .nodes = 0 };
    int used = 0;

    layout_set (&layout, tasks, names, node_tasks);
    text[0] = '\0';
    for (int i = 0; i < layout.nodes; i++)
        used += snprintf (text + used, sizeof (text) - (size_t)used, "%s%s:%d", i ? " " : "",
                          layout.node[i].name, layout.node[i].tasks);
    layout_clear (&layout);
    return text;
}

TEST (node_lists_are_expanded)
{
    static const struct {
        int tasks;
        const char *names, *node_tasks, *nodes;
    } row[] = {
        { 3, "n1,n2", "2,1", "n1:2 n2:1" },
        { 7, "n[1-2],m7", "3(x2),1", "n1:3 n2:3 m7:1" },
        { 4, "n[1,3-4,9]", "1(x4)", "n1:1 n3:1 n4:1 n9:1" },
        { 3, "n[08-10]", "1(x3)", "n08:1 n09:1 n10:1" },
        { 3, "n[8-10]", "1(x3)", "n8:1 n9:1 n10:1" },
        { 4, "r[1-2]n[1-2]", "1(x4)", "r1n1:1 r1n2:1 r2n1:1 r2n2:1" },
        { 2, "n[1-2].example.org", "1(x2)", "n1.example.org:1 n2.example.org:1" },
        { 4, "r[1,2]n[03,04]x", "1(x4)", "r1n03x:1 r1n04x:1 r2n03x:1 r2n04x:1" },
        { 1, "localhost", "1", "localhost:1" },
        { 3, "a,b-c,d_e", "1,1,1", "a:1 b-c:1 d_e:1" },
    };

    for (size_t i = 0; i < COUNT (row); i++)
        assert_string_equal (nodes (row[i].tasks, row[i].names, row[i].node_tasks), row[i].nodes);
}

TEST (lists_that_are_malformed_or_do_not_fit_are_ignored)
{
    static const struct {
        const char *names, *node_tasks;
    } row[] = {
        /* node names */
        { "", "1(x2)" },
        { "n[1-2", "1(x2)" },
        { "n[1-x]", "1(x2)" },
        { "n[a-b]", "1(x2)" },
        { "n[1;2]", "1(x2)" },
        { "n[1-2-3]", "1(x2)" },
        { "n[1,[2]]", "1(x2)" },
        { "n[1-9999999]", "1(x2)" },
        { "n[1-99999999999999999999]", "1(x2)" },
        { "n[-1-9223372036854775807]", "1(x2)" },
        { "n[0000000001-0000000002]", "1(x2)" },
        { "n1,,n2", "1(x2)" },
        { "n1,", "1(x2)" },
        /* To expand "[0-65535][0-65535][]" would take hours. */
        { "n[]x,n[1-2]", "1(x2)" },
        { "n[2-1],n[1-2]", "1(x2)" },
        { "n[1-],n[1-2]", "1(x2)" },
        { "n[1,],n2", "1(x2)" },
        { "n[-2--1]", "1(x2)" },
        { "n[+1- 2]", "1(x2)" },
        /* task counts */
        { "n[1-2]", "" },
        { "n[1-2]", "x" },
        { "n[1-2]", "1(x2" },
        { "n[1-2]", "1(y2)" },
        { "n[1-2]", "1 1" },
        { "n[1-2]", "1,1," },
        { "n[1-2]", "-1,3" },
        { "n[1-2]", "1(x99999999999999999999)" },
        { "n[1-2]", "99999999999999999999" },
        /* of other nodes, or another number of tasks */
        { "n[1-2]", "1(x3)" },
        { "n[1-2]", "2" },
        { "n[1-2]", "2(x2)" },
        { "n[0-999999999]", "1(x2)" },
        { "n[0-2]", "1(x2),0" },
    };

    for (size_t i = 0; i < COUNT (row); i++)
        if (*nodes (2, row[i].names, row[i].node_tasks))
            fail_msg ("%s, %s", row[i].names, row[i].node_tasks);
    assert_string_equal (nodes (1048576, "n[1-4096]", "1048576(x4096)"), "");
}

TEST (the_first_lists_that_fit_stay)
{
    struct layout layout = { .nodes = 0 };

    layout_set (&layout, 10000, "x1,x2,x[", "2(x2)");
    layout_set (&layout, 10000, "n[0001-5000]", "2(x5000)");
    layout_set (&layout, 10000, "m[0001-5000]", "2(x5000)");
    assert_int_equal (layout.nodes, 5000);
    assert_string_equal (layout.node[4999].name, "n5000");
    layout_clear (&layout);
    assert_null (layout.node);
}
