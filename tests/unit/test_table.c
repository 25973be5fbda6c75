/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include "common/table.h"

static void check (struct table *table, const char *expected)
{
    char *text = table_print (table);

    assert_string_equal (text, expected);
    free (text);
    table_destroy (table);
}

TEST (columns_are_as_wide_as_their_widest_cell)
{
    struct table *table = table_create ("title", (const char *const[]){ "rank", "role", "end" }, 3);

    table_add_row (table, (const char *const[]){ "0", "ps 0", "stopped" });
    table_add_row (table, (const char *const[]){ "1234567", "worker 12", "exit 0" });
    check (table, "title\n"
                  "   rank  role       end\n"
                  "      0  ps 0       stopped\n"
                  "1234567  worker 12  exit 0\n");
}

TEST (a_cell_is_one_line_whatever_it_has)
{
    static const char *const heading[] = { "rank", "node" };
    static const char *const cell[] = { "0", "n1\33[A\nsrun: error: all is well" };
    struct table *table = table_create ("step 1.0\n: eth0", heading, 2);
    char *text;

    table_add_row (table, cell);
    text = table_print (table);
    assert_string_equal (text, "step 1.0 : eth0\n"
                               "  rank  node\n"
                               "     0  n1 [A srun: error: all is well\n");
    free (text);
    table_destroy (table);
}

TEST (functions_accept_a_null_table)
{
    table_add_row (NULL, (const char *const[]){ "0" });
    assert_null (table_print (NULL));
    table_destroy (NULL);
}
