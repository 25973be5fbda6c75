/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "processes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool _is (const struct member *member, const char *role)
{
    return strcmp (member->role, role) == 0;
}

static bool _leads (const struct member *member)
{
    return _is (member, "chief") || _is (member, "master");
}

/* If process 0 is not a worker, the workers begin with 1. */
int processes_number (const struct processes *processes, const struct roster *roster,
                      const struct member *member)
{
    if (processes->count == 0)
        return -1;
    if (_leads (member))
        return 0;
    if (!_is (member, "worker"))
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

        if (_is (m, "ps"))
            return;
        if (_leads (m))
            leader = rank;
        else if (_is (m, "worker") && m->index == 0)
            worker = rank;
        count += _leads (m) || _is (m, "worker");
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
