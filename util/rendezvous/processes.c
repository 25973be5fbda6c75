/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "processes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/rules.h"

static bool _leads (const struct member *member)
{
    return rules_is_chief (rules_find (member->role));
}

static bool _works (const struct member *member)
{
    return rules_find (member->role) == RULES_WORKER;
}

/* If process 0 is not a worker, the workers begin with 1. */
int processes_number (const struct processes *processes, const struct roster *roster,
                      const struct member *member)
{
    if (processes->count > 0 && _leads (member))
        return 0;
    if (processes->count == 0 || !_works (member))
        return -1;
    return member->index + _leads (&roster->member[processes->coordinator]);
}

/* A component of a heterogeneous step has an SLURM_NTASKS of its own. */
static bool _are_ranks (const struct processes *processes, const struct roster *roster)
{
    for (int rank = 0; rank < roster->tasks; rank++)
        if (processes_number (processes, roster, &roster->member[rank]) != rank
            || roster->member[rank].component_tasks != roster->tasks)
            return false;
    return true;
}

void processes_find (struct processes *processes, const struct roster *roster)
{
    int leader = -1, worker = -1, count = 0;

    memset (processes, 0, sizeof (*processes));
    for (int rank = 0; rank < roster->tasks; rank++) {
        const struct member *m = &roster->member[rank];

        if (rules_find (m->role) == RULES_PS)
            return;
        if (_leads (m))
            leader = rank;
        else if (_works (m) && m->index == 0)
            worker = rank;
        count += _leads (m) || _works (m);
    }
    if (count == 0)
        return;
    processes->count = count;
    processes->coordinator = leader >= 0 ? leader : worker;
    processes->are_ranks = _are_ranks (processes, roster);
}

static void _print_job (FILE *f, char before, const struct member *member)
{
    struct address_text room;

    fprintf (f, "%c%s", before, address_print_port (&member->address, member->port, &room));
}

char *processes_jobs (const struct processes *processes, const struct roster *roster,
                      size_t *length)
{
    char *text = NULL;
    FILE *f = open_memstream (&text, length);

    if (!f)
        return NULL;
    fputs ("DTENSOR_JOBS", f);
    _print_job (f, '=', &roster->member[processes->coordinator]);
    for (int rank = 0; rank < roster->tasks; rank++)
        if (processes_number (processes, roster, &roster->member[rank]) > 0)
            _print_job (f, ',', &roster->member[rank]);
    fputc ('\0', f);
    if (fclose (f) == 0)
        return text;
    free (text);
    return NULL;
}
