/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The socket to which the programs of a task send heartbeats, as to systemd (sd_notify (3)). All
 * lives of the task have the same one, and nothing of it is left behind. Other users must not be able to send
 * descriptors to it: to close one may take as long as its owner likes, and no signal ends that.
 *
 * From Linux 6.16 on it refuses all descriptors, and has a name in the abstract namespace: every process of
 * the node's network namespace finds it. On an older kernel only the user can send to it: it has a file,
 * with mode 0600, whose name is removed at once, and the programs inherit a descriptor of that file.
 */
#ifndef TF_WATCH_SOCKET_H
#define TF_WATCH_SOCKET_H

#include "common/errtext.h"

/* As in NOTIFY_SOCKET: "@spank_tf/12.0/3/0123456789abcdef", or "/proc/self/fd/200". */
struct watch_socket_name {
    char text[80];
};

/*
 * Make it, as the user. On an older kernel this process and its children keep the descriptor of its file
 * open, across exec. Returns a close-on-exec descriptor, for tf-supervise, which learns from the kernel who
 * has sent a message; -1 and err if that fails.
 */
int watch_socket_open (struct watch_socket_name *name, const char *step, int rank, struct errtext *err);

#endif
