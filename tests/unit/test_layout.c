/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "rendezvous/layout.h"

/* "RANK@INDEX:NODE", a rank that came, or "INDEX=RANKS", what it said of its node. */
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

/* The nodes of all ranks, "?" where it is not known, a blank behind each. */
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

TEST (a_rank_that_came_is_where_it_says)
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

TEST (who_did_not_come_is_found)
{
    static const struct row row[] = {
        /* block */
        { 4, "0@0:n1 0=0,1", "n[1-2]", "2(x2)", "n1 n1 n2 n2 " },
        { 6, "0@0:n1 0=0,1", "n[1-3]", "2(x3)", "n1 n1 n2 n2 n3 n3 " },
        { 6, "4@2:n3 2=4,5", "n[1-3]", "2(x3)", "n1 n1 n2 n2 n3 n3 " },
        /* one node for each, one for all */
        { 3, "1@1:n2", "n[1-3]", "1(x3)", "n1 n2 n3 " },
        { 3, "1@0:n1", "n1", "3", "n1 n1 n1 " },
        /* uneven */
        { 5, "0@0:n1 0=0,1,2", "n[1-3]", "3,1(x2)", "n1 n1 n1 n2 n3 " },
        { 6, "5@2:n3 2=5", "n[1-3]", "3,2,1", "n1 n1 n1 n2 n2 n3 " },
        /* cyclic */
        { 4, "0@0:n1 0=0,2", "n[1-2]", "2(x2)", "n1 n2 n1 n2 " },
        { 6, "0@0:n1 0=0,3", "n[1-3]", "2(x3)", "n1 n2 n3 n1 n2 n3 " },
        { 6, "3@0:n1", "n[1-3]", "2(x3)", "n1 n2 n3 n1 n2 n3 " },
        { 6, "0@0:n1 0=0,3,5", "n[1-3]", "3,2,1", "n1 n2 n3 n1 n2 n1 " },
        /* plane and arbitrary are told where one node alone is missing, */
        { 8, "0@0:n1 0=0,1,4,5", "n[1-2]", "4(x2)", "n1 n1 n2 n2 n1 n1 n2 n2 " },
        { 5, "0@0:n1 0=0,3 1@1:n2 1=1", "n[1-3]", "2,1,2", "n1 n2 n3 n1 n3 " },
        /* and are not guessed at otherwise */
        { 12, "0@0:n1 0=0,1,6,7", "n[1-3]", "4(x3)", "n1 n1 ? ? ? ? n1 n1 ? ? ? ? " },
        /* a heterogeneous step: names in the order of its components */
        { 5, "1@1:gpu3", "cpu[1],gpu[3-4]", "1,2(x2)", "cpu1 gpu3 gpu3 gpu4 gpu4 " },
        /* what is known already stays */
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

TEST (what_cannot_be_understood_is_not_used)
{
    static const struct row row[] = {
        /* names */
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
        /* numbers of tasks */
        { 2, "", "n[1-2]", "", "? ? " },
        { 2, "", "n[1-2]", "x", "? ? " },
        { 2, "", "n[1-2]", "1(x2", "? ? " },
        { 2, "", "n[1-2]", "1(y2)", "? ? " },
        { 2, "", "n[1-2]", "1 1", "? ? " },
        { 2, "", "n[1-2]", "1,1,", "? ? " },
        { 2, "", "n[1-2]", "-1,3", "? ? " },
        { 2, "", "n[1-2]", "1(x99999999999999999999)", "? ? " },
        { 2, "", "n[1-2]", "99999999999999999999", "? ? " },
        /* that contradict each other, or what ranks told */
        { 2, "", "n[1-2]", "1(x3)", "? ? " },
        { 2, "", "n[1-2]", "2", "? ? " },
        { 2, "", "n[1-2]", "2(x2)", "? ? " },
        { 3, "0@0:m1", "n[1-2]", "2,1", "m1 ? ? " },
        { 3, "0@2:n3", "n[1-2]", "2,1", "n3 ? ? " },
    };

    for (size_t i = 0; i < COUNT (row); i++)
        check (&row[i]);
}

/* "[0-65535][0-65535][]" would be dealt out for hours. */
TEST (brackets_and_ranges_that_name_nothing_are_not_understood)
{
    static const struct row row[] = {
        { 2, "", "n[]x,n[1-2]", "1(x2)", "? ? " },
        { 2, "", "n[2-1],n[1-2]", "1(x2)", "? ? " },
        { 2, "", "n[1-],n[1-2]", "1(x2)", "? ? " },
        { 2, "", "n[1,],n2", "1(x2)", "? ? " },
        { 2, "", "n[-2--1]", "1(x2)", "? ? " },
        { 2, "", "n[+1- 2]", "1(x2)", "? ? " },
        { 3, "", "n1,,n2", "1(x3)", "? ? ? " },
        { 2, "", "n1,", "1(x2)", "? ? " },
    };

    for (size_t i = 0; i < COUNT (row); i++)
        check (&row[i]);
}

TEST (a_range_at_the_end_of_numbers_is_not_understood)
{
    static const struct row row = { 2, "", "n[-1-9223372036854775807]", "1(x2)", "? ? " };

    check (&row);
}

TEST (more_tasks_than_can_be_counted_are_not_understood)
{
    struct layout *layout = layout_create (1048576);

    layout_add_step (layout, "n[1-4096]", "1048576(x4096)");
    layout_guess (layout);
    assert_null (layout_node (layout, 0));
    layout_destroy (layout);
}

TEST (what_was_not_understood_leaves_nothing_behind)
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

TEST (a_rank_knows_its_own_node_best)
{
    struct layout *layout = layout_create (3);

    add (layout, "2@1:n3");
    layout_add_step (layout, "n3,n1", "2,1");
    add (layout, "0@0:n1 0=0,1");
    layout_guess (layout);
    assert_string_equal (nodes (layout, 3), "n1 n1 n3 ");
    layout_destroy (layout);
}

TEST (ranks_out_of_range_are_not_used)
{
    struct layout *layout = layout_create (3);

    add (layout, "0@0:n1 0=0,7,99999999999999999999,2");
    assert_string_equal (nodes (layout, 3), "n1 ? n1 ");
    add (layout, "1=1;2 1=x 1=,2");
    layout_add (layout, 3, 0, "n1");
    assert_string_equal (nodes (layout, 3), "n1 ? n1 ");
    layout_destroy (layout);
}

TEST (nodes_out_of_range_are_not_used)
{
    struct layout *layout = layout_create (1);

    layout_add (layout, 0, 65536, "too-far");
    assert_string_equal (nodes (layout, 1), "? ");
    layout_add (layout, 0, 65535, "far");
    assert_string_equal (nodes (layout, 1), "far ");
    layout_destroy (layout);
}

TEST (five_thousand_nodes_are_no_effort)
{
    struct layout *layout = layout_create (10000);

    layout_add_step (layout, "n[0001-5000]", "2(x5000)");
    layout_guess (layout);
    assert_string_equal (layout_node (layout, 0), "n0001");
    assert_string_equal (layout_node (layout, 9999), "n5000");
    layout_destroy (layout);
}

TEST (random_text_is_understood_or_not_used)
{
    uint64_t seed = FUZZ_SEED;
    int understood = 0;

    for (int i = 0; i < FUZZ_ROUNDS; i++) {
        struct layout *layout = layout_create (4);
        char names[33], tasks[17], ranks[17];

        fuzz_text (&seed, names, sizeof (names) - 1, "n1 n2, n [1-2] [1-4] [ ] 1 - , 03 x");
        fuzz_text (&seed, tasks, sizeof (tasks) - 1, "1 2 4 (x2) (x4) ( x ) ,");
        fuzz_text (&seed, ranks, sizeof (ranks) - 1, "0 1 2 3 , , , 9");
        if (fuzz_next (&seed) % 2)
            layout_add (layout, 1, 0, "n1");
        layout_add_node_ranks (layout, 0, ranks);
        layout_add_step (layout, names, tasks);
        layout_guess (layout);
        for (int rank = 0; rank < 4; rank++)
            understood += layout_node (layout, rank) != NULL;
        layout_destroy (layout);
    }
    assert_true (understood > FUZZ_ROUNDS / 10);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_rank_that_came_is_where_it_says),
        cmocka_unit_test (who_did_not_come_is_found),
        cmocka_unit_test (node_lists_are_expanded),
        cmocka_unit_test (what_cannot_be_understood_is_not_used),
        cmocka_unit_test (brackets_and_ranges_that_name_nothing_are_not_understood),
        cmocka_unit_test (a_range_at_the_end_of_numbers_is_not_understood),
        cmocka_unit_test (more_tasks_than_can_be_counted_are_not_understood),
        cmocka_unit_test (what_was_not_understood_leaves_nothing_behind),
        cmocka_unit_test (a_rank_knows_its_own_node_best),
        cmocka_unit_test (ranks_out_of_range_are_not_used),
        cmocka_unit_test (nodes_out_of_range_are_not_used),
        cmocka_unit_test (five_thousand_nodes_are_no_effort),
        cmocka_unit_test (random_text_is_understood_or_not_used),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
