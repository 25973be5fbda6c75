/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The first line of the input is an option of sbatch, and the others are a batch script.
 */
#include "config.h"

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "submission.h"

FUZZ_TARGET (submission)
{
    char *text = fuzz_text (data, size), *rest = text, *option = fuzz_line (&rest);
    /* With --wrap sbatch reads no file. */
    const char *script = strncmp (option, "--wrap=", 7) == 0 ? option : rest;
    char *argument[] = { (char[]){ "sbatch" }, option, NULL };
    const struct cmdline line = { COUNT (argument), argument };
    struct submission submission;

    argument[2] = (char *)(uintptr_t)fuzz_file ((const uint8_t *)rest, strlen (rest));
    submission_parse (&submission, &line, 2);
    CHECK (submission.tasks >= 0 && submission.tasks <= 65535);
    CHECK (submission.tasks_per_node >= 0 && submission.tasks_per_node <= 65535);
    CHECK (submission.tasks || !submission.tasks_per_node);
    /* Nothing is known of a heterogeneous job. */
    CHECK (strcmp (option, ":") != 0 || (!submission.tasks && !submission.dies_with_node));
    CHECK (!submission.runs_once
           || (strstr (script, ".py") && !strstr (script, " srun ") && !strstr (script, "<<")));
    free (text);
}
