/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A step as its rendezvous knows it: what srun said of it, the ranks that have come, and,
 * when all are there, the answer to each. No sockets here.
 */
#ifndef TF_STEP_H
#define TF_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

#include "address.h"
#include "errtext.h"
#include "frame.h"
#include "rank.h"

struct step;

/*
 * From srun's frame: STEP its number; HET_GROUP as srun was given it; INHERITED when the
 * list came with the job; HOLD when ports are held; then, under the name of the option that
 * gave it (tf-tasks or tf-tasks-per-node), one list, or one for each component in their
 * order; IB (auto, require), NETWORKS (netlist.h) and NETWORKS_REQUIRED where a user named
 * them; HIDE_GPUS when a ps is to see none;
 * LOG_APPEND when log files that are there are not to begin anew. -1 and err.
 */
int step_create (struct step **sp, const struct frame *configuration, struct errtext *err);
void step_destroy (struct step *step);

const char *step_name (const struct step *step);

/* Its tasks; 0 before the first rank has told. */
int step_tasks (const struct step *step);

enum step_verdict {
    STEP_TAKEN,         /* one more rank is here */
    STEP_STRANGER,      /* that rank is here already, or cannot be: ignore it */
    STEP_REFUSED,       /* err says why the launch cannot succeed any more */
};

/* A rank registers; `srun` is the rendezvous' own end of its connection. */
enum step_verdict step_add (struct step *step, const struct rank *rank,
                            const struct address *srun, struct errtext *err);

/* A rank that was here is gone; it may come again. */
void step_lose (struct step *step, int rank);

/*
 * A rank of a resolved step registers again, because its answer did not arrive: what was
 * settled stays. False when it is not the one that registered before.
 */
bool step_come_again (struct step *step, const struct rank *rank);

/* How many ranks are not here, and how many of those were here once. */
int step_missing (const struct step *step);
int step_lost (const struct step *step);

/* "rank 17 (worker 12) on n9", as far as known. Returns buf. */
const char *step_rank_name (const struct step *step, int rank, char *buf, size_t size);

/* "rank 17 (worker 12) on n9, ...": those not here, or lost; cut after some. Returns buf. */
const char *step_missing_ranks (struct step *step, char *buf, size_t size);
const char *step_lost_ranks (struct step *step, char *buf, size_t size);

/* ", on n9, n10": their nodes, or nothing where they are not known. Returns buf. */
const char *step_missing_nodes (struct step *step, char *buf, size_t size);

/*
 * All ranks are here: roles, addresses and the dictionary, for all of them at once. `own` is
 * this process' host. -1 and err when the step cannot be launched.
 */
int step_resolve (struct step *step, const struct host *own, struct errtext *err);

/* Of a resolved step: a rank's role, and its index within it. */
const char *step_role (const struct step *step, int rank);
int step_index (const struct step *step, int rank);

/* Where master.log goes: the directory of rank 0, or NULL. It lives as long as the step. */
const char *step_log_dir (const struct step *step);

/*
 * Every task will have a supervisor, and `grace` seconds to end after SIGTERM. With `last_words`
 * something will be said when all have ended, for which supervisors wait. -1 and err when a
 * node has no supervisor to start.
 */
int step_supervise (struct step *step, int grace, bool last_words, struct errtext *err);

/*
 * What a user should know of the choices made: the i-th line, NULL beyond the last. It lives as
 * long as the step.
 */
const char *step_notice (const struct step *step, int i);

/* The whole cluster as a table for a terminal, to be freed; NULL when memory ends. */
char *step_table (const struct step *step);

/*
 * The answer to a rank: `head` belongs to the caller, what iov points to lives as long as
 * head and step do.
 */
#define STEP_ANSWER_PARTS 4

struct step_answer {
    struct frame *head;
    char tail[128];
    struct iovec iov[STEP_ANSWER_PARTS];
};

/* -1 when memory ends. */
int step_answer (const struct step *step, int rank, const char *proof,
                 struct step_answer *answer);

#endif
