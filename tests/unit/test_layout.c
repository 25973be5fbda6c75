/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "rendezvous/layout.h"

/*
 * Each word is "RANK@INDEX:NODE", a rank that registered, or "INDEX=RANKS", the ranks that a task
 * reported for its node.
 */
static void add (struct layout *layout, const char *words)
{
    char word[64], text[64];
    int rank, index, n;

    for (; sscanf (words, "%63s%n", word, &n) == 1; words += n)
        if (sscanf (word, "%d@%d:%63s", &rank, &index, text) == 3)
            layout_add (layout, rank, index, text);
        else if (sscanf (word, "%d=%63s", &index, text) == 2)
            layout_add_node_ranks (layout, index, text);
        else
            fail_msg ("%s", word);
}

/* The node of each rank, or "?" if it is not known, each followed by a blank. */
static const char *nodes (const struct layout *layout, int tasks)
{
    static char text[256];

    text[0] = '\0';
    for (int rank = 0; rank < tasks; rank++) {
        const char *node = layout_node (layout, rank);

        strcat (strcat (text, node ? node : "?"), " ");
    }
    return text;
}

struct row {
    int tasks;
    const char *known, *step_nodes, *step_tasks, *nodes;
};

static void check (const struct row *row)
{
    struct layout *layout = layout_create (row->tasks);

    add (layout, row->known);
    layout_add_step (layout, row->step_nodes, row->step_tasks);
    layout_guess (layout);
    assert_string_equal (nodes (layout, row->tasks), row->nodes);
    layout_destroy (layout);
}

TEST (a_registered_rank_is_on_the_node_that_it_reported)
{
    struct layout *layout = layout_create (4);

    assert_string_equal (nodes (layout, 4), "? ? ? ? ");
    add (layout, "2@1:n7 0@0:n3");
    layout_guess (layout);
    assert_string_equal (nodes (layout, 4), "n3 ? n7 ? ");
    add (layout, "0=0,3");
    assert_string_equal (nodes (layout, 4), "n3 ? n7 n3 ");
    layout_destroy (layout);
    layout_destroy (NULL);
}

TEST (the_node_of_a_missing_rank_is_guessed)
{
    static const struct row row[] = {
        /* block */
        { 4, "0@0:n1 0=0,1", "n[1-2]", "2(x2)", "n1 n1 n2 n2 " },
        { 6, "0@0:n1 0=0,1", "n[1-3]", "2(x3)", "n1 n1 n2 n2 n3 n3 " },
        { 6, "4@2:n3 2=4,5", "n[1-3]", "2(x3)", "n1 n1 n2 n2 n3 n3 " },
        /* one node for each rank; one node for all ranks */
        { 3, "1@1:n2", "n[1-3]", "1(x3)", "n1 n2 n3 " },
        { 3, "1@0:n1", "n1", "3", "n1 n1 n1 " },
        /* different numbers of tasks per node */
        { 5, "0@0:n1 0=0,1,2", "n[1-3]", "3,1(x2)", "n1 n1 n1 n2 n3 " },
        { 6, "5@2:n3 2=5", "n[1-3]", "3,2,1", "n1 n1 n1 n2 n2 n3 " },
        /* cyclic */
        { 4, "0@0:n1 0=0,2", "n[1-2]", "2(x2)", "n1 n2 n1 n2 " },
        { 6, "0@0:n1 0=0,3", "n[1-3]", "2(x3)", "n1 n2 n3 n1 n2 n3 " },
        { 6, "3@0:n1", "n[1-3]", "2(x3)", "n1 n2 n3 n1 n2 n3 " },
        { 6, "0@0:n1 0=0,3,5", "n[1-3]", "3,2,1", "n1 n2 n3 n1 n2 n1 " },
        /* plane and arbitrary: guessed if only one node is missing, */
        { 8, "0@0:n1 0=0,1,4,5", "n[1-2]", "4(x2)", "n1 n1 n2 n2 n1 n1 n2 n2 " },
        { 5, "0@0:n1 0=0,3 1@1:n2 1=1", "n[1-3]", "2,1,2", "n1 n2 n3 n1 n3 " },
        /* and not guessed otherwise */
        { 12, "0@0:n1 0=0,1,6,7", "n[1-3]", "4(x3)", "n1 n1 ? ? ? ? n1 n1 ? ? ? ? " },
        /* a heterogeneous step: node names are in the order of its components */
        { 5, "1@1:gpu3", "cpu[1],gpu[3-4]", "1,2(x2)", "cpu1 gpu3 gpu3 gpu4 gpu4 " },
        /* a known node is not replaced by a guess */
        { 2, "0@0:n1 1@1:n2", "n[1-2]", "1(x2)", "n1 n2 " },
    };

    for (size_t i = 0; i < COUNT (row); i++)
        check (&row[i]);
}

