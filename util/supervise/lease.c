/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "lease.h"

#include "common/second.h"

/* srun may have ended, and Slurm be about to end the step; or it does so, and its job waits for this task. */
#define ALONE_MS 5000
#define ALONE_ASKED_MS 1000
/*
 * As long as the connection stands, the rendezvous is there, and answers as soon as it can. But one that was
 * stopped for good must not keep the task from its end.
 */
#define ANSWER_MS 600000
/* Without a connection the report is given up. */
#define REPORT_MS 60000
/*
 * ... and the next life later: the rendezvous gives it up after five minutes, and may notice a minute later
 * that there is no connection.
 */
#define NEXT_LIFE_MS 360000
/*
 * A node that is cut off: the message of slurmstepd that the supervisor has ended would not reach srun, which
 * does not get it later (Slurm 22.05 and 24.11), and would wait until the time of the job is over.
 */
#define CUT_OFF_MS 3600000

static int64_t _max (int64_t a, int64_t b)
{
    return a > b ? a : b;
}

int64_t lease_over_at (const struct lease *l)
{
    if (l->config->lost_after == 0 || l->ended == l->link.heard)
        return LEASE_NEVER;
    return l->link.heard + l->config->lost_after * SECOND_MS;
}

int64_t lease_lost_since (const struct lease *l)
{
    return l->ended == l->link.heard && !l->link.stands ? l->link.heard + l->config->lost_after * SECOND_MS
                                                        : LEASE_NEVER;
}

int64_t lease_leave_at (const struct lease *l, bool answered)
{
    bool cut_off = l->config->lost_after > 0 && !l->link.refused;

    if (l->link.stands)
        return answered ? LEASE_NEVER : _max (l->reported, l->link.since) + ANSWER_MS;
    return _max (l->reported, l->link.heard) + (cut_off ? CUT_OFF_MS : answered ? NEXT_LIFE_MS : REPORT_MS);
}

int64_t lease_alone_at (const struct lease *l, bool asked)
{
    if (l->link.stands || !l->link.refused)
        return LEASE_NEVER;
    return asked ? _max (l->reported, l->link.heard) + ALONE_ASKED_MS : l->link.heard + ALONE_MS;
}
