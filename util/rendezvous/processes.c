/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "processes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/rules.h"

static bool _leads (const struct rank *rank)
{
    return rules_is_chief (rank->kind);
}

static bool _works (const struct rank *rank)
{
    return rank->kind == RULES_WORKER;
}

/* If process 0 is not a worker, the workers begin with 1. */
int processes_number (const struct processes *processes, const struct roster *roster,
                      const struct rank *rank)
{
    if (processes->count > 0 && _leads (rank))
        return 0;
    if (processes->count == 0 || !_works (rank))
        return -1;
    return rank->index + _leads (&roster->rank[processes->coordinator]);
}

/* A component of a heterogeneous step has an SLURM_NTASKS of its own. */
static bool _are_ranks (const struct processes *processes, const struct roster *roster)
{
    for (int i = 0; i < roster->tasks; i++)
        if (processes_number (processes, roster, &roster->rank[i]) != i
            || roster->rank[i].component_tasks != roster->tasks)
            return false;
    return true;
}

void processes_find (struct processes *processes, const struct roster *roster)
{
    int leader = -1, worker = -1, count = 0;

    memset (processes, 0, sizeof (*processes));
    for (int i = 0; i < roster->tasks; i++) {
        const struct rank *rank = &roster->rank[i];

        if (rank->kind == RULES_PS)
            return;
        if (_leads (rank))
            leader = i;
        else if (_works (rank) && rank->index == 0)
            worker = i;
        count += _leads (rank) || _works (rank);
    }
    if (count == 0)
        return;
    processes->count = count;
    processes->coordinator = leader >= 0 ? leader : worker;
    processes->are_ranks = _are_ranks (processes, roster);
}

static void _print_job (FILE *f, char before, const struct rank *rank)
{
    struct address_text room;

    fprintf (f, "%c%s", before, address_print_port (&rank->address, rank->port, &room));
}

char *processes_jobs (const struct processes *processes, const struct roster *roster,
                      size_t *length)
{
    char *text = NULL;
    FILE *f = open_memstream (&text, length);

    if (!f)
        return NULL;
    fputs ("DTENSOR_JOBS", f);
    _print_job (f, '=', &roster->rank[processes->coordinator]);
    for (int i = 0; i < roster->tasks; i++)
        if (processes_number (processes, roster, &roster->rank[i]) > 0)
            _print_job (f, ',', &roster->rank[i]);
    fputc ('\0', f);
    if (fclose (f) == 0)
        return text;
    free (text);
    return NULL;
}
