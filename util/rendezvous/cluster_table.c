/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "cluster_table.h"

#include <stdio.h>

#include "common/table.h"
#include "job/place.h"

int cluster_table_nodes (const struct roster *roster)
{
    int nodes = 0;

    EACH_RANK (rank, roster)
        if (rank->node_index >= nodes)
            nodes = rank->node_index + 1;
    return nodes;
}

const char *cluster_table_role (const struct rank *rank, char buf[CLUSTER_TABLE_ROLE_SIZE])
{
    snprintf (buf, CLUSTER_TABLE_ROLE_SIZE, "%s %d", rank_role (rank), rank_index (rank));
    return buf;
}

char *cluster_table (const struct roster *roster, const struct network_choice *choice)
{
    static const char *const headings[] = { "rank", "role", "node", "address", "interface" };
    /* Interfaces are of interest where there is a choice. */
    const size_t columns = choice->rails ? 5 : 4;
    int nodes = cluster_table_nodes (roster);
    struct table *table;
    char title[512], *text;

    snprintf (title, sizeof (title), "spank_tf: %s: %d task%s on %d node%s%s%s", roster->step.name,
              roster->tasks, roster->tasks == 1 ? "" : "s", nodes, nodes == 1 ? "" : "s",
              choice->network[0] ? ", network " : "", choice->network);
    table = table_create (title, headings, columns);
    EACH_RANK (rank, roster) {
        char number[16], role[CLUSTER_TABLE_ROLE_SIZE];
        struct address_text room;

        if (rank->replaced_by)
            continue;
        snprintf (number, sizeof (number), "%d", rank->number);
        table_add_row (table, (const char *const[]){ number, cluster_table_role (rank, role), rank->node,
                                                     address_print_port (&rank->address, rank->port, &room),
                                                     rank->chosen_interface });
    }
    text = table_print (table);
    table_destroy (table);
    return text;
}
