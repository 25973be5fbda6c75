/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "rank_names.h"

#include <stdio.h>
#include <string.h>

#include "common/list_text.h"

const char *rank_name (const struct roster *roster, int rank, char *buf, size_t size)
{
    const struct member *m = &roster->member[rank];
    const char *node = m->node ? m->node : layout_node (roster->layout, rank);
    int used = snprintf (buf, size, "rank %d", rank);

    if (m->role)
        used += snprintf (buf + used, size - (size_t)used, " (%s %d)", m->role, m->index);
    if (node)
        snprintf (buf + used, size - (size_t)used, " on %s", node);
    return buf;
}

const char *rank_names_missing (struct roster *roster, char *buf, size_t size)
{
    struct list_text list = { buf, size, ", ", RANK_NAMES_MOST, 0, 0 };
    char name[RANK_NAME_SIZE];

    layout_guess (roster->layout);
    for (int rank = 0; rank < roster->tasks; rank++)
        if (!roster->member[rank].here)
            list_text_add (&list, rank_name (roster, rank, name, sizeof (name)));
    return list_text_end (&list);
}

const char *rank_names_lost (struct roster *roster, char *buf, size_t size)
{
    struct list_text list = { buf, size, ", ", RANK_NAMES_MOST, 0, 0 };
    char name[RANK_NAME_SIZE];

    for (int rank = 0; rank < roster->tasks; rank++)
        if (roster->member[rank].lost)
            list_text_add (&list, rank_name (roster, rank, name, sizeof (name)));
    return list_text_end (&list);
}

/* Is a rank before this one missing on the same node? */
static bool _is_repeated (const struct roster *roster, int rank, const char *node)
{
    while (rank-- > 0) {
        const char *other = layout_node (roster->layout, rank);

        if (!roster->member[rank].here && other && strcmp (other, node) == 0)
            return true;
    }
    return false;
}

const char *rank_names_missing_nodes (struct roster *roster, char *buf, size_t size)
{
    static const char on[] = ", on ";
    struct list_text list = { buf + sizeof (on) - 1, size - sizeof (on) + 1, ", ", RANK_NAMES_MOST,
                              0, 0 };

    layout_guess (roster->layout);
    for (int rank = 0; rank < roster->tasks; rank++) {
        const char *node = layout_node (roster->layout, rank);

        if (!roster->member[rank].here && node && !_is_repeated (roster, rank, node))
            list_text_add (&list, node);
    }
    list_text_end (&list);
    if (list.named)
        memcpy (buf, on, sizeof (on) - 1);
    else
        buf[0] = '\0';
    return buf;
}
