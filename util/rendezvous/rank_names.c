/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "rank_names.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/list_text.h"
#include "job/place.h"

const char *rank_name (const struct roster *roster, const struct rank *rank, char *buf, size_t size)
{
    const char *node = rank->node ? rank->node : layout_node (roster->layout, rank->number);
    int used = snprintf (buf, size, "rank %d", rank->number);

    if (rank->role)
        used += snprintf (buf + used, size - (size_t)used, " (%s %d)", rank_role (rank), rank_index (rank));
    if (node)
        snprintf (buf + used, size - (size_t)used, " on %s", node);
    return buf;
}

/* Most of many ranks are only counted. */
static void _list_rank (struct list_text *list, const struct roster *roster, const struct rank *rank)
{
    char name[RANK_NAME_SIZE] = "";

    list_text_add (list, list->more ? name : rank_name (roster, rank, name, sizeof (name)));
}

const char *rank_names_missing (struct roster *roster, char *buf, size_t size)
{
    struct list_text list = { buf, size, ", ", RANK_NAMES_MOST, 0, 0 };

    layout_guess (roster->layout);
    for (int i = 0; i < roster->tasks; i++)
        if (roster->rank[i].launch != RANK_HERE)
            _list_rank (&list, roster, &roster->rank[i]);
    return list_text_end (&list);
}

const char *rank_names_gone (const struct roster *roster, char *buf, size_t size)
{
    struct list_text list = { buf, size, ", ", RANK_NAMES_MOST, 0, 0 };

    for (int i = 0; i < roster->tasks; i++)
        if (roster->rank[i].launch == RANK_GONE)
            _list_rank (&list, roster, &roster->rank[i]);
    return list_text_end (&list);
}

const char *rank_names_missing_nodes (struct roster *roster, char *buf, size_t size)
{
    static const char on[] = ", on ";
    struct list_text list = { buf + sizeof (on) - 1, size - sizeof (on) + 1, ", ", RANK_NAMES_MOST, 0, 0 };
    bool *listed = calloc ((size_t)layout_nodes (roster->layout) + 1, sizeof (*listed));

    layout_guess (roster->layout);
    for (int i = 0; listed && i < roster->tasks; i++) {
        const char *node = layout_node (roster->layout, i);
        bool *is_listed = node ? &listed[layout_node_index (roster->layout, i)] : NULL;

        if (roster->rank[i].launch == RANK_HERE || !node || *is_listed)
            continue;
        *is_listed = true;
        list_text_add (&list, node);
    }
    free (listed);
    list_text_end (&list);
    if (list.named)
        memcpy (buf, on, sizeof (on) - 1);
    else
        buf[0] = '\0';
    return buf;
}