TEST (node_lists_are_expanded)
{
    static const struct row row[] = {
        { 2, "", "n1,n2", "1(x2)", "n1 n2 " },
        { 3, "", "n[1-2],m7", "1(x3)", "n1 n2 m7 " },
        { 4, "", "n[1,3-4,9]", "1(x4)", "n1 n3 n4 n9 " },
        { 3, "", "n[08-10]", "1(x3)", "n08 n09 n10 " },
        { 3, "", "n[8-10]", "1(x3)", "n8 n9 n10 " },
        { 4, "", "r[1-2]n[1-2]", "1(x4)", "r1n1 r1n2 r2n1 r2n2 " },
        { 2, "", "n[1-2].example.org", "1(x2)", "n1.example.org n2.example.org " },
        { 4, "", "r[1,2]n[03,04]x", "1(x4)", "r1n03x r1n04x r2n03x r2n04x " },
        { 1, "", "localhost", "1", "localhost " },
        { 3, "", "a,b-c,d_e", "1,1,1", "a b-c d_e " },
    };

    for (size_t i = 0; i < COUNT (row); i++)
        check (&row[i]);
}

TEST (node_lists_and_task_counts_that_cannot_be_parsed_are_ignored)
{
    static const struct row row[] = {
        /* node names */
        { 2, "", "", "1(x2)", "? ? " },
        { 2, "", "n[1-2", "1(x2)", "? ? " },
        { 2, "", "n[1-x]", "1(x2)", "? ? " },
        { 2, "", "n[a-b]", "1(x2)", "? ? " },
        { 2, "", "n[1;2]", "1(x2)", "? ? " },
        { 2, "", "n[1-2-3]", "1(x2)", "? ? " },
        { 2, "", "n[1,[2]]", "1(x2)", "? ? " },
        { 2, "", "n[1-9999999]", "1(x2)", "? ? " },
        { 2, "", "n[1-99999999999999999999]", "1(x2)", "? ? " },
        { 2, "", "n[0000000001-0000000002]", "1(x2)", "? ? " },
        /* task counts */
        { 2, "", "n[1-2]", "", "? ? " },
        { 2, "", "n[1-2]", "x", "? ? " },
        { 2, "", "n[1-2]", "1(x2", "? ? " },
        { 2, "", "n[1-2]", "1(y2)", "? ? " },
        { 2, "", "n[1-2]", "1 1", "? ? " },
        { 2, "", "n[1-2]", "1,1,", "? ? " },
        { 2, "", "n[1-2]", "-1,3", "? ? " },
        { 2, "", "n[1-2]", "1(x99999999999999999999)", "? ? " },
        { 2, "", "n[1-2]", "99999999999999999999", "? ? " },
        /* counts that contradict the nodes, the number of ranks, or what ranks reported */
        { 2, "", "n[1-2]", "1(x3)", "? ? " },
        { 2, "", "n[1-2]", "2", "? ? " },
        { 2, "", "n[1-2]", "2(x2)", "? ? " },
        { 3, "0@0:m1", "n[1-2]", "2,1", "m1 ? ? " },
        { 3, "0@2:n3", "n[1-2]", "2,1", "n3 ? ? " },
    };

    for (size_t i = 0; i < COUNT (row); i++)
        check (&row[i]);
}

