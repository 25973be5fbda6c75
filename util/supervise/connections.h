/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * With whom have the programs of the task had a TCP connection? The kernel tells of connections
 * (sock_diag (7)), and /proc of which process they are. One that lasts from one look to the next is seen.
 */
#ifndef TF_CONNECTIONS_H
#define TF_CONNECTIONS_H

#include <sys/types.h>

#include "protocol/life_report.h"

/*
 * Note the addresses at the other ends, as long as there is room: of other hosts; and of this host, if the
 * other end is a process of the same user, and none of this task, as another task of the node is. `except` is
 * that of descendants.h. Without new addresses of the user's connections, /proc is not read.
 */
void connections_look (struct life_peers *peers, pid_t except);

#endif
