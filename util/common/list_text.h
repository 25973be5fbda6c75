/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A list in a message: "n3, n4, n5 and 12 more".
 */
#ifndef TF_LIST_TEXT_H
#define TF_LIST_TEXT_H

#include <stddef.h>

/* Set buf, size, separator and most, and zero the others. */
struct list_text {
    char *buf;                  /* the caller's; a valid string after each call */
    size_t size;                /* of buf, in bytes; 40 or more */
    const char *separator;      /* ", " */
    size_t most;                /* the most items to name; 0: as many as fit */
    size_t named, more;         /* items in buf, and items that were left out */
};

/*
 * Append an item, if there is room for it and for "and N more". Otherwise leave it out, and every
 * later item too.
 */
void list_text_add (struct list_text *list, const char *item);

/* Append " and N more" if items were left out. Returns buf, which is "" for an empty list. */
const char *list_text_end (struct list_text *list);

#endif
