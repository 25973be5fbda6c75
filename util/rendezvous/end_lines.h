/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What is printed about the ends of tasks. What an end leads to, if tasks may be restarted, is in
 * restart_lines.h.
 */
#ifndef TF_END_LINES_H
#define TF_END_LINES_H

#include "shutdown.h"

/*
 * A task has ended, to be called first of all. If its program was not started, and it is the first to end,
 * what is printed about that waits for the others: if none of them has started its program, one line says
 * all.
 */
void end_lines_reported (const struct server *server, const struct rank *rank,
                         const struct exit_report *report);

/* A rank is about to end: if it is an auxiliary task that failed, the others may need it. */
void end_lines_beside (const struct server *server, const struct rank *rank);

/* The job is over: why, if a failure has ended it. */
void end_lines_over (const struct server *server);

/* A task of the cluster has failed, which does not end the job: once, that the others may wait for it. */
void end_lines_missed (struct server *server, const struct rank *rank);

/* The ranks that get time to finish after the job's end. */
void end_lines_grace (const struct server *server);

/*
 * The tasks that were stopped, did not end by themselves within their grace, and were killed: when all of
 * them have ended, before the next lives or at the end.
 */
void end_lines_killed (const struct server *server);

/*
 * Once, when all tasks have ended: how, the first failure, and where the logs are, which the failure's line
 * and the JSON say, too.
 */
void end_lines_show (const struct server *server);

#endif
