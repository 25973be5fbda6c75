/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "layout.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/number.h"

#define UNKNOWN (-1)
#define MAX_NODE_NAME 255
/* Digits of a number in a host list, with leading zeros. */
#define MAX_DIGITS 9
#define MAX_NUMBER 999999999

struct node {
    char *name;         /* from a rank's registration, or from the list of the step's nodes */
    bool registered;    /* one of its ranks has */
    int tasks;          /* from the list of the step's nodes, or UNKNOWN */
    int here;           /* ranks that are known to be on this node */
};

struct layout {
    int tasks;
    int *known;         /* by rank: an index into node[], or UNKNOWN */
    int *guess;         /* the same for ranks whose known[] is UNKNOWN */
    struct node *node;
    int nodes;
    bool step;          /* node[] has the names and task counts of all nodes */
};

struct layout *layout_create (int tasks)
{
    struct layout *layout = calloc (1, sizeof (*layout));

    if (!layout)
        return NULL;
    layout->tasks = tasks;
    layout->known = malloc ((size_t)tasks * sizeof (int));
    layout->guess = malloc ((size_t)tasks * sizeof (int));
    if (!layout->known || !layout->guess) {
        layout_destroy (layout);
        return NULL;
    }
    for (int i = 0; i < tasks; i++)
        layout->known[i] = layout->guess[i] = UNKNOWN;
    return layout;
}

static void _free_nodes (struct node *node, int nodes)
{
    for (int i = 0; i < nodes; i++)
        free (node[i].name);
    free (node);
}

void layout_destroy (struct layout *layout)
{
    if (!layout)
        return;
    _free_nodes (layout->node, layout->nodes);
    free (layout->known);
    free (layout->guess);
    free (layout);
}

/* How many elements node[] has for this many nodes: doubled each time, so that adding is cheap. */
static size_t _room (int nodes)
{
    size_t room = 16;

    while (room < (size_t)nodes)
        room *= 2;
    return room;
}

/*
 * Make node[] large enough for `index`. Each node has a task, so there are at most `most`. False
 * if the index is too high or there is no memory.
 */
static bool _room_for (struct node **node, int *nodes, int index, int most)
{
    struct node *grown = *node;

    if (index < *nodes)
        return true;
    if (index >= most)
        return false;
    if ((!grown || _room (index + 1) > _room (*nodes))
        && !(grown = realloc (grown, _room (index + 1) * sizeof (*grown))))
        return false;
    for (int i = *nodes; i <= index; i++)
        grown[i] = (struct node){ .tasks = UNKNOWN };
    *node = grown;
    *nodes = index + 1;
    return true;
}

static void _put_rank (struct layout *layout, int rank, int node_index)
{
    if (rank >= layout->tasks || layout->known[rank] != UNKNOWN)
        return;
    layout->known[rank] = node_index;
    layout->node[node_index].here++;
}

void layout_add (struct layout *layout, int rank, int node_index, const char *name)
{
    struct node *node;

    if (!_room_for (&layout->node, &layout->nodes, node_index, layout->tasks))
        return;
    node = &layout->node[node_index];
    if (!node->registered) {
        free (node->name);
        node->name = strdup (name);
        node->registered = true;
    }
    _put_rank (layout, rank, node_index);
}

void layout_add_node_ranks (struct layout *layout, int node_index, const char *ranks)
{
    int rank;

    if (!_room_for (&layout->node, &layout->nodes, node_index, layout->tasks))
        return;
    while ((rank = number_scan (&ranks, layout->tasks)) >= 0) {
        _put_rank (layout, rank, node_index);
        if (*ranks++ != ',')
            return;
    }
}

/* The nodes of the step, while their list is read. */
struct listed {
    struct node *node;
    int nodes, most;
    char name[MAX_NODE_NAME + 1];       /* the name that is being put together */
};

static bool _list_name (struct listed *listed)
{
    int next = listed->nodes;

    if (!_room_for (&listed->node, &listed->nodes, next, listed->most))
        return false;
    /* gcc -fanalyzer is wrong: the node keeps the name. */
    return (listed->node[next].name = strdup (listed->name)) != NULL;
}

static bool _expand_word (struct listed *listed, size_t used, const char *word, const char *end);

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
static bool _expand_numbers (struct listed *listed, size_t used, const char **item, const char *rest,
                             const char *end)
{
    int low, high, width;

    if (!_parse_numbers (item, &low, &high, &width))
        return false;
    for (int n = low; n <= high; n++) {
        int digits = snprintf (listed->name + used, sizeof (listed->name) - used, "%0*d", width, n);

        if (used + (size_t)digits > MAX_NODE_NAME || !_expand_word (listed, used + (size_t)digits, rest, end))
            return false;
    }
    return true;
}

/*
 * Expand one word of a host list into names: the text before a bracket, with each of the numbers
 * in the brackets, with the expanded text behind them.
 */
