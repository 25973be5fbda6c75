/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The process of a check (--tf-preflight): tf-supervise is executed once more, as the user, in the task's
 * directory and with the job's environment, so that nothing of a check is left in memory. It is a child of
 * the fork server.
 *
 *     tf-supervise --check node VALUE LOGDIR           the node itself: files, gpus, a program
 *     tf-supervise --check link ADDRESS PORT serve|connect
 *
 * It prints a line for each item that it begins, "item NAME", and for what it finds: "bad TEXT", and then it
 * ends with 1; "rate NUMBER". CHECK_TOKENS has the two tokens of links (contact.h).
 */
#ifndef TF_NODE_CHECK_H
#define TF_NODE_CHECK_H

/* Its main function, for argv[1] CHECK_ARGUMENT. Returns the exit code. */
int node_check_main (int argc, char *argv[]);

#endif
