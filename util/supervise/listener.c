/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "listener.h"

#include <netinet/tcp.h>
#include <stddef.h>

#include "common/diag.h"

#define PAUSE_MIN_MS 1000
/*
 * From here on pauses grow slowly: a server listens as long as its program works, and is to be seen even if
 * the program needs most of a minute to start, and then works for some seconds.
 */
#define PAUSE_SLOW_MS 4000
#define PAUSE_MAX_MS 30000

void listener_begin (struct listener *l)
{
    bool looks = (l->port[0] || l->port[1]) && !l->hidden && l->use != ADDRESS_USED;

    l->pause_ms = PAUSE_MIN_MS;
    l->due = looks ? deadline_in_ms (l->pause_ms) : deadline_never ();
}

void listener_hide (struct listener *l)
{
    l->hidden = true;
    l->use = ADDRESS_UNKNOWN;
    l->due = deadline_never ();
}

static int _longer (int pause_ms)
{
    int longer = pause_ms < PAUSE_SLOW_MS ? 2 * pause_ms : pause_ms + pause_ms / 8;

    return longer < PAUSE_MAX_MS ? longer : PAUSE_MAX_MS;
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
    l->pause_ms = _longer (l->pause_ms);
    l->due = deadline_in_ms (l->pause_ms);
}
