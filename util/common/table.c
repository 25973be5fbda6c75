/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/printable.h"

/* Of the first column, so that tables below each other look alike. */
#define FIRST_WIDTH 6

struct row {
    char *cell[TABLE_MAX_COLUMNS];
};

struct table {
    char *title;
    size_t columns;
    size_t rows, size;
    struct row *row;            /* row[0] is the headings */
    int width[TABLE_MAX_COLUMNS];
    bool incomplete;            /* memory ran out */
};

/* A node may have any text in its registration. */
static char *_copy_cell (const char *text)
{
    char *copy = strdup (text);

    if (copy)
        printable_make_line (copy);
    return copy;
}

struct table *table_create (const char *title, const char *const *headings, size_t columns)
{
    struct table *table = calloc (1, sizeof (*table));

    if (!table)
        return NULL;
    table->columns = columns;
    table->width[0] = FIRST_WIDTH;
    table->incomplete = title && !(table->title = _copy_cell (title));
    table_add_row (table, headings);
    return table;
}

void table_destroy (struct table *table)
{
    int saved = errno;

    if (table) {
        for (size_t r = 0; r < table->rows; r++)
            for (size_t c = 0; c < table->columns; c++)
                free (table->row[r].cell[c]);
        free (table->row);
        free (table->title);
        free (table);
    }
    errno = saved;
}

static bool _reserve_row (struct table *table)
{
    size_t size = table->size ? 2 * table->size : 64;
    struct row *row;

    if (table->rows < table->size)
        return true;
    if (!(row = realloc (table->row, size * sizeof (*row))))
        return false;
    table->row = row;
    table->size = size;
    return true;
}

void table_add_row (struct table *table, const char *const *cells)
{
    struct row *row;

    if (!table)
        return;
    if (!_reserve_row (table)) {
        table->incomplete = true;
        return;
    }
    row = &table->row[table->rows++];
    /* gcc -fanalyzer is wrong: the row keeps each copy. */
    for (size_t c = 0; c < table->columns; c++) {
        int width = (int)strlen (cells[c]);

        /* gcc -fanalyzer is wrong: the row keeps it. */
        if (!(row->cell[c] = _copy_cell (cells[c])))
            table->incomplete = true;
        table->width[c] = width > table->width[c] ? width : table->width[c];
    }
}

/* The last column is not padded. */
static void _print_row (FILE *f, const struct table *table, const struct row *row)
{
    size_t last = table->columns - 1;

    fprintf (f, "%*s", table->width[0], row->cell[0]);
    for (size_t c = 1; c < last; c++)
        fprintf (f, "  %-*s", table->width[c], row->cell[c]);
    if (last > 0)
        fprintf (f, "  %s", row->cell[last]);
    fputc ('\n', f);
}

char *table_print (const struct table *table)
{
    char *text = NULL;
    size_t size;
    FILE *f = table && !table->incomplete ? open_memstream (&text, &size) : NULL;

    if (!f)
        return NULL;
    if (table->title)
        fprintf (f, "%s\n", table->title);
    for (size_t r = 0; r < table->rows; r++)
        _print_row (f, table, &table->row[r]);
    if (fclose (f) == 0)
        return text;
    free (text);
    return NULL;
}
