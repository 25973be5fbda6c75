/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A task's program as it was at its first exec, and its further lives: the same file, arguments,
 * environment, directory, umask, limits, CPUs, ignored and blocked signals and descriptors.
 *
 * Before it execs the program, the task's process asks to be traced, and stops:
 *
 *     if (ptrace (PTRACE_TRACEME, 0, NULL, NULL) == 0)
 *         raise (SIGSTOP);
 *
 * So it stands still in its new image, before the first instruction. It is read there, and traced
 * no longer.
 */
#ifndef TF_LIFE_H
#define TF_LIFE_H

#include <stddef.h>
#include <sys/types.h>

#include "common/errtext.h"

struct life;

enum life_step {
    LIFE_NOT_YET,           /* the program has not started, and has gone on to do so */
    LIFE_CAPTURED,          /* it runs, not traced any more, and can be started again */
    LIFE_CANNOT,            /* it runs, not traced any more; err says why it cannot be */
    LIFE_REFUSED,           /* err says why it cannot run while it is traced; it was killed */
};

/*
 * waitpid () has returned this status: the task, a child that asked to be traced, has stopped. If
 * that is at its first exec, capture the program and let it run.
 *
 * `kept` are descriptors of this process that refer to the same files as the program's; life_start ()
 * gives them to it. A program that has others cannot be started again. LIFE_CAPTURED and *lp, to be
 * destroyed.
 */
enum life_step life_follow (struct life **lp, pid_t pid, int status, const int *kept, size_t count,
                            struct errtext *err);

/*
 * Start the program again, as a child that is killed if this process dies, with SLURM_TF_RESTART=
 * `restart`. All signals must be blocked. The former life must be dead. The process ID, or -1 and
 * err if that cannot be done; then no process is left.
 *
 * `until_exec`, if not -1, is a close-on-exec descriptor of what other programs must not get before
 * this one can: it is closed here as soon as the new process has a copy, which its exec closes.
 */
pid_t life_start (const struct life *life, int restart, int until_exec, struct errtext *err);

/* NULL is fine; errno is kept. */
void life_destroy (struct life *life);

#endif
