/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "overview.h"

#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "exit_report.h"
#include "life_report.h"

static const char *const asks_name[] = { [OVERVIEW_ASKS_STEP] = "step", [OVERVIEW_ASKS_RANKS] = "ranks" };

const char *const overview_phase_name[] = {
    [OVERVIEW_LAUNCHES] = "launching",  [OVERVIEW_STARTS] = "starting", [OVERVIEW_RUNS] = "running",
    [OVERVIEW_REPEATS] = "repeating",   [OVERVIEW_TRAINS] = "training", [OVERVIEW_RESTARTS] = "restarting",
    [OVERVIEW_SUSPENDED] = "suspended", [OVERVIEW_ENDS] = "ending",
};

const char *const overview_state_name[] = {
    [OVERVIEW_RANK_MISSING] = "missing",    [OVERVIEW_RANK_REGISTERED] = "registered",
    [OVERVIEW_RANK_BEGINS] = "starting",    [OVERVIEW_RANK_RUNS] = "running",
    [OVERVIEW_RANK_HUNG] = "hung",          [OVERVIEW_RANK_STOPPING] = "stopping",
    [OVERVIEW_RANK_WAITS] = "waiting",      [OVERVIEW_RANK_ENDED] = "ended",
    [OVERVIEW_RANK_SILENT] = "unreachable", [OVERVIEW_RANK_LOST] = "lost",
    [OVERVIEW_RANK_SPARE] = "spare",        [OVERVIEW_RANK_REPLACED] = "replaced",
};

/* clang-format off */
#define MESSAGE struct overview_question

static const struct field question[] = {
    FIELD ("ASKS", asks, NAME, FIELD_NEEDED, 0, OVERVIEW_ASKS_RANKS, .names = asks_name),
};
#undef MESSAGE

#define MESSAGE struct overview_times
#define SECONDS(key, member) FIELD (key, member, NUMBER, FIELD_OPTIONAL, 0, OVERVIEW_MAX_SECONDS)

static const struct field times[] = {
    SECONDS ("LAUNCH_S", launch),
    SECONDS ("PREFLIGHT_S", preflight),
    SECONDS ("STARTING_S", starting),
    SECONDS ("WAITING_S", waiting),
    SECONDS ("REPEATED_S", repeated),
    SECONDS ("PROGRESS_S", progress),
    SECONDS ("NOTICING_S", noticing),
    SECONDS ("PAUSING_S", pausing),
    SECONDS ("SUSPENDED_S", suspended),
};
static const struct fields times_fields = FIELDS ("an overview", times);
#undef MESSAGE

#define MESSAGE struct overview

static const struct field row[] = {
    FIELD ("JOB_STEP", job_step, TEXT, FIELD_NEEDED),
    FIELD ("ARRAY", array, TEXT, FIELD_OPTIONAL),
    FIELD ("USER", user, TEXT, FIELD_OPTIONAL),
    FIELD ("JOB_NAME", job_name, TEXT, FIELD_OPTIONAL),
    FIELD ("SRUN_HOST", srun_host, TEXT, FIELD_OPTIONAL),
    FIELD ("PHASE", phase, NAME, FIELD_NEEDED, 0, OVERVIEW_ENDS, .names = overview_phase_name),
    FIELD ("RANKS", ranks, NUMBER, FIELD_OPTIONAL, 0, INT_MAX),
    FIELD ("MISSING", missing, NUMBER, FIELD_OPTIONAL, 0, INT_MAX),
    SECONDS ("ELAPSED_S", elapsed),
    FIELD ("STEP", step, NUMBER, FIELD_OPTIONAL, 0, SIGNS_MAX_STEP),
    FIELD ("HIGHEST_STEP", highest, NUMBER, FIELD_OPTIONAL, 0, SIGNS_MAX_STEP),
    FIELD ("RATE", rate, NUMBER, FIELD_OPTIONAL, 0, INT_MAX),
    SECONDS ("RATE_S", rate_seconds),
    FIELD ("RATE_BEFORE", rate_before, NUMBER, FIELD_OPTIONAL, 0, INT_MAX),
    SECONDS ("SLOWER_S", slower),
    FIELD ("RESTARTS", restarts, NUMBER, FIELD_OPTIONAL, 0, INT_MAX),
    FIELD ("RESTARTS_LEFT", restarts_left, NUMBER, FIELD_OPTIONAL, 0, INT_MAX, .absent = -1),
    FIELD ("REPEATED_STEPS", repeated_steps, NUMBER, FIELD_OPTIONAL, 0, INT_MAX),
    FIELD_ROWS_AT (times, times_fields),
    FIELD ("TIME_REPORT", report, TEXT, FIELD_OPTIONAL),
    FIELD ("ROWS", rows, NUMBER, FIELD_OPTIONAL, 0, INT_MAX),
};
#undef MESSAGE

