/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What each place is to the step, by the task list and --tf-stop.
 *
 *     --tf-stop   cluster                awaited               fatal                 graced
 *     auto        chief (or master), ps  the chief             every ps              evaluators, and a site's
 *                 ps, no chief           every worker          every ps              own roles
 *                 no ps                  all but evaluators    all that are awaited
 *                 only evaluators        all                   none
 *     chief                              the chief, master or  none                  none
 *                                        worker 0
 *     workers                            every worker, and     none                  none
 *                                        the chief or master
 *     never                              none                  none                  none
 *
 *     cluster                member                    alone
 *     with a ps              all but evaluators        all but the ps and the chief
 *     no ps                  all but evaluators        evaluators
 *     auxiliary tasks        no                        yes
 *
 * The job is over when all awaited places have ended, or a fatal one failed. A failure restarts the place if
 * it may be restarted alone, and otherwise all members. A place serves if it is a ps, an auxiliary task or,
 * with a ps and a chief, a worker, and is not awaited: it does not get Slurm's SIGTERM before the others have
 * ended, because they may need it to save.
 */
#ifndef TF_DUTIES_H
#define TF_DUTIES_H

#include "model.h"

/* Set the duties of all places, and the aim of the job. */
void duties_set (struct job *job);

/*
 * True if --tf-stop needs supervisors: it ends some tasks when others have ended.
 */
bool duties_need_supervisors (const struct job *job);

#endif
