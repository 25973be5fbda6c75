/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "alone.h"

#include <string.h>
#include <sys/socket.h>

/* Shorter steps are tests, and programs that print. */
#define LONG_MS 60000

/* Auxiliary tasks, evaluators and spares are in no dictionary of the others. */
bool alone_counts (const struct rank *rank)
{
    return rank->place && !rank->place->beside && rank->place->kind != RULES_EVALUATOR;
}

static bool _is_loopback (const struct address *address)
{
    static const unsigned char six[16] = { [15] = 1 };

    if (address->family == AF_INET)
        return address->bytes[0] == 127;
    return memcmp (address->bytes, six, sizeof (six)) == 0;
}

static bool _is_at (const struct address *a, const struct address *b)
{
    return a->family == b->family && memcmp (a->bytes, b->bytes, sizeof (a->bytes)) == 0;
}

bool alone_has_met (const struct rank *rank, int tasks, const struct life_peers *peers)
{
    for (const struct address *peer = peers->address; peer < peers->address + peers->count; peer++) {
        if (_is_loopback (peer))
            return true;
        for (int i = 0; i < tasks; i++)
            if (_is_at (peer, &rank[i].address) || _is_at (peer, &rank[i].connected))
                return true;
    }
    return false;
}

bool alone_is_likely (const struct rank *rank, int tasks)
{
    int ran_long = 0;

    for (const struct rank *last = rank + tasks; rank < last; rank++) {
        if (!alone_counts (rank))
            continue;
        if (rank->address_use != ADDRESS_UNUSED || exit_report_failed (&rank->place->end.report))
            return false;
        ran_long += rank->place->end.elapsed_ms > LONG_MS;
    }
    return ran_long > 1;
}
