/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "layout.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNKNOWN (-1)
#define MAX_NODES 65536
#define MAX_NODE_NAME 255

struct node {
    char *name;         /* as one of its ranks told, else as the step's list has it */
    bool told;
    int tasks;          /* as Slurm said; UNKNOWN before */
    int here;           /* ranks known to be here */
};

struct layout {
    int tasks;
    int *known;         /* by rank: an index into node[], or UNKNOWN */
    int *guess;         /* the same, where known says UNKNOWN */
    struct node *node;
    int nodes;
    bool step;          /* names and tasks of all nodes are there */
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

/* Make node[] reach up to `index`. */
static bool _room_for (struct node **node, int *nodes, int index)
{
    struct node *grown;

    if (index < *nodes)
        return true;
    if (index >= MAX_NODES || !(grown = realloc (*node, (size_t)(index + 1) * sizeof (*grown))))
        return false;
    for (int i = *nodes; i <= index; i++)
        grown[i] = (struct node){ .tasks = UNKNOWN };
    *node = grown;
    *nodes = index + 1;
    return true;
}

static void _put (struct layout *layout, int rank, int node_index)
{
    if (rank >= layout->tasks || layout->known[rank] != UNKNOWN)
        return;
    layout->known[rank] = node_index;
    layout->node[node_index].here++;
}

void layout_add (struct layout *layout, int rank, int node_index, const char *name)
{
    struct node *node;

    if (!_room_for (&layout->node, &layout->nodes, node_index))
        return;
    node = &layout->node[node_index];
    if (!node->told) {
        free (node->name);
        node->name = strdup (name);
        node->told = true;
    }
    _put (layout, rank, node_index);
}

void layout_add_node_ranks (struct layout *layout, int node_index, const char *ranks)
{
    char *end;

    if (!_room_for (&layout->node, &layout->nodes, node_index))
        return;
    for (const char *p = ranks; isdigit ((unsigned char)*p); p = end + 1) {
        long rank = strtol (p, &end, 10);

        if (rank < layout->tasks)
            _put (layout, (int)rank, node_index);
        if (*end != ',')
            return;
    }
}

/* The step's nodes while their list is read. */
struct listed {
    struct node *node;
    int nodes;
    char name[MAX_NODE_NAME + 1];       /* the one that is being put together */
};

static bool _list_name (struct listed *listed)
{
    int next = listed->nodes;

    if (!_room_for (&listed->node, &listed->nodes, next))
        return false;
    return (listed->node[next].name = strdup (listed->name)) != NULL;
}

static bool _expand (struct listed *listed, size_t used, const char *word, const char *end);

/* One item between brackets: a number or a range, with its leading zeros. */
static bool _expand_numbers (struct listed *listed, size_t used, const char **item,
                             const char *rest, const char *end)
{
    char *stop;
    long low, high;
    int width;

    if (!isdigit ((unsigned char)**item))
        return false;
    low = high = strtol (*item, &stop, 10);
    width = (int)(stop - *item);
    if (*stop == '-' && isdigit ((unsigned char)stop[1]))
        high = strtol (stop + 1, &stop, 10);
    if (width > 9 || high < low || high - low > MAX_NODES)
        return false;
    for (long n = low; n <= high; n++) {
        int digits = snprintf (listed->name + used, sizeof (listed->name) - used, "%0*ld", width,
                               n);

        if (used + (size_t)digits > MAX_NODE_NAME
            || !_expand (listed, used + (size_t)digits, rest, end))
            return false;
    }
    *item = stop;
    return true;
}

/*
 * Expand one word of a host list into names: what stands before a bracket, each of the
 * numbers in it, and so on with the text behind it.
 */
static bool _expand (struct listed *listed, size_t used, const char *word, const char *end)
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
        if (!_expand (listed, 0, word, end))
            return false;
        if (*end == '\0')
            return true;
    }
}

/* "2(x3),1": tasks of each node in turn, which must come to those of the step. */
static bool _list_tasks (struct listed *listed, const char *node_tasks, int step_tasks)
{
    int next = 0;
    long sum = 0;

    for (const char *p = node_tasks;; p++) {
        char *end;
        long tasks = strtol (p, &end, 10), times = 1;

        if (end == p || tasks < 0 || tasks > step_tasks)
            return false;
        if (strncmp (end, "(x", 2) == 0) {
            times = strtol (end + 2, &end, 10);
            if (*end++ != ')')
                return false;
        }
        for (; times > 0; times--) {
            if (next == listed->nodes || sum > step_tasks)
                return false;
            listed->node[next++].tasks = (int)tasks;
            sum += tasks;
        }
        if (*end == '\0')
            return next == listed->nodes && sum == step_tasks;
        if (*end != ',')
            return false;
        p = end;
    }
}

/* Does the list agree with what nodes' own ranks told? */
static bool _agrees (const struct layout *layout, const struct listed *listed)
{
    if (layout->nodes > listed->nodes)
        return false;
    for (int i = 0; i < layout->nodes; i++)
        if (layout->node[i].told && layout->node[i].name
            && strcmp (layout->node[i].name, listed->node[i].name) != 0)
            return false;
    return true;
}

void layout_add_step (struct layout *layout, const char *nodes, const char *node_tasks)
{
    struct listed listed = { 0 };

    if (layout->step)
        return;
    layout->step = _list_names (&listed, nodes)
                   && _list_tasks (&listed, node_tasks, layout->tasks)
                   && _agrees (layout, &listed);
    if (!layout->step) {
        _free_nodes (listed.node, listed.nodes);
        return;
    }
    for (int i = 0; i < layout->nodes; i++) {
        listed.node[i].told = layout->node[i].told;
        listed.node[i].here = layout->node[i].here;
    }
    _free_nodes (layout->node, layout->nodes);
    layout->node = listed.node;
    layout->nodes = listed.nodes;
}

/*
 * Deal all ranks out to all nodes, a node's share at once (block) or one to each in turn
 * (cyclic), into guess[]. False when what is known contradicts it.
 */
static bool _deal (struct layout *layout, bool cyclic)
{
    int *left = malloc ((size_t)layout->nodes * sizeof (int));
    int node = 0;
    bool fits = left != NULL;

    for (int i = 0; fits && i < layout->nodes; i++)
        left[i] = layout->node[i].tasks;
    for (int rank = 0; fits && rank < layout->tasks; rank++) {
        if (cyclic && rank)
            node = (node + 1) % layout->nodes;
        while (left[node] == 0)
            node = (node + 1) % layout->nodes;
        left[node]--;
        layout->guess[rank] = node;
        if (layout->known[rank] == UNKNOWN)
            fits = layout->node[node].here < layout->node[node].tasks;
        else
            fits = layout->known[rank] == node;
    }
    free (left);
    return fits;
}

void layout_guess (struct layout *layout)
{
    int short_nodes = 0, one = UNKNOWN;

    for (int i = 0; layout->step && i < layout->nodes; i++)
        if (layout->node[i].here < layout->node[i].tasks) {
            short_nodes++;
            one = i;
        }
    if (short_nodes > 1 && (_deal (layout, false) || _deal (layout, true)))
        return;
    for (int rank = 0; rank < layout->tasks; rank++)
        layout->guess[rank] = short_nodes == 1 ? one : UNKNOWN;
}

const char *layout_node (const struct layout *layout, int rank)
{
    int node = layout->known[rank] != UNKNOWN ? layout->known[rank] : layout->guess[rank];

    return node == UNKNOWN ? NULL : layout->node[node].name;
}
