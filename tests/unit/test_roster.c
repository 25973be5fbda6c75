/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include "rendezvous/rank_names.h"
#include "rendezvous/roster.h"

/* n1 has registered two interfaces, n2 none. Ranks 0 and 1 are on n1, 2 on n2, and 3 has not registered. */
static struct roster roster;

static struct address address (const char *text)
{
    struct address a;

    assert_int_equal (address_parse (&a, text), 0);
    return a;
}

static void add (int rank, const char *node, const char *from, int interfaces)
{
    struct registration r = { .rank = rank, .tasks = 4, .node = node, .interfaces = interfaces };
    struct address peer = address (from), srun = address ("10.0.0.9");

    assert_int_equal (subnet_parse (&r.interface[0].address, "10.0.0.1/24"), 0);
    assert_int_equal (subnet_parse (&r.interface[1].address, "10.1.0.1/24"), 0);
    assert_int_equal (roster_add (&roster, &r, &srun, &peer), 0);
}

static int begin (void **unused __attribute__ ((unused)))
{
    assert_int_equal (roster_set_size (&roster, 4), 0);
    add (0, "n1", "10.0.0.1", 2);
    add (1, "n1", "10.0.0.1", 0);
    add (2, "n2", "10.0.0.2", 0);
    return 0;
}

static int end (void **unused __attribute__ ((unused)))
{
    roster_clear (&roster);
    return 0;
}

EACH_TEST (begin, end)

static bool is_home (int rank, const char *node, const char *from)
{
    struct address peer = address (from);

    return roster_is_home (&roster, &roster.rank[rank], node, &peer);
}

TEST (a_rank_comes_again_from_where_it_registered)
{
    assert_true (is_home (1, "n1", "10.0.0.1"));
    assert_true (is_home (2, "n2", "10.0.0.2"));
    assert_false (is_home (1, "n2", "10.0.0.1"));
    assert_false (is_home (1, NULL, "10.0.0.1"));
    assert_false (is_home (1, "n1", "10.0.0.2"));
    assert_false (is_home (2, "n2", "10.0.0.1"));
    assert_false (is_home (2, "n2", "fd00::2"));
}

TEST (or_from_another_interface_that_its_node_has_registered)
{
    assert_true (is_home (0, "n1", "10.1.0.1"));
    assert_true (is_home (1, "n1", "10.1.0.1"));
    assert_false (is_home (1, "n1", "10.1.0.2"));
    assert_false (is_home (2, "n2", "10.1.0.1"));
}

/* A node may write another one's name into its registration, but not its address. */
TEST (what_another_node_registers_in_its_name_does_not_count)
{
    add (3, "n2", "10.0.0.3", 2);
    assert_false (is_home (2, "n2", "10.1.0.1"));
    assert_false (is_home (2, "n2", "10.0.0.3"));
}

TEST (a_rank_that_has_not_registered_may_come_from_everywhere)
{
    assert_true (is_home (3, "n3", "10.0.0.4"));
}

TEST (the_nodes_of_missing_ranks_are_named)
{
    struct roster many = { 0 };
    char text[768];

    assert_int_equal (roster_set_size (&many, 65000), 0);
    layout_set (&many.layout, many.tasks, "n[1-16250]", "4(x16250)");
    for (int i = 0; i < 7; i++)
        many.rank[i] = (struct rank){ .launch = RANK_HERE, .node = strdup (many.layout.node[i < 4].name) };
    assert_string_equal (rank_names_missing_nodes (&many, text, sizeof (text)),
                         " (on n1, n3, n4, n5, n6, n7, n8, n9 and 16241 more)");
    rank_names_missing (&many, text, sizeof (text));
    assert_string_equal (strstr (text, "rank 14"), "rank 14 and 64985 more");
    roster_clear (&many);
}
