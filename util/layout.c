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
    char *name;
    int tasks;          /* as Slurm said; UNKNOWN before */
    int here;           /* ranks known to be here */
};

struct layout {
    int tasks;
    int *rank_node;     /* by rank: an index into node[], or UNKNOWN */
    struct node *node;
    int nodes;
    bool step;          /* names and tasks of all nodes are known */
};

struct layout *layout_create (int tasks)
{
    struct layout *layout = calloc (1, sizeof (*layout));

    if (!layout)
        return NULL;
    layout->tasks = tasks;
    if (!(layout->rank_node = malloc ((size_t)tasks * sizeof (int)))) {
        free (layout);
        return NULL;
    }
    for (int i = 0; i < tasks; i++)
        layout->rank_node[i] = UNKNOWN;
    return layout;
}

void layout_destroy (struct layout *layout)
{
    if (!layout)
        return;
    for (int i = 0; i < layout->nodes; i++)
        free (layout->node[i].name);
    free (layout->node);
    free (layout->rank_node);
    free (layout);
}

static bool _room_for (struct layout *layout, int nodes)
{
    struct node *node;

    if (nodes <= layout->nodes)
        return true;
    if (nodes > MAX_NODES || !(node = realloc (layout->node, (size_t)nodes * sizeof (*node))))
        return false;
    for (int i = layout->nodes; i < nodes; i++)
        node[i] = (struct node){ .tasks = UNKNOWN };
    layout->node = node;
    layout->nodes = nodes;
    return true;
}

static void _put (struct layout *layout, int rank, int node_index)
{
    if (rank >= layout->tasks || layout->rank_node[rank] != UNKNOWN)
        return;
    layout->rank_node[rank] = node_index;
    layout->node[node_index].here++;
}

void layout_add (struct layout *layout, int rank, int node_index, const char *node)
{
    if (!_room_for (layout, node_index + 1))
        return;
    if (!layout->node[node_index].name)
        layout->node[node_index].name = strdup (node);
    _put (layout, rank, node_index);
}

void layout_add_node_ranks (struct layout *layout, int node_index, const char *ranks)
{
    char *end;

    if (!_room_for (layout, node_index + 1))
        return;
    for (const char *p = ranks; isdigit ((unsigned char)*p); p = end + 1) {
        long rank = strtol (p, &end, 10);

        if (rank < layout->tasks)
            _put (layout, (int)rank, node_index);
        if (*end != ',')
            return;
    }
}

/* The next node's name was found: keep it unless a rank of that node has told it. */
static bool _name (struct layout *layout, int *next, const char *name)
{
    if (!_room_for (layout, *next + 1))
        return false;
    if (!layout->node[*next].name)
        layout->node[*next].name = strdup (name);
    else if (strcmp (layout->node[*next].name, name) != 0)
        return false;
    (*next)++;
    return true;
}

/*
 * Expand one word of a host list into names: what stands before a bracket, each of its
 * numbers with its leading zeros, and so on with the text behind it.
 */
static bool _expand (struct layout *layout, int *next, char *name, size_t used,
                     const char *word, const char *end)
{
    const char *open = memchr (word, '[', (size_t)(end - word));
    size_t plain = (size_t)((open ? open : end) - word);
    const char *p;

    if (used + plain > MAX_NODE_NAME)
        return false;
    memcpy (name + used, word, plain);
    used += plain;
    name[used] = '\0';
    if (!open)
        return _name (layout, next, name);

    const char *close = memchr (open, ']', (size_t)(end - open));

    if (!close)
        return false;
    for (p = open + 1; p < close; p++) {
        char *stop;
        long low = strtol (p, &stop, 10), high = low;
        int width = (int)(stop - p);

        if (stop == p || width > 9)
            return false;
        if (*stop == '-')
            high = strtol (stop + 1, &stop, 10);
        if (stop > close || (*stop != ',' && stop != close) || high - low > MAX_NODES)
            return false;
        for (long n = low; n <= high; n++) {
            int digits = snprintf (name + used, MAX_NODE_NAME + 1 - used, "%0*ld", width, n);

            if (used + (size_t)digits > MAX_NODE_NAME
                || !_expand (layout, next, name, used + (size_t)digits, close + 1, end))
                return false;
        }
        p = stop;
    }
    return true;
}

