/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The socket to which the programs of a task send their signs of life, as to systemd (sd_notify (3)). Its
 * name is in the abstract namespace, so nothing of it is left behind, and a container finds it that has the
 * node's network. All lives of the task have the same one.
 */
#ifndef TF_WATCH_SOCKET_H
#define TF_WATCH_SOCKET_H

/* Its name as in NOTIFY_SOCKET, "@spank_tf/12.0/3/0123456789abcdef". */
struct watch_socket_name {
    char text[80];
};

/*
 * Make it, as the user. A close-on-exec descriptor, for tf-supervise, which learns from the kernel who has
 * sent a message; -1 if that fails.
 */
int watch_socket_open (struct watch_socket_name *name, const char *step, int rank);

#endif
