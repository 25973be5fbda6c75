/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include <stdio.h>

#include "rendezvous/layout.h"

/* "n1 n2"; "" if the list is ignored. */
static const char *nodes (int tasks, const char *names)
{
    static char text[256];
    struct layout layout = { .nodes = 0 };
    int used = 0;

    layout_set (&layout, tasks, names);
    text[0] = '\0';
    for (int i = 0; i < layout.nodes; i++)
        used += snprintf (text + used, sizeof (text) - (size_t)used, "%s%s", i ? " " : "", layout.node[i]);
    layout_clear (&layout);
    return text;
}

TEST (node_lists_are_expanded)
{
    static const struct {
        const char *names, *nodes;
    } row[] = {
        { "n1,n2", "n1 n2" },
        { "n[1-2],m7", "n1 n2 m7" },
        { "n[1,3-4,9]", "n1 n3 n4 n9" },
        { "n[08-10]", "n08 n09 n10" },
        { "n[8-10]", "n8 n9 n10" },
        { "r[1-2]n[1-2]", "r1n1 r1n2 r2n1 r2n2" },
        { "n[1-2].example.org", "n1.example.org n2.example.org" },
        { "r[1,2]n[03,04]x", "r1n03x r1n04x r2n03x r2n04x" },
        { "localhost", "localhost" },
        { "a,b-c,d_e", "a b-c d_e" },
    };

    for (size_t i = 0; i < COUNT (row); i++)
        assert_string_equal (nodes (4, row[i].names), row[i].nodes);
}

TEST (lists_that_are_malformed_or_have_more_nodes_than_tasks_are_ignored)
{
    static const char *const names[] = {
        "",
        "n[1-2",
        "n[1-x]",
        "n[a-b]",
        "n[1;2]",
        "n[1-2-3]",
        "n[1,[2]]",
        "n[1-9999999]",
        "n[1-99999999999999999999]",
        "n[-1-9223372036854775807]",
        "n[0000000001-0000000002]",
        "n1,,n2",
        "n1,",
        /* To expand "[0-65535][0-65535][]" would take hours. */
        "n[]x,n[1-2]",
        "n[2-1],n[1-2]",
        "n[1-],n[1-2]",
        "n[1,],n2",
        "n[-2--1]",
        "n[+1- 2]",
        "n[0-999999999]",
        "n[0-2]",
    };

    for (size_t i = 0; i < COUNT (names); i++)
        if (*nodes (2, names[i]))
            fail_msg ("%s", names[i]);
}

TEST (the_first_list_that_fits_stays)
{
    struct layout layout = { .nodes = 0 };

    layout_set (&layout, 10000, "x1,x2,x[");
    layout_set (&layout, 10000, "n[0001-5000]");
    layout_set (&layout, 10000, "m[0001-5000]");
    assert_int_equal (layout.nodes, 5000);
    assert_string_equal (layout.node[4999], "n5000");
    layout_clear (&layout);
    assert_null (layout.node);
}
