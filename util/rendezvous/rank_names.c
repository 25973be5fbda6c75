/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "rank_names.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job/place.h"

const char *rank_name (const struct rank *rank, char buf[RANK_NAME_SIZE])
{
    const char *node = rank->node ? rank->node : "";

    if (rank->role)
        snprintf (buf, RANK_NAME_SIZE, "%s %d (rank %d%s%s)", rank_role (rank), rank_index (rank),
                  rank->number, *node ? ", " : "", node);
    else
        snprintf (buf, RANK_NAME_SIZE, "rank %d%s%s", rank->number, *node ? " on " : "", node);
    return buf;
}

/* Most of many ranks are only counted. */
void rank_names_add (struct list_text *list, const struct rank *rank)
{
    char name[RANK_NAME_SIZE] = "";

    list_text_add (list, list->more ? name : rank_name (rank, name));
}

const char *rank_names_missing (const struct roster *roster, char *buf, size_t size)
{
    struct list_text list = { buf, size, ", ", RANK_NAMES_MOST, 0, 0 };

    EACH_RANK (rank, roster)
        if (rank->launch != RANK_HERE)
            rank_names_add (&list, rank);
    return list_text_end (&list);
}

const char *rank_names_gone (const struct roster *roster, char *buf, size_t size)
{
    struct list_text list = { buf, size, ", ", RANK_NAMES_MOST, 0, 0 };

    EACH_RANK (rank, roster)
        if (rank->launch == RANK_GONE)
            rank_names_add (&list, rank);
    return list_text_end (&list);
}

/* In a heterogeneous step Slurm sorts the names of all nodes, and counts in the order of the components. */
static int _index_of_node (const struct layout *layout, const struct rank *rank)
{
    int index = rank->node_index;

    if (index < layout->nodes && strcmp (layout->node[index].name, rank->node) == 0)
        return index;
    for (int n = 0; n < layout->nodes; n++)
        if (strcmp (layout->node[n].name, rank->node) == 0)
            return n;
    return index;
}

const char *rank_names_missing_nodes (const struct roster *roster, char *buf, size_t size)
{
    static const char on[] = " (on ";
    /* With room for the parenthesis. */
    struct list_text list = { buf + sizeof (on) - 1, size - sizeof (on), ", ", RANK_NAMES_MOST, 0, 0 };
    const struct layout *layout = &roster->layout;
    int *here = calloc ((size_t)layout->nodes + 1, sizeof (*here));

    EACH_RANK (rank, roster)
        if (here && rank->launch == RANK_HERE && _index_of_node (layout, rank) < layout->nodes)
            here[_index_of_node (layout, rank)]++;
    for (int n = 0; here && n < layout->nodes; n++)
        if (here[n] < layout->node[n].tasks)
            list_text_add (&list, layout->node[n].name);
    free (here);
    list_text_end (&list);
    if (list.named) {
        memcpy (buf, on, sizeof (on) - 1);
        strcat (buf, ")");
    } else
        buf[0] = '\0';
    return buf;
}
