/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "slurm_job.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define BEGIN "[spank_tf "
#define END ']'

static const char *const obstacle_name[] = {
    [SLURM_JOB_GOES_ON] = "no",          [SLURM_JOB_SILENT] = "silent",   [SLURM_JOB_NO_SCRIPT] = "no-script",
    [SLURM_JOB_FORBIDS] = "not-allowed", [SLURM_JOB_ENDLESS] = "endless",
};

/* clang-format off */
#define MESSAGE struct past_runs
#define COUNT(key_, member) FIELD (key_, member, NUMBER, FIELD_OPTIONAL, 1, INT_MAX)
static const struct field past_runs[] = {
    FIELD ("RUNS", runs, NUMBER, FIELD_OPTIONAL, 1, INT_MAX - 1),
    COUNT ("STEP", step),
    COUNT ("LAUNCH_S", seconds[0]),
    COUNT ("STARTING_S", seconds[1]),
    COUNT ("WAITING_S", seconds[2]),
    COUNT ("REPEATED_S", seconds[3]),
    COUNT ("PROGRESS_S", seconds[4]),
    COUNT ("NOTICING_S", seconds[5]),
    COUNT ("PAUSING_S", seconds[6]),
    COUNT ("SUSPENDED_S", seconds[7]),
    COUNT ("PREFLIGHT_S", seconds[8]),
    COUNT ("FIRST_S", first),
    COUNT ("REPEATED_STEPS", repeated_steps),
    COUNT ("RESTARTS", restarts),
    FIELD ("SAYS", says, FLAG, FIELD_OPTIONAL),
};
#undef MESSAGE

#define MESSAGE struct slurm_job
static const struct field slurm_job[] = {
    FIELD ("OBSTACLE", obstacle, NAME, FIELD_NEEDED, 0, SLURM_JOB_ENDLESS, .names = obstacle_name),
    FIELD ("LEFT", left, NUMBER, FIELD_OPTIONAL, 1, INT_MAX),
    FIELD ("ERROR", error, LINE, FIELD_TOLERANT, 0, SLURM_JOB_MAX_ERROR),
    FIELD_PART_AT (runs, past_runs_fields),
};
#undef MESSAGE
/* clang-format on */

const struct fields past_runs_fields = FIELDS ("the runs of a job", past_runs);
const struct fields slurm_job_fields = FIELDS ("a job of Slurm's", slurm_job);

/* Its strings are those of a frame. */
const char *past_runs_print (const struct past_runs *runs, char buf[PAST_RUNS_TEXT])
{
    struct frame *frame = fields_frame (&past_runs_fields, runs);
    int used = snprintf (buf, PAST_RUNS_TEXT, BEGIN);

    for (size_t i = 0; frame && i < past_runs_fields.rows; i++) {
        const char *key = past_runs[i].key, *value = frame_get (frame, key);

        if (value)
            used += snprintf (buf + used, PAST_RUNS_TEXT - (size_t)used, "%s%s=%s", i ? " " : "", key, value);
    }
    snprintf (buf + used, PAST_RUNS_TEXT - (size_t)used, "%c", END);
    frame_destroy (frame);
    return buf;
}

/* Slurm's src/common/slurm_errno.c */
bool slurm_job_is_silence (const char *printed)
{
    return !*printed || strstr (printed, "timed out") || strstr (printed, "Unable to contact");
}

size_t past_runs_find (struct past_runs *runs, const char *comment, const char **begin)
{
    char text[PAST_RUNS_TEXT];
    size_t length;

    *begin = strstr (comment, BEGIN);
    length = *begin ? strcspn (*begin, "]") : 0;
    if (length > 0 && (*begin)[length] == END && length < sizeof (text)) {
        snprintf (text, sizeof (text), "%.*s", (int)(length - strlen (BEGIN)), *begin + strlen (BEGIN));
        if (fields_decode_words (&past_runs_fields, runs, text) == 0 && runs->runs > 0)
            return length + 1;
    }
    *runs = (struct past_runs){ .runs = 0 };
    return 0;
}
