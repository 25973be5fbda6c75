/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The patterns that Slurm replaces in names of output files; see "filename pattern" in srun(1).
 */
#ifndef TF_PATTERN_H
#define TF_PATTERN_H

#include <stddef.h>

#include "errtext.h"

/* The value of each pattern. A pattern whose value is NULL is not replaced. */
struct pattern_values {
    const char *job;            /* %j */
    const char *step;           /* %s; with the job %J */
    const char *node;           /* %N */
    const char *user;           /* %u */
    const char *job_name;       /* %x */
    const char *array_job;      /* %A */
    const char *array_task;     /* %a */
};

/*
 * -1 and err if a text has a percent sign before a letter that is none of these patterns. Slurm's other
 * patterns differ between the tasks of a node or between nodes (%t, %n), or are unknown to it, too.
 */
int pattern_check (const char *text, struct errtext *err);

/*
 * Copy the text into buf and replace its patterns as Slurm does: "%4j" pads a number with zeros
 * (%4J pads the job ID, not the step), "%%" is "%", and a text with a backslash anywhere is
 * copied without its backslashes and without any replacement. -1 and err if buf is too small.
 */
int pattern_expand (const char *text, const struct pattern_values *values, char *buf, size_t size,
                    struct errtext *err);

#endif
