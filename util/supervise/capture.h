/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A task's program is captured as it is at its first exec, to be started again with the same file,
 * arguments, environment, directory, umask, limits, CPUs, ignored and blocked signals and
 * descriptors.
 *
 * Before it execs the program, the task's process asks to be traced, and stops:
 *
 *     if (ptrace (PTRACE_TRACEME, 0, NULL, NULL) == 0)
 *         raise (SIGSTOP);
 *
 * So it stands still in its new image, before the first instruction. It is read there, and traced
 * no longer.
 */
#ifndef TF_CAPTURE_H
#define TF_CAPTURE_H

#include <stddef.h>
#include <sys/types.h>

#include "common/errtext.h"

struct capture;

enum capture_step {
    CAPTURE_NOT_YET,        /* the task goes on, and has not reached its first exec */
    CAPTURE_DONE,           /* the program runs, not traced any more, and can be started again */
    CAPTURE_CANNOT,         /* it runs, not traced any more, and err says why it cannot be started again */
    CAPTURE_REFUSED,        /* err says why it cannot run while it is traced; it was killed */
};

/*
 * waitpid () has returned this status: the task, a child that asked to be traced, has stopped. If
 * that is at its first exec, capture the program and let it run.
 *
 * `kept` are descriptors of this process that refer to the same files as the program's;
 * capture_restart () gives them to it. A program that has others cannot be started again.
 * CAPTURE_DONE and *cp, to be destroyed.
 */
enum capture_step capture_follow (struct capture **cp, pid_t pid, int status, const int *kept,
                                  size_t count, struct errtext *err);

/*
 * Start the program again, as a child that is killed if this process dies, with SLURM_TF_RESTART=
 * `restart`. All signals must be blocked. The former life must be dead. The process ID, or -1 and
 * err if that cannot be done; then no process is left.
 *
 * `until_exec`, if not -1, is a close-on-exec descriptor of what other programs must not get before
 * this one can. It is closed here as soon as the new process has a copy, and the program starts only
 * then; its exec closes the copy.
 */
pid_t capture_restart (const struct capture *capture, int restart, int until_exec,
                       struct errtext *err);

/* NULL is fine; errno is kept. */
void capture_destroy (struct capture *capture);

#endif
