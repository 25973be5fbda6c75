/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * All processes that descend from this one, which must be a subreaper (prctl (2)): a process that
 * left the session, or whose parent has ended, is a descendant too. There is no descendant left
 * when wait () finds no child.
 */
#ifndef TF_DESCENDANTS_H
#define TF_DESCENDANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct process {
    pid_t pid, parent;
    unsigned long long start; /* when it started, in the kernel's clock ticks; 0 if that is not known */
    bool running;           /* neither stopped nor dead, so it may fork */
    bool stopped;           /* by a signal, and not by a debugger */
    bool busy;              /* its first thread computes */
    bool descends;          /* from this process */
    bool listed;            /* only its parent is known, which has it in the list of its children */
};

/*
 * The present descendants by ascending pid, also dead ones that have not been waited for, to be freed;
 * without memory some of them, or none. A process that forks or ends at the same time may be missing.
 * `except` is a child that is left out, or 0; so in the other functions.
 */
struct process *descendants_list (size_t *count, pid_t except);

/*
 * The present descendants are not the task's: another plugin has started them, such as the file system of a
 * container. They, and what they start, are left out from now on, in all these functions; but a process that
 * they start later is the task's when its parent has ended. `except` is a child to which that does not apply.
 * True if there are any. Without memory there are none.
 */
bool descendants_leave_out (pid_t except);

/*
 * Whether one of them is stopped by a signal, and whether one is busy in several looks, within some
 * milliseconds.
 */
void descendants_look (bool *stopped, bool *busy, pid_t except);

enum network {
    NETWORK_SHARED,         /* each of them has the network namespace of this process */
    NETWORK_UNKNOWN,        /* of one that is not known, as of a process of another user */
    NETWORK_OTHER,          /* one of them has another one */
};
enum network descendants_network (pid_t except);

/* Send this signal to all descendants, also to stopped ones, which continue. */
void descendants_signal (int number, pid_t except);

/*
 * Send SIGKILL to all descendants, which end a moment later. A process that forks too fast may
 * escape one call; call this again until wait () finds no child. False if only processes of other
 * users are left, which this user may not kill.
 */
bool descendants_kill (pid_t except);

#endif
