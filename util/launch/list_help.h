/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What --tf-tasks=help prints: how a list is written, which roles there are, and examples.
 */
#ifndef TF_LIST_HELP_H
#define TF_LIST_HELP_H

#include <stdio.h>

/* The word in the place of a list. */
#define LIST_HELP "help"

/* `site_roles` are the site's own, as "a,b", or NULL. */
void list_help_print (FILE *stream, const char *site_roles);

#endif
