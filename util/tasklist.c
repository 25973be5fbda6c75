/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "tasklist.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tasklist {
    size_t length;
    int named;
    bool rest;
    struct tasklist_item item[];
};

/* Where in the list an error is: "item 2, "ps:0": ". */
struct place {
    char text[sizeof (struct quoted) + 32];
};

static const char *_place (struct place *place, size_t number, const char *text, size_t len)
{
    struct quoted q;

    snprintf (place->text, sizeof (place->text), "item %zu, \"%s\"", number,
              text_quoted (&q, text, len));
    return place->text;
}

static bool _role_char (char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
           || c == '_' || c == '-';
}

/* COUNT, decimal digits alone: strtol would take blanks and signs. */
static int _count (const char *text, size_t len, const char *place, struct errtext *err)
{
    long count = 0;

    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return errtext_set (err, "%s: a count is a number from 1 to %d, or \"rest\"", place,
                                TASKLIST_MAX_TASKS);
        if (count <= TASKLIST_MAX_TASKS)
            count = count * 10 + (text[i] - '0');
    }
    if (len == 0 || count < 1 || count > TASKLIST_MAX_TASKS)
        return errtext_set (err, "%s: a count is a number from 1 to %d, or \"rest\"", place,
                            TASKLIST_MAX_TASKS);
    return (int)count;
}

static int _parse_item (struct tasklist *list, const char *text, size_t len, struct errtext *err)
{
    struct tasklist_item *item = &list->item[list->length];
    const char *colon = memchr (text, ':', len);
    size_t role_len = colon ? (size_t)(colon - text) : len;
    size_t rest_len = colon ? len - role_len - 1 : 0;
    struct place where;
    const char *place = _place (&where, list->length + 1, text, len);

    if (len == 0)
        return errtext_set (err, "item %zu is empty; a list is ROLE[:COUNT],...",
                            list->length + 1);
    if (role_len == 0)
        return errtext_set (err, "%s: a role is missing before the colon", place);
    for (size_t i = 0; i < role_len; i++)
        if (!_role_char (text[i]))
            return errtext_set (err, "%s: a role is a word; a list is ROLE[:COUNT],...", place);
    if (role_len > TASKLIST_MAX_ROLE)
        return errtext_set (err, "%s: a role is %d characters at most", place, TASKLIST_MAX_ROLE);

    memcpy (item->role, text, role_len);
    item->role[role_len] = '\0';
    item->count = 1;
    if (colon && rest_len == 4 && memcmp (colon + 1, "rest", 4) == 0) {
        if (list->rest)
            return errtext_set (err, "%s: \"rest\" can stand once in a list", place);
        list->rest = true;
        item->count = 0;
    } else if (colon && (item->count = _count (colon + 1, rest_len, place, err)) < 0)
        return -1;

    if (list->named > TASKLIST_MAX_TASKS - item->count)
        return errtext_set (err, "%s: a list names %d tasks at most", place, TASKLIST_MAX_TASKS);
    list->named += item->count;
    list->length++;
    return 0;
}

int tasklist_parse (struct tasklist **lp, const char *text, struct errtext *err)
{
    size_t len = strlen (text);
    size_t items = 1;
    struct tasklist *list;

    if (len == 0)
        return errtext_set (err, "the list is empty; it is ROLE[:COUNT],... as in ps,worker:2");
    if (len > TASKLIST_MAX_TEXT)
        return errtext_set (err, "the list has %zu bytes, %d at most; ROLE:COUNT says it shorter",
                            len, TASKLIST_MAX_TEXT);
    for (const char *p = text; *p; p++)
        items += *p == ',';
    if (!(list = calloc (1, sizeof (*list) + items * sizeof (list->item[0]))))
        return errtext_set (err, "%s", strerror (ENOMEM));

    for (const char *item = text;;) {
        size_t item_len = strcspn (item, ",");

        if (_parse_item (list, item, item_len, err) < 0) {
            tasklist_destroy (list);
            return -1;
        }
        if (item[item_len] == '\0')
            break;
        item += item_len + 1;
    }
    *lp = list;
    return 0;
}

void tasklist_destroy (struct tasklist *list)
{
    int saved = errno;

    free (list);
    errno = saved;
}

size_t tasklist_length (const struct tasklist *list)
{
    return list->length;
}

const struct tasklist_item *tasklist_item (const struct tasklist *list, size_t i)
{
    return &list->item[i];
}

int tasklist_named (const struct tasklist *list)
{
    return list->named;
}

bool tasklist_has_rest (const struct tasklist *list)
{
    return list->rest;
}

int tasklist_assign (const struct tasklist *list, const char **role, int ntasks,
                     const char *who, const char *option, struct errtext *err)
{
    int rest = list->rest ? ntasks - list->named : 0;
    const char *plural = ntasks == 1 ? "" : "s";
    char text[160];
    int rank = 0;

    tasklist_describe (list, text, sizeof (text));
    if (list->rest && rest < 1)
        return errtext_set (err, "%s runs %d task%s, %s names %d and \"rest\" (%s), which needs "
                            "at least one more", who, ntasks, plural, option, list->named, text);
    if (!list->rest && list->named != ntasks)
        return errtext_set (err, "%s runs %d task%s, %s names %d (%s)", who, ntasks, plural,
                            option, list->named, text);
    for (size_t i = 0; i < list->length; i++) {
        int count = list->item[i].count ? list->item[i].count : rest;

        while (count-- > 0)
            role[rank++] = list->item[i].role;
    }
    return 0;
}

const char *tasklist_describe (const struct tasklist *list, char *buf, size_t size)
{
    size_t used = 0;

    buf[0] = '\0';
    for (size_t i = 0, next; i < list->length; i = next) {
        const struct tasklist_item *item = &list->item[i];
        int count = item->count;
        char word[TASKLIST_MAX_ROLE + 16];

        for (next = i + 1; next < list->length && count; next++) {
            if (list->item[next].count == 0 || strcmp (list->item[next].role, item->role) != 0)
                break;
            count += list->item[next].count;
        }
        if (count == 0)
            snprintf (word, sizeof (word), "%s:rest", item->role);
        else if (count == 1)
            snprintf (word, sizeof (word), "%s", item->role);
        else
            snprintf (word, sizeof (word), "%s:%d", item->role, count);

        if (used + strlen (word) + sizeof (", ...") > size) {
            snprintf (buf + used, size - used, "...");
            break;
        }
        used += (size_t)snprintf (buf + used, size - used, "%s%s", word,
                                  next < list->length ? ", " : "");
    }
    return buf;
}
