/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Programs that get every event of the step as one object of JSON on their stdin: the site's, notify= in
 * plugstack.conf, and the user's, --tf-notify. Nothing that they do harms the step, which waits for them only
 * at its end, and not for long:
 *
 *     tf-notify     a process for each event and program, forked from tf-rendezvous. It waits until that of
 *                   the event before has ended, starts the program, waits for it, and ends.
 *     the program   has ten seconds, and is killed then. When it has ended, what is left in its process group
 *                   is killed, too.
 *
 * At most NOTIFY_MOST events run or wait. One more is dropped, unless it is the step's last, so all is
 * over NOTIFY_SECONDS * (NOTIFY_MOST + 1) after that, whether or not tf-rendezvous and srun are still there.
 *
 * The site's program has no variable of the user's. The user's has those that srun was started with, and its
 * directory.
 */
#ifndef TF_NOTIFY_H
#define TF_NOTIFY_H

#include <stdbool.h>
#include <sys/types.h>

#define NOTIFY_SECONDS 10
#define NOTIFY_MOST 8

/* Absolute paths, each of which may be NULL and must live as long, and the srun whose they are. */
void notify_begin (const char *site, const char *user, pid_t srun);

/* Start each with this text on its stdin, when its turn comes. The step is "12.0". Never blocks. */
void notify_event (const char *step, const char *text, bool last);

/* While a program has the last event. Slurm may kill it when srun has ended, as with a batch script. */
bool notify_has_last (void);

#endif