static int _add_names (struct layout *layout, const char *nodes)
{
    char name[MAX_NODE_NAME + 1];
    int next = 0;

    for (const char *word = nodes, *end;; word = end + 1) {
        int depth = 0;

        for (end = word; *end && (*end != ',' || depth); end++)
            depth += (*end == '[') - (*end == ']');
        if (!_expand (layout, &next, name, 0, word, end))
            return UNKNOWN;
        if (*end == '\0')
            return next;
    }
}

static int _add_tasks (struct layout *layout, const char *node_tasks)
{
    int next = 0, sum = 0;

    for (const char *p = node_tasks;; p++) {
        char *end;
        long tasks = strtol (p, &end, 10), times = 1;

        if (end == p || tasks < 0 || tasks > layout->tasks)
            return UNKNOWN;
        if (strncmp (end, "(x", 2) == 0) {
            times = strtol (end + 2, &end, 10);
            if (*end++ != ')')
                return UNKNOWN;
        }
        while (times-- > 0) {
            if (next >= layout->nodes)
                return UNKNOWN;
            layout->node[next++].tasks = (int)tasks;
            sum += (int)tasks;
        }
        if (*end == '\0')
            return sum == layout->tasks ? next : UNKNOWN;
        if (*end != ',')
            return UNKNOWN;
        p = end;
    }
}

void layout_add_step (struct layout *layout, const char *nodes, const char *node_tasks)
{
    int named;

    if (layout->step)
        return;
    named = _add_names (layout, nodes);
    layout->step = named != UNKNOWN && named == layout->nodes
                   && _add_tasks (layout, node_tasks) == named;
}

/*
 * Deal all ranks out to all nodes, a node's share at once (block) or one to each in turn
 * (cyclic). False when what is known contradicts it; `fill` keeps the result.
 */
static bool _deal (struct layout *layout, bool cyclic, bool fill)
{
    int *left = malloc ((size_t)layout->nodes * sizeof (int));
    bool fits = left != NULL;
    int node = 0;

    for (int i = 0; fits && i < layout->nodes; i++)
        left[i] = layout->node[i].tasks;
    for (int rank = 0; fits && rank < layout->tasks; rank++) {
        if (cyclic && rank)
            node = (node + 1) % layout->nodes;
        while (left[node] == 0)
            node = (node + 1) % layout->nodes;
        left[node]--;
        if (fill)
            _put (layout, rank, node);
        else if (layout->rank_node[rank] == UNKNOWN
                 ? layout->node[node].here == layout->node[node].tasks
                 : layout->rank_node[rank] != node)
            fits = false;
    }
    free (left);
    return fits;
}

void layout_complete (struct layout *layout)
{
    int short_nodes = 0, last = UNKNOWN;

    if (!layout->step)
        return;
    for (int i = 0; i < layout->nodes; i++)
        if (layout->node[i].here < layout->node[i].tasks) {
            short_nodes++;
            last = i;
        }
    if (short_nodes == 1)
        for (int rank = 0; rank < layout->tasks; rank++)
            _put (layout, rank, last);
    else if (short_nodes > 1 && _deal (layout, false, false))
        _deal (layout, false, true);
    else if (short_nodes > 1 && _deal (layout, true, false))
        _deal (layout, true, true);
}

const char *layout_node (const struct layout *layout, int rank)
{
    int node = layout->rank_node[rank];

    return node == UNKNOWN ? NULL : layout->node[node].name;
}

const char *layout_short_node (const struct layout *layout, int i)
{
    for (int node = 0; layout->step && node < layout->nodes; node++)
        if (layout->node[node].here < layout->node[node].tasks && i-- == 0)
            return layout->node[node].name;
    return NULL;
}
