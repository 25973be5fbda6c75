/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "promises.h"

#include <stddef.h>

#define ROW(name) { #name, name },
static const struct {
    const char *name;
    promise *check;
} list[] = { PROMISES (ROW) };

const char *promises_check (const struct history *history, const char **why)
{
    for (size_t i = 0; i < sizeof (list) / sizeof (list[0]); i++)
        if ((*why = list[i].check (history)))
            return list[i].name;
    return NULL;
}
