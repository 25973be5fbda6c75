/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What is to happen, in its order, and chance.
 */
#include "config.h"

#include "inside.h"

#include "../random.h"

int events_below (int number)
{
    return (int)(random_next (&w.random) % (unsigned int)number);
}

static bool _is_before (const struct event *a, const struct event *b)
{
    return a->at < b->at || (a->at == b->at && a->nth < b->nth);
}

struct event *events_push (int64_t at, int kind, int a, int b)
{
    static struct event none;
    int i = w.events;

    if (w.events == MOST_EVENTS) {
        w.overflow = true;
        return &none;
    }
    w.events++;
    w.event[i] = (struct event){ .at = at, .nth = w.nth++, .kind = kind, .a = a, .b = b, .since = w.now };
    for (; i > 0 && _is_before (&w.event[i], &w.event[(i - 1) / 2]); i = (i - 1) / 2) {
        struct event moved = w.event[i];

        w.event[i] = w.event[(i - 1) / 2];
        w.event[(i - 1) / 2] = moved;
    }
    return &w.event[i];
}

struct event events_pop (void)
{
    struct event first = w.event[0];
    int i = 0;

    w.event[0] = w.event[--w.events];
    for (;;) {
        int least = i;

        for (int child = 2 * i + 1; child <= 2 * i + 2 && child < w.events; child++)
            if (_is_before (&w.event[child], &w.event[least]))
                least = child;
        if (least == i)
            return first;
        struct event moved = w.event[i];

        w.event[i] = w.event[least];
        w.event[least] = moved;
        i = least;
    }
}
