/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "server.h"

#include <stdlib.h>

#include "console.h"

void server_print_table (const struct server *server, char *table)
{
    if (table && server->config.show)
        console_print (table);
    else if (table)
        console_note (table);
    free (table);
}
