/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/number.h"

#define MAX_NODE_NAME 255
/* Digits of a number in a host list, with leading zeros. */
#define MAX_DIGITS 9
#define MAX_NUMBER 999999999

/* The nodes of the step, while their list is read. */
struct list {
    struct layout layout;
    int most;                           /* each node has a task, so there are at most so many */
    char name[MAX_NODE_NAME + 1];       /* the name that is being put together */
};

static bool _add_name (struct list *list)
{
    struct layout *layout = &list->layout;

    /* gcc -fanalyzer is wrong: the node keeps its name. */
    if (layout->nodes == list->most || !(layout->node[layout->nodes].name = strdup (list->name)))
        return false;
    layout->nodes++;
    return true;
}

static bool _expand_word (struct list *list, size_t used, const char *word, const char *end);

/* Parse "7" or "1-3" at *item and move *item behind it; *width is the width of the first number. */
static bool _parse_numbers (const char **item, int *low, int *high, int *width)
{
    const char *p = *item, *behind_dash;

    *low = *high = number_scan (&p, MAX_NUMBER);
    *width = (int)(p - *item);
    behind_dash = p + 1;
    if (*p == '-' && (*high = number_scan (&behind_dash, MAX_NUMBER)) >= 0)
        p = behind_dash;
    *item = p;
    return *low >= 0 && *width <= MAX_DIGITS && *high >= *low;
}

/* Expand one item between brackets, a number or a range, and the text behind the brackets. */
static bool _expand_numbers (struct list *list, size_t used, const char **item, const char *rest,
                             const char *end)
{
    int low, high, width;

    if (!_parse_numbers (item, &low, &high, &width))
        return false;
    for (int n = low; n <= high; n++) {
        int digits = snprintf (list->name + used, sizeof (list->name) - used, "%0*d", width, n);

        if (used + (size_t)digits > MAX_NODE_NAME || !_expand_word (list, used + (size_t)digits, rest, end))
            return false;
    }
    return true;
}

/*
 * Expand one word of a host list into names: the text before a bracket, with each of the numbers
 * in the brackets, with the expanded text behind them.
 */
static bool _expand_word (struct list *list, size_t used, const char *word, const char *end)
{
    const char *open = memchr (word, '[', (size_t)(end - word));
    size_t plain = (size_t)((open ? open : end) - word);
    const char *close;

    if (used + plain > MAX_NODE_NAME)
        return false;
    memcpy (list->name + used, word, plain);
    used += plain;
    list->name[used] = '\0';
    if (!open)
        return used > 0 && _add_name (list);
    if (!(close = memchr (open, ']', (size_t)(end - open))))
        return false;
    for (const char *item = open + 1;; item++) {
        if (!_expand_numbers (list, used, &item, close + 1, end))
            return false;
        if (item == close)
            return true;
        if (*item != ',')
            return false;
    }
}

static bool _list_names (struct list *list, const char *nodes)
{
    for (const char *word = nodes, *end;; word = end + 1) {
        bool inside = false;

        for (end = word; *end && (*end != ',' || inside); end++)
            inside = *end == '[' || (inside && *end != ']');
        if (!_expand_word (list, 0, word, end))
            return false;
        if (*end == '\0')
            return true;
    }
}

/* Parse "2" or "2(x3)" at *text and move *text behind it. */
static bool _parse_tasks (const char **text, int max_tasks, int *tasks, int *times)
{
    *times = 1;
    if ((*tasks = number_scan (text, max_tasks)) < 0 || *tasks > max_tasks)
        return false;
    if (strncmp (*text, "(x", 2) != 0)
        return true;
    *text += 2;
    if ((*times = number_scan (text, MAX_NUMBER)) < 0 || **text != ')')
        return false;
    ++*text;
    return true;
}

/* "2(x3),1": the number of tasks on each node. Their sum must be that of the step. */
static bool _list_tasks (struct list *list, const char *node_tasks, int step_tasks)
{
    int next = 0, sum = 0, tasks, times;

    for (const char *p = node_tasks;; p++) {
        if (!_parse_tasks (&p, step_tasks, &tasks, &times))
            return false;
        for (; times > 0; times--) {
            if (next == list->layout.nodes || sum > step_tasks)
                return false;
            list->layout.node[next++].tasks = tasks;
            sum += tasks;
        }
        if (*p == '\0')
            return next == list->layout.nodes && sum == step_tasks;
        if (*p != ',')
            return false;
    }
}

void layout_set (struct layout *layout, int tasks, const char *nodes, const char *node_tasks)
{
    struct list list = { .most = tasks };

    if (layout->node || !(list.layout.node = calloc ((size_t)tasks, sizeof (*list.layout.node))))
        return;
    if (_list_names (&list, nodes) && _list_tasks (&list, node_tasks, tasks))
        *layout = list.layout;
    else
        layout_clear (&list.layout);
}

void layout_clear (struct layout *layout)
{
    for (int i = 0; i < layout->nodes; i++)
        free (layout->node[i].name);
    free (layout->node);
    *layout = (struct layout){ .nodes = 0 };
}
