/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Processes: what /proc says, and what wait () does.
 */
#ifndef TF_PROC_H
#define TF_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* True if this is the process' name, that of its program without PR_SET_NAME; also of a zombie. */
bool proc_has_name (pid_t pid, const char *name);

/* The signals of a set in /proc/PID/status, such as "SigBlk", as bits; 0 if that is not known. */
uint64_t proc_signals (pid_t pid, const char *set);

/*
 * Call found () for each child of the first thread of a process. With hidepid, /proc itself does not show a
 * child that is a set-uid program. Nothing if that is not known.
 */
void proc_children (pid_t pid, void (*found) (pid_t child, void *arg), void *arg);

/* A child that has ended, and is still a zombie; 0: none has. */
pid_t proc_next_ended (void);

/*
 * Wait for it. False if it was not its end: a child that has asked to be traced (PTRACE_TRACEME) stops at its
 * exec, which shows as SIGTRAP, and at signals. Then it continues as if it were not traced.
 */
bool proc_reap (pid_t child, int *status);

#endif
