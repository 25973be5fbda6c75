/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A table for a terminal: a title, a line of headings, rows, each one line whatever their texts have. The
 * first column is right-aligned, the others are left-aligned, and each is as wide as its widest cell.
 */
#ifndef TF_TABLE_H
#define TF_TABLE_H

#include <stddef.h>

#define TABLE_MAX_COLUMNS 8

struct table;

/* The title may be NULL. NULL if there is no memory, which every function below accepts. */
struct table *table_create (const char *title, const char *const *headings, size_t columns);
void table_destroy (struct table *table);

/* Add a row of copies of these cells. */
void table_add_row (struct table *table, const char *const *cells);

/* The text, to be freed; NULL if memory ran out anywhere. */
char *table_print (const struct table *table);

#endif
