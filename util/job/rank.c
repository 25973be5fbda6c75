/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "rank.h"

/* What is not in the table does not happen, and changes nothing. */
#define SAME (-1)

/* clang-format off */
static const int next[][RANK_INPUTS] = {
    /*                IS_TO_WAIT   IS_KEPT    IS_LOST     IS_DONE     BEGINS     RETURNS */
    [RANK_RUNS] =   { RANK_WAITS,  RANK_KEPT, RANK_LOST,  RANK_ENDED, SAME,      SAME },
    [RANK_SPARE] =  { RANK_WAITS,  RANK_KEPT, RANK_LOST,  RANK_ENDED, SAME,      SAME },
    [RANK_WAITS] =  { SAME,        SAME,      RANK_LOST,  RANK_ENDED, RANK_RUNS, SAME },
    [RANK_KEPT] =   { RANK_CALLED, SAME,      RANK_ENDED, RANK_ENDED, SAME,      SAME },
    [RANK_CALLED] = { SAME,        SAME,      RANK_ENDED, RANK_ENDED, RANK_RUNS, SAME },
    [RANK_LOST] =   { SAME,        SAME,      SAME,       RANK_ENDED, SAME,      RANK_RUNS },
    [RANK_ENDED] =  { SAME,        SAME,      SAME,       SAME,       SAME,      SAME },
};
/* clang-format on */

void rank_change (struct rank *rank, enum rank_input input)
{
    int state = next[rank->state][input];

    if (state == RANK_RUNS && rank->kind == RULES_SPARE)
        state = RANK_SPARE;
    if (state != SAME)
        rank->state = (enum rank_state)state;
}

const char *rank_log_role (const struct rank *rank, int *index)
{
    *index = rank->first_role ? rank->first_index : rank->index;
    return rank->first_role ? rank->first_role : rank->role;
}

bool rank_is_chief (const struct rank *rank)
{
    return rank->kind == RULES_CHIEF || rank->kind == RULES_MASTER;
}

bool rank_is_watched (const struct rank *rank)
{
    return !rank->beside && (rank_is_chief (rank) || rank->kind == RULES_WORKER);
}

bool rank_takes_part (const struct rank *rank)
{
    return rank_is_watched (rank) || rank->kind == RULES_PS;
}

bool rank_is_hung (const struct rank *rank)
{
    return rank->state == RANK_RUNS && rank->watch.hung == rank->life.number + 1;
}

bool rank_has_ended (const struct rank *rank)
{
    return rank->state != RANK_RUNS && rank->state != RANK_WAITS && rank->state != RANK_SPARE;
}

bool rank_waits (const struct rank *rank)
{
    return rank->state == RANK_WAITS || rank->state == RANK_CALLED;
}

bool rank_is_supervised (const struct rank *rank)
{
    return rank->state != RANK_LOST && rank->state != RANK_ENDED;
}