#define MESSAGE struct overview_rank

static const struct field rank[] = {
    FIELD ("RANK", rank, NUMBER, FIELD_NEEDED, 0, INT_MAX),
    FIELD ("STATE", state, NAME, FIELD_NEEDED, 0, OVERVIEW_RANK_REPLACED, .names = overview_state_name),
    FIELD ("ROLE", role, TEXT, FIELD_OPTIONAL),
    FIELD ("INDEX", index, NUMBER, FIELD_OPTIONAL, 0, INT_MAX),
    FIELD ("NODE", node, TEXT, FIELD_OPTIONAL),
    FIELD ("STEP", step, NUMBER, FIELD_OPTIONAL, 0, SIGNS_MAX_STEP),
    FIELD ("SIGNS", source, NAME, FIELD_OPTIONAL, 0, SIGNS_DONE, .names = signs_source_name),
    FIELD ("SIGN_AGE_S", sign_age, NUMBER, FIELD_OPTIONAL, 0, OVERVIEW_MAX_SECONDS, .absent = -1),
    FIELD ("TOLD_AGE_S", told_age, NUMBER, FIELD_OPTIONAL, 0, OVERVIEW_MAX_SECONDS, .absent = -1),
    FIELD ("UNHEARD_S", unheard, NUMBER, FIELD_OPTIONAL, 0, OVERVIEW_MAX_SECONDS, .absent = -1),
    FIELD ("LIVES_BEFORE", restarts, NUMBER, FIELD_OPTIONAL, 0, LIFE_REPORT_MAX),
    FIELD ("EXIT_CODE", code, NUMBER, FIELD_OPTIONAL, 0, EXIT_REPORT_MAX_CODE),
    FIELD ("END", end, TEXT, FIELD_OPTIONAL),
    FIELD ("STATUS", words, TEXT, FIELD_OPTIONAL),
};
#undef MESSAGE
/* clang-format on */

const struct fields overview_question_fields = FIELDS ("a question", question);
const struct fields overview_fields = FIELDS ("an overview", row);
const struct fields overview_rank_fields = FIELDS ("an overview of a rank", rank);

#define NAME_BEGIN "@spank_tf/overview/"

socklen_t overview_address (struct sockaddr_un *address, uid_t uid, uint64_t number)
{
    int length;

    *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    length =
        snprintf (address->sun_path, sizeof (address->sun_path), NAME_BEGIN "%u/%016" PRIx64, uid, number);
    /* The first byte of an abstract name is NUL; /proc/net/unix shows it as "@". */
    address->sun_path[0] = '\0';
    return (socklen_t)(offsetof (struct sockaddr_un, sun_path) + (size_t)length);
}

bool overview_name_parse (const char *name, uid_t *uid, uint64_t *number)
{
    int end = 0;

    /* NOLINTNEXTLINE(cert-err34-c): who asks this name looks who its owner is. */
    if (sscanf (name, NAME_BEGIN "%10u/%16" SCNx64 "%n", uid, number, &end) != 2)
        return false;
    return name[end] == '\0';
}
