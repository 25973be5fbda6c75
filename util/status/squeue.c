/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "squeue.h"

#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "common/child.h"

/* slurmctld may be busy. */
#define SQUEUE_MS 30000
/* Of an array, more lines than one. */
#define SQUEUE_MOST 65536

static int _run (void *arg)
{
    char jobs[64];
    const char *const argv[] = { "squeue", "--noheader", "--states=all", jobs, "--Format=" JOB_INFO_FORMAT,
                                 NULL };

    snprintf (jobs, sizeof (jobs), "--jobs=%s", (const char *)arg);
    execvp (argv[0], (char *const *)(uintptr_t)argv);
    return 1;
}

int squeue_find (struct job_info *info, const char *job, struct errtext *err)
{
    static char text[SQUEUE_MOST + 1];
    char copy[64];
    ssize_t length;

    snprintf (copy, sizeof (copy), "%s", job);
    length = child_ask ("squeue", _run, copy, -1, text, SQUEUE_MOST, SQUEUE_MS);
    text[length > 0 ? length : 0] = '\0';
    if (length >= 0 && job_info_parse (info, text))
        return 0;
    return errtext_set (err, "job %s is over, or never was; or squeue fails here", job);
}