static bool _expand_word (struct listed *listed, size_t used, const char *word, const char *end)
{
    const char *open = memchr (word, '[', (size_t)(end - word));
    size_t plain = (size_t)((open ? open : end) - word);
    const char *close;

    if (used + plain > MAX_NODE_NAME)
        return false;
    memcpy (listed->name + used, word, plain);
    used += plain;
    listed->name[used] = '\0';
    if (!open)
        return used > 0 && _list_name (listed);
    if (!(close = memchr (open, ']', (size_t)(end - open))))
        return false;
    for (const char *item = open + 1;; item++) {
        if (!_expand_numbers (listed, used, &item, close + 1, end))
            return false;
        if (item == close)
            return true;
        if (*item != ',')
            return false;
    }
}

static bool _list_names (struct listed *listed, const char *nodes)
{
    for (const char *word = nodes, *end;; word = end + 1) {
        bool inside = false;

        for (end = word; *end && (*end != ',' || inside); end++)
            inside = *end == '[' || (inside && *end != ']');
        if (!_expand_word (listed, 0, word, end))
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
static bool _list_tasks (struct listed *listed, const char *node_tasks, int step_tasks)
{
    int next = 0, sum = 0, tasks, times;

    for (const char *p = node_tasks;; p++) {
        if (!_parse_tasks (&p, step_tasks, &tasks, &times))
            return false;
        for (; times > 0; times--) {
            if (next == listed->nodes || sum > step_tasks)
                return false;
            listed->node[next++].tasks = tasks;
            sum += tasks;
        }
        if (*p == '\0')
            return next == listed->nodes && sum == step_tasks;
        if (*p != ',')
            return false;
    }
}

/* True if the list has the same names as the ranks that have registered. */
static bool _agrees (const struct layout *layout, const struct listed *listed)
{
    if (layout->nodes > listed->nodes)
        return false;
    for (int i = 0; i < layout->nodes; i++)
        if (layout->node[i].registered && layout->node[i].name
            && strcmp (layout->node[i].name, listed->node[i].name) != 0)
            return false;
    return true;
}

void layout_add_step (struct layout *layout, const char *nodes, const char *node_tasks)
{
    struct listed listed = { .most = layout->tasks };

    if (layout->step)
        return;
    layout->step = _list_names (&listed, nodes) && _list_tasks (&listed, node_tasks, layout->tasks)
                   && _agrees (layout, &listed);
    if (!layout->step) {
        _free_nodes (listed.node, listed.nodes);
        return;
    }
    for (int i = 0; i < layout->nodes; i++) {
        listed.node[i].registered = layout->node[i].registered;
        listed.node[i].here = layout->node[i].here;
    }
    _free_nodes (layout->node, layout->nodes);
    layout->node = listed.node;
    layout->nodes = listed.nodes;
}

/* A node in a ring, which it leaves when all its ranks have been distributed. */
struct free_node {
    int left, next;
};

/*
 * Distribute all ranks over the nodes into guess[]: all ranks of a node at once (block), or one
 * for each node in turn (cyclic). False if that contradicts what is known.
 */
static bool _distribute (struct layout *layout, bool cyclic)
{
    struct free_node *nodes = malloc ((size_t)layout->nodes * sizeof (*nodes));
    int node = 0, before = layout->nodes - 1;
    bool fits = nodes != NULL;

    for (int i = 0; fits && i < layout->nodes; i++)
        nodes[i] = (struct free_node){ layout->node[i].tasks, (i + 1) % layout->nodes };
    for (int rank = 0; fits && rank < layout->tasks; rank++) {
        if (cyclic && rank) {
            before = node;
            node = nodes[node].next;
        }
        while (nodes[node].left == 0)
            node = nodes[before].next = nodes[node].next;
        nodes[node].left--;
        layout->guess[rank] = node;
        if (layout->known[rank] == UNKNOWN)
            fits = layout->node[node].here < layout->node[node].tasks;
        else
            fits = layout->known[rank] == node;
    }
    free (nodes);
    return fits;
}

void layout_guess (struct layout *layout)
{
    int incomplete = 0, node = UNKNOWN;

    for (int i = 0; layout->step && i < layout->nodes; i++)
        if (layout->node[i].here < layout->node[i].tasks) {
            incomplete++;
            node = i;
        }
    if (incomplete > 1 && (_distribute (layout, false) || _distribute (layout, true)))
        return;
    for (int rank = 0; rank < layout->tasks; rank++)
        layout->guess[rank] = incomplete == 1 ? node : UNKNOWN;
}

int layout_node_index (const struct layout *layout, int rank)
{
    return layout->known[rank] != UNKNOWN ? layout->known[rank] : layout->guess[rank];
}

int layout_nodes (const struct layout *layout)
{
    return layout->nodes;
}

const char *layout_node (const struct layout *layout, int rank)
{
    int node = layout_node_index (layout, rank);

    return node == UNKNOWN ? NULL : layout->node[node].name;
}
