/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "slurm_numbers.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/registration.h"

/* A number that ends a name: longer ones are not counted. */
#define MAX_DIGITS 9
/* Bytes. A longer list, of nodes whose names have no order, stays as Slurm has written it. */
#define MAX_LIST ((size_t)32 * 1024)

/* The nodes that have processes, in the order of their first ones. */
struct nodes {
    const char **name;
    int *processes;     /* of each node */
    int count, most;    /* the most that a node has */
};

static void _clear_nodes (struct nodes *nodes)
{
    free (nodes->name);
    free (nodes->processes);
}

/* -1 if there is no memory. */
static int _find_nodes (struct nodes *nodes, const struct processes *processes, const struct roster *roster)
{
    *nodes = (struct nodes){
        .name = calloc ((size_t)processes->count, sizeof (*nodes->name)),
        .processes = calloc ((size_t)processes->count, sizeof (*nodes->processes)),
    };
    if (!nodes->name || !nodes->processes)
        return -1;
    EACH_RANK (rank, roster) {
        const struct process_place *place = &processes->place[rank->number];

        if (place->local > 0 || place->locals == 0)
            continue;
        nodes->name[place->group] = rank->node;
        nodes->processes[place->group] = place->locals;
        nodes->count++;
        nodes->most = place->locals > nodes->most ? place->locals : nodes->most;
    }
    return 0;
}

/* Where the number begins that ends a name. */
static const char *_digits (const char *name)
{
    const char *end = name + strlen (name), *digits = end;

    while (digits > name && end - digits < MAX_DIGITS && isdigit ((unsigned char)digits[-1]))
        digits--;
    return digits;
}

/* "n10" follows "n9", and "n010" follows "n009". */
static bool _follows (const char *name, const char *former)
{
    const char *digits = _digits (former);
    char expected[REGISTRATION_MAX_NODE + 2];

    if (!*digits)
        return false;
    snprintf (expected, sizeof (expected), "%.*s%0*ld", (int)(digits - former), former, (int)strlen (digits),
              strtol (digits, NULL, 10) + 1);
    return strcmp (name, expected) == 0;
}

/* As Slurm writes lists of nodes: "n[1-3],m7". */
static void _print_node_names (FILE *f, const struct nodes *nodes)
{
    for (int i = 0, last; i < nodes->count; i = last + 1) {
        const char *name = nodes->name[i], *digits = _digits (name);

        for (last = i; last + 1 < nodes->count && _follows (nodes->name[last + 1], nodes->name[last]);)
            last++;
        if (last > i)
            fprintf (f, "%s%.*s[%s-%s]", i ? "," : "", (int)(digits - name), name, digits,
                     _digits (nodes->name[last]));
        else
            fprintf (f, "%s%s", i ? "," : "", name);
    }
}

/* As Slurm writes them: "2(x3),1". */
static void _print_processes (FILE *f, const struct nodes *nodes)
{
    for (int i = 0, next; i < nodes->count; i = next) {
        for (next = i + 1; next < nodes->count && nodes->processes[next] == nodes->processes[i];)
            next++;
        fprintf (f, "%s%d", i ? "," : "", nodes->processes[i]);
        if (next > i + 1)
            fprintf (f, "(x%d)", next - i);
    }
}

/* mmengine gives the list to a shell, so a node must not be able to write a command into it. */
static bool _are_names (const struct nodes *nodes)
{
    for (int i = 0; i < nodes->count; i++)
        for (const char *c = nodes->name[i]; *c; c++)
            if (!isalnum ((unsigned char)*c) && !strchr ("-._", *c))
                return false;
    return true;
}

/* The list as the value of both variables, unless it is too long. -1 if there is no memory. */
static int _add_list (FILE *f, const char *const variable[2], void (*print) (FILE *, const struct nodes *),
                      const struct nodes *nodes)
{
    char *list = NULL;
    size_t length = 0;
    FILE *of_list = open_memstream (&list, &length);
    int rc = -1;

    if (of_list) {
        print (of_list, nodes);
        rc = fclose (of_list);
    }
    for (int i = 0; rc == 0 && length <= MAX_LIST && i < 2; i++)
        fprintf (f, "%s=%s%c", variable[i], list, '\0');
    free (list);
    return rc;
}

static int _add_all (FILE *f, const struct nodes *nodes, int tasks)
{
    static const char *const of_tasks[] = { "SLURM_NTASKS", "SLURM_NPROCS", "SLURM_STEP_NUM_TASKS" };
    static const char *const of_nodes[] = { "SLURM_NNODES", "SLURM_STEP_NUM_NODES" };
    static const char *const node_tasks[] = { "SLURM_TASKS_PER_NODE", "SLURM_STEP_TASKS_PER_NODE" };
    static const char *const names[] = { "SLURM_NODELIST", "SLURM_STEP_NODELIST" };

    for (size_t i = 0; i < sizeof (of_tasks) / sizeof (of_tasks[0]); i++)
        fprintf (f, "%s=%d%c", of_tasks[i], tasks, '\0');
    for (size_t i = 0; i < sizeof (of_nodes) / sizeof (of_nodes[0]); i++)
        fprintf (f, "%s=%d%c", of_nodes[i], nodes->count, '\0');
    fprintf (f, "SLURM_NTASKS_PER_NODE=%d%c", nodes->most, '\0');
    if (_add_list (f, node_tasks, _print_processes, nodes) < 0)
        return -1;
    return _are_names (nodes) ? _add_list (f, names, _print_node_names, nodes) : 0;
}

char *slurm_numbers (const struct processes *processes, const struct roster *roster, size_t *length)
{
    struct nodes nodes;
    char *text = NULL;
    FILE *f = NULL;
    int rc = -1;

    if (_find_nodes (&nodes, processes, roster) == 0 && (f = open_memstream (&text, length)))
        rc = _add_all (f, &nodes, processes->count);
    _clear_nodes (&nodes);
    if (f && fclose (f) == 0 && rc == 0)
        return text;
    free (text);
    return NULL;
}
