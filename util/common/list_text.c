/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "list_text.h"

#include <stdio.h>
#include <string.h>

#define MORE " and %zu more"
#define MORE_ROOM sizeof (" and 18446744073709551615 more")

void list_text_add (struct list_text *list, const char *item)
{
    const char *separator = list->named ? list->separator : "";
    size_t used;

    if (!list->named)
        list->buf[0] = '\0';
    used = strlen (list->buf);
    if (list->more || (list->most && list->named == list->most)
        || used + strlen (separator) + strlen (item) + MORE_ROOM > list->size) {
        list->more++;
        return;
    }
    snprintf (list->buf + used, list->size - used, "%s%s", separator, item);
    list->named++;
}

const char *list_text_end (struct list_text *list)
{
    size_t used;

    if (!list->named)
        list->buf[0] = '\0';
    used = strlen (list->buf);
    if (list->more)
        snprintf (list->buf + used, list->size - used, MORE, list->more);
    return list->buf;
}
