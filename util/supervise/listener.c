/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "listener.h"

#include <netinet/tcp.h>

#include "common/diag.h"

/* A server listens as long as its program works, so one that starts late is seen, too. */
#define PAUSE_MIN_MS 1000

void listener_init (struct listener *l, int port, int master_port)
{
    *l = (struct listener){ .port = { port, master_port },
                            .hidden = port == 0 && master_port == 0,
                            .pause_ms = PAUSE_MIN_MS };
    l->due = deadline_never ();
}

void listener_begin (struct listener *l)
{
    l->pause_ms = PAUSE_MIN_MS;
    l->due = l->use == ADDRESS_USED || l->hidden ? deadline_never () : deadline_in_ms (l->pause_ms);
}

void listener_hide (struct listener *l)
{
    l->hidden = true;
    l->use = ADDRESS_UNKNOWN;
    l->due = deadline_never ();
}

void listener_look (struct listener *l)
{
    if (!deadline_passed (l->due))
        return;
    l->use = ADDRESS_UNUSED;
    for (size_t i = 0; i < sizeof (l->port) / sizeof (l->port[0]); i++) {
        int found = l->port[i] ? diag_dump (1U << TCP_LISTEN, l->port[i], NULL, NULL) : 0;

        if (found > 0) {
            l->use = ADDRESS_USED;
            l->due = deadline_never ();
            return;
        }
        if (found < 0) {
            listener_hide (l);
            return;
        }
    }
    l->pause_ms = 2 * l->pause_ms < LISTENER_LONGEST_PAUSE_MS ? 2 * l->pause_ms : LISTENER_LONGEST_PAUSE_MS;
    l->due = deadline_in_ms (l->pause_ms);
}
