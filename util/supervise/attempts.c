/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "attempts.h"

#include <netinet/tcp.h>
#include <unistd.h>

#include "common/address.h"
#include "common/diag.h"

#define PAUSE_MIN_MS 5000
#define PAUSE_MAX_MS 600000
/* Looks at an attempt, once it has been seen: LOOKS of them, STEP_MS apart, take a minute. */
#define STEP_MS 5000
#define LOOKS 13
/* More misses in a row, and it counts as answered. */
#define MISSES 1

void attempts_begin (struct attempts *a)
{
    *a = (struct attempts){ .pause_ms = PAUSE_MIN_MS, .due = deadline_in_ms (PAUSE_MIN_MS) };
}

static void _note (struct attempts *a, const struct signs_address *to)
{
    struct attempt *at = a->attempt;

    while (at < a->attempt + a->count
           && (at->to.port != to->port || !address_equal (&at->to.address, &to->address)))
        at++;
    if (at == a->attempt + ATTEMPTS_MOST)
        return;
    if (at == a->attempt + a->count)
        a->attempt[a->count++] = (struct attempt){ .to = *to };
    at->seen = true;
}

static void _see (const struct inet_diag_msg *socket, void *arg)
{
    struct signs_address to;

    if (socket->idiag_uid == getuid () && (to.port = diag_peer (socket, &to.address)) >= 0)
        _note (arg, &to);
}

/* Count this look, and forget what has been answered. */
static void _count_recent (struct attempts *a)
{
    int kept = 0;

    for (int i = 0; i < a->count; i++) {
        struct attempt *at = &a->attempt[i];

        at->looks += at->seen;
        at->missed = at->seen ? 0 : at->missed + 1;
        at->seen = false;
        if (at->missed <= MISSES)
            a->attempt[kept++] = *at;
    }
    a->count = kept;
}

bool attempts_look (struct attempts *a)
{
    if (!deadline_passed (a->due))
        return false;
    if (diag_dump (1U << TCP_SYN_SENT, 0, _see, a) < 0) {
        *a = (struct attempts){ .due = deadline_never () };
        return false;
    }
    _count_recent (a);
    if (a->count == 0 && a->pause_ms < PAUSE_MAX_MS)
        a->pause_ms = 2 * a->pause_ms;
    a->due = deadline_in_ms (a->count > 0 ? STEP_MS : a->pause_ms);
    for (int i = 0; i < a->count; i++)
        if (a->attempt[i].looks >= LOOKS)
            return true;
    return false;
}

int attempts_unanswered (const struct attempts *a, struct signs_address to[SIGNS_MOST_UNANSWERED])
{
    int count = 0;

    for (int i = 0; i < a->count && count < SIGNS_MOST_UNANSWERED; i++)
        if (a->attempt[i].looks >= LOOKS)
            to[count++] = a->attempt[i].to;
    return count;
}
