/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The link between two nodes: one listens on its task's port, and the other connects, shows that it belongs
 * to the step, and measures how much gets through in either direction.
 */
#ifndef TF_LINK_CHECK_H
#define TF_LINK_CHECK_H

#include <stdbool.h>

#include "common/address.h"
#include "common/errtext.h"

struct link_peer {
    bool serves; /* listen, on the port */
    struct address address; /* of the other one */
    int port;
    const char *token, *server_token; /* of links (contact.h): the one that connects shows the first one */
};

/*
 * In kB/s, 1 or more; 0 of the one that listens, which does not measure. -1 and err if the other one was not
 * reached, or did not come. Who is not of the step gets no answer, and does not end the wait.
 */
int link_check (const struct link_peer *peer, int ms, struct errtext *err);

#endif
