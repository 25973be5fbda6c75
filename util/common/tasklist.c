/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "tasklist.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "beside.h"
#include "list_text.h"
#include "number.h"

/* Where an error is: `item 2, "ps:0"`. */
struct place {
    char text[sizeof (struct quoted) + 32];
};

static const char *_place (struct place *place, size_t number, const char *text, size_t len)
{
    struct quoted q;

    snprintf (place->text, sizeof (place->text), "item %zu, \"%s\"", number, text_quoted (&q, text, len));
    return place->text;
}

static int _set_role (struct tasklist_item *item, const char *text, size_t len, const char *place,
                      struct errtext *err)
{
    if (len == 0)
        return errtext_set (err, "%s: a role is missing before the colon", place);
    if (text[0] == BESIDE_SIGN && !beside_is_name (text + 1, len - 1))
        return errtext_set (err, "%s: a name with + has letters, digits and _, at most %d of them", place,
                            BESIDE_MAX_NAME);
    if (text[0] != BESIDE_SIGN && strspn (text, BESIDE_CHARACTERS "-") < len)
        return errtext_set (err, "%s: a role is a word; a list is ROLE[:COUNT],...", place);
    if (len > TASKLIST_MAX_ROLE)
        return errtext_set (err, "%s: a role has at most %d characters", place, TASKLIST_MAX_ROLE);
    memcpy (item->role, text, len);
    item->role[len] = '\0';
    return 0;
}

/* `text` is what stands behind the colon, up to `end`. */
static int _set_count (struct tasklist *list, struct tasklist_item *item, const char *text, const char *end,
                       const char *place, struct errtext *err)
{
    if (end - text == 4 && memcmp (text, "rest", 4) == 0) {
        if (list->rest)
            return errtext_set (err, "%s: a list can have \"rest\" only once", place);
        list->rest = true;
        item->count = 0;
        return 0;
    }
    item->count = number_scan (&text, TASKLIST_MAX_TASKS);
    if (item->count < 1 || item->count > TASKLIST_MAX_TASKS || text != end)
        return errtext_set (err, "%s: a count is a number from 1 to %d, or \"rest\"", place,
                            TASKLIST_MAX_TASKS);
    return 0;
}

static int _parse_item (struct tasklist *list, const char *text, size_t len, struct errtext *err)
{
    struct tasklist_item *item = &list->item[list->length];
    const char *colon = memchr (text, ':', len);
    struct place where;
    const char *place = _place (&where, list->length + 1, text, len);

    if (len == 0)
        return errtext_set (err, "item %zu is empty; a list is ROLE[:COUNT],...", list->length + 1);
    if (_set_role (item, text, colon ? (size_t)(colon - text) : len, place, err) < 0)
        return -1;
    item->count = 1;
    if (colon && _set_count (list, item, colon + 1, text + len, place, err) < 0)
        return -1;
    if (list->named > TASKLIST_MAX_TASKS - item->count)
        return errtext_set (err, "%s: a list names at most %d tasks", place, TASKLIST_MAX_TASKS);
    list->named += item->count;
    list->length++;
    return 0;
}

static int _parse_items (struct tasklist *list, const char *text, struct errtext *err)
{
    for (;; text++) {
        size_t len = strcspn (text, ",");

        if (_parse_item (list, text, len, err) < 0)
            return -1;
        text += len;
        if (*text == '\0')
            return 0;
    }
}

int tasklist_parse (struct tasklist **lp, const char *text, struct errtext *err)
{
    size_t len = strlen (text);
    size_t items = 1;
    struct tasklist *list;

    if (len == 0)
        return errtext_set (err, "the list is empty; a list is ROLE[:COUNT],... as in "
                                 "ps,worker:2");
    if (len > TASKLIST_MAX_TEXT)
        return errtext_set (err,
                            "the list has %zu bytes, and at most %d are allowed; ROLE:COUNT "
                            "is shorter",
                            len, TASKLIST_MAX_TEXT);
    for (const char *p = text; *p; p++)
        items += *p == ',';
    if (!(list = calloc (1, sizeof (*list) + items * sizeof (list->item[0]))))
        return errtext_set (err, "%s", strerror (ENOMEM));
    if (_parse_items (list, text, err) < 0) {
        tasklist_destroy (list);
        return -1;
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

int tasklist_assign (const struct tasklist *list, const char **role, int ntasks, const char *subject,
                     const char *option, struct errtext *err)
{
    int rest = list->rest ? ntasks - list->named : 0;
    const char *plural = ntasks == 1 ? "" : "s";
    char text[160];
    int rank = 0;

    tasklist_describe (list, text, sizeof (text));
    if (list->rest && rest < 1)
        return errtext_set (err,
                            "%s has %d task%s, but %s lists %d and \"rest\" (%s), which needs "
                            "at least one more",
                            subject, ntasks, plural, option, list->named, text);
    if (!list->rest && list->named != ntasks)
        return errtext_set (err, "%s has %d task%s, but %s lists %d (%s)", subject, ntasks, plural, option,
                            list->named, text);
    for (size_t i = 0; i < list->length; i++) {
        int count = list->item[i].count ? list->item[i].count : rest;

        while (count-- > 0)
            role[rank++] = list->item[i].role;
    }
    return 0;
}

/* The end of the run of items, from the i-th on, that have the same role and a count. */
static size_t _end_of_run (const struct tasklist *list, size_t i)
{
    size_t end = i + 1;

    while (list->item[i].count && end < list->length && list->item[end].count
           && strcmp (list->item[end].role, list->item[i].role) == 0)
        end++;
    return end;
}

/* The number of tasks of the items from the i-th on, up to the end of their run. */
static int _count_run (const struct tasklist *list, size_t i)
{
    int count = 0;

    for (size_t end = _end_of_run (list, i); i < end; i++)
        count += list->item[i].count;
    return count;
}

/*
 * As a user writes it, with equal neighbours added up, and this text in the place of the count of one run.
 * Returns how many items are left out.
 */
static size_t _print_list (const struct tasklist *list, size_t changed, const char *count, char *buf,
                           size_t size)
{
    struct list_text text = { buf, size, ",", 0, 0, 0 };

    for (size_t i = 0; i < list->length; i = _end_of_run (list, i)) {
        char item[TASKLIST_MAX_ROLE + 16], own[16] = "";
        int tasks = _count_run (list, i);

        if (tasks != 1)
            snprintf (own, sizeof (own), tasks ? ":%d" : ":rest", tasks);
        snprintf (item, sizeof (item), "%s%s", list->item[i].role, i == changed ? count : own);
        list_text_add (&text, item);
    }
    list_text_end (&text);
    return text.more;
}

const char *tasklist_describe (const struct tasklist *list, char *buf, size_t size)
{
    _print_list (list, list->length, "", buf, size);
    return buf;
}

bool tasklist_fit (const struct tasklist *list, const char *role, int ntasks, struct tasklist_fit *fit)
{
    size_t run = list->length;
    char count[16] = "";
    int wanted;

    for (size_t i = 0; i < list->length; i = _end_of_run (list, i))
        if (strcmp (list->item[i].role, role) == 0)
            run = i;
    if (list->rest || run == list->length || (wanted = _count_run (list, run) + ntasks - list->named) < 1)
        return false;
    if (wanted > 1)
        snprintf (count, sizeof (count), ":%d", wanted);
    return _print_list (list, run, count, fit->now, sizeof (fit->now)) == 0
           && _print_list (list, run, ":rest", fit->always, sizeof (fit->always)) == 0;
}