/* To expand "[0-65535][0-65535][]" would take hours. */
TEST (empty_brackets_and_reversed_ranges_are_ignored)
{
    static const struct row row[] = {
        { 2, "", "n[]x,n[1-2]", "1(x2)", "? ? " },  { 2, "", "n[2-1],n[1-2]", "1(x2)", "? ? " },
        { 2, "", "n[1-],n[1-2]", "1(x2)", "? ? " }, { 2, "", "n[1,],n2", "1(x2)", "? ? " },
        { 2, "", "n[-2--1]", "1(x2)", "? ? " },     { 2, "", "n[+1- 2]", "1(x2)", "? ? " },
        { 3, "", "n1,,n2", "1(x3)", "? ? ? " },     { 2, "", "n1,", "1(x2)", "? ? " },
    };

    for (size_t i = 0; i < COUNT (row); i++)
        check (&row[i]);
}

TEST (a_range_that_overflows_is_ignored)
{
    static const struct row row = { 2, "", "n[-1-9223372036854775807]", "1(x2)", "? ? " };

    check (&row);
}

TEST (a_task_count_that_overflows_is_ignored)
{
    struct layout *layout = layout_create (1048576);

    layout_add_step (layout, "n[1-4096]", "1048576(x4096)");
    layout_guess (layout);
    assert_null (layout_node (layout, 0));
    layout_destroy (layout);
}

TEST (a_list_that_was_ignored_does_not_change_later_guesses)
{
    struct layout *layout = layout_create (4);

    layout_add_step (layout, "x1,x2,x[", "2(x2)");
    add (layout, "0@0:n1 0=0,1");
    assert_string_equal (nodes (layout, 4), "n1 n1 ? ? ");
    layout_add_step (layout, "n[1-2]", "2(x2)");
    layout_guess (layout);
    assert_string_equal (nodes (layout, 4), "n1 n1 n2 n2 ");
    layout_destroy (layout);
}

TEST (the_node_that_a_rank_reported_is_kept)
{
    struct layout *layout = layout_create (3);

    add (layout, "2@1:n3");
    layout_add_step (layout, "n3,n1", "2,1");
    add (layout, "0@0:n1 0=0,1");
    layout_guess (layout);
    assert_string_equal (nodes (layout, 3), "n1 n1 n3 ");
    layout_destroy (layout);
}

TEST (ranks_out_of_range_are_ignored)
{
    struct layout *layout = layout_create (3);

    add (layout, "0@0:n1 0=0,7,99999999999999999999,2");
    assert_string_equal (nodes (layout, 3), "n1 ? n1 ");
    add (layout, "1=1;2 1=x 1=,2");
    layout_add (layout, 3, 0, "n1");
    assert_string_equal (nodes (layout, 3), "n1 ? n1 ");
    layout_destroy (layout);
}

TEST (node_indexes_out_of_range_are_ignored)
{
    struct layout *layout = layout_create (70000);

    layout_add (layout, 0, 70000, "too-far");
    assert_null (layout_node (layout, 0));
    layout_add (layout, 0, 69999, "far");
    assert_string_equal (layout_node (layout, 0), "far");
    layout_destroy (layout);
}

TEST (a_list_of_more_nodes_than_tasks_is_ignored)
{
    struct layout *layout = layout_create (3);

    layout_add_step (layout, "n[0-999999999]", "1(x3)");
    layout_add_step (layout, "n[0-3]", "1(x3),0");
    layout_guess (layout);
    assert_string_equal (nodes (layout, 3), "? ? ? ");
    layout_add_step (layout, "n[0-2]", "1(x3)");
    layout_guess (layout);
    assert_string_equal (nodes (layout, 3), "n0 n1 n2 ");
    layout_destroy (layout);
}

TEST (the_layout_of_5000_nodes_is_guessed)
{
    struct layout *layout = layout_create (10000);

    layout_add_step (layout, "n[0001-5000]", "2(x5000)");
    layout_guess (layout);
    assert_string_equal (layout_node (layout, 0), "n0001");
    assert_string_equal (layout_node (layout, 9999), "n5000");
    layout_destroy (layout);
}
