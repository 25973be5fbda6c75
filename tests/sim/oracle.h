/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What promises share: what the documents say of a list, an option or an end, and what a spectator knows at a
 * moment of a history. Nothing here asks the code that is judged.
 */
#ifndef TF_ORACLE_H
#define TF_ORACLE_H

#include "world.h"

/* NOLINTNEXTLINE(bugprone-macro-parentheses): it declares its first argument. */
#define EACH(note, h) for (const struct note *note = (h)->note; note < (h)->note + (h)->notes; note++)

/* What the documents say. */

/* 128 and the signal, or the code. */
int oracle_code (int status);

/* An end that --tf-restart covers. */
bool oracle_covers (const struct plan *plan, int status);

/* Of the cluster, and not an evaluator: one of those that are restarted together. */
bool oracle_is_member (const struct plan *plan, int place);

bool oracle_has (const struct plan *plan, enum rules_name kind);
bool oracle_has_spares (const struct plan *plan);

/* manual, THE END OF A JOB: those that "only serve". */
bool oracle_serves (const struct plan *plan, int place);

/*
 * Between two questions of the kernel: "at most 11" seconds (manual, SPARE TASKS) are two of these, and one
 * more.
 */
int64_t oracle_interval_ms (const struct plan *plan);

/* The first fact of this kind that srun prints; or NULL. */
const struct note *oracle_told (const struct history *h, enum fact_kind kind);

/* The preflight has refused the step. */
bool oracle_is_refused (const struct history *h);

/* Disturbances. */

bool oracle_cuts (enum disturbance_kind kind);
bool oracle_resets (enum disturbance_kind kind);
bool oracle_breaks (enum disturbance_kind kind);
bool oracle_of_slurm (enum disturbance_kind kind);
bool oracle_is_suspension (enum disturbance_kind kind);
bool oracle_is_any (enum disturbance_kind kind);

/* Slurm sends SIGTERM to the step. */
bool oracle_is_sigterm (const struct history *h, const struct note *note);

/* So many of them have begun before. */
int oracle_began (const struct history *h, bool (*is_one) (enum disturbance_kind), int64_t before);

/* A supervisor may be cut off while the job is suspended, and end its task at the resume. */
bool oracle_is_lost_while_suspended (const struct history *h);

/* Nobody may notice this disturbance; all that have begun by then. */
bool oracle_is_harmless (const struct history *h, int number);
bool oracle_is_calm (const struct history *h, int64_t until);

/* This task's slurmstepd was killed. */
bool oracle_loses_slurmstepd (const struct history *h, int rank, int64_t until);

/* Between two moments, without the time in which the job was suspended. */
int64_t oracle_running_ms (const struct history *h, int64_t from, int64_t until);

/* Who is alive. */

struct alive {
    bool program[MOST_RANKS], tree[MOST_RANKS];
    struct note began[MOST_RANKS];
    int isolated[MOST_NODES];
};

void oracle_follow (const struct history *h, struct alive *alive, const struct note *note);

/* Its node reaches others. */
bool oracle_reaches (const struct history *h, const struct alive *alive, int rank);

/* The job, as guide/ending.md and the manual (THE END OF A JOB) say when it is over. */

struct course {
    bool ended[MOST_RANKS], failed[MOST_RANKS]; /* by place, its present life */
    bool covered; /* a failure that is restarted */
    bool hung;
};

void oracle_follow_course (const struct history *h, struct course *course, const struct note *note);
bool oracle_is_over (const struct plan *plan, const struct course *course);

/* Why a promise is broken, until the next time. */
const char *oracle_broken (const struct note *note, const char *what, int rank);
const char *__attribute__ ((format (printf, 1, 2))) oracle_tell (const char *fmt, ...);

#endif
