/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "rank_names.h"

#include <stdio.h>
#include <string.h>

#include "common/list_text.h"

const char *rank_name (const struct roster *roster, const struct rank *rank, char *buf, size_t size)
{
    const char *node = rank->node ? rank->node : layout_node (roster->layout, rank->number);
    int used = snprintf (buf, size, "rank %d", rank->number);

    if (rank->role)
        used += snprintf (buf + used, size - (size_t)used, " (%s %d)", rank->role, rank->index);
    if (node)
        snprintf (buf + used, size - (size_t)used, " on %s", node);
    return buf;
}

const char *rank_names_missing (struct roster *roster, char *buf, size_t size)
{
    struct list_text list = { buf, size, ", ", RANK_NAMES_MOST, 0, 0 };
    char name[RANK_NAME_SIZE];

    layout_guess (roster->layout);
    for (int i = 0; i < roster->tasks; i++)
        if (roster->rank[i].launch != RANK_HERE)
            list_text_add (&list, rank_name (roster, &roster->rank[i], name, sizeof (name)));
    return list_text_end (&list);
}

const char *rank_names_gone (const struct roster *roster, char *buf, size_t size)
{
    struct list_text list = { buf, size, ", ", RANK_NAMES_MOST, 0, 0 };
    char name[RANK_NAME_SIZE];

    for (int i = 0; i < roster->tasks; i++)
        if (roster->rank[i].launch == RANK_GONE)
            list_text_add (&list, rank_name (roster, &roster->rank[i], name, sizeof (name)));
    return list_text_end (&list);
}

/* Is a rank before this one missing on the same node? */
static bool _is_repeated (const struct roster *roster, int i, const char *node)
{
    while (i-- > 0) {
        const char *other = layout_node (roster->layout, i);

        if (roster->rank[i].launch != RANK_HERE && other && strcmp (other, node) == 0)
            return true;
    }
    return false;
}

const char *rank_names_missing_nodes (struct roster *roster, char *buf, size_t size)
{
    static const char on[] = ", on ";
    struct list_text list = { buf + sizeof (on) - 1, size - sizeof (on) + 1, ", ", RANK_NAMES_MOST, 0, 0 };

    layout_guess (roster->layout);
    for (int i = 0; i < roster->tasks; i++) {
        const char *node = layout_node (roster->layout, i);

        if (roster->rank[i].launch != RANK_HERE && node && !_is_repeated (roster, i, node))
            list_text_add (&list, node);
    }
    list_text_end (&list);
    if (list.named)
        memcpy (buf, on, sizeof (on) - 1);
    else
        buf[0] = '\0';
    return buf;
}
