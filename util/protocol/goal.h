/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the rendezvous wants of the life that runs. It follows from what is known now (job_goal ()), and is
 * said where it differs from what was said on the present connection, so nothing has to be said again.
 */
#ifndef TF_GOAL_H
#define TF_GOAL_H

enum goal_stop {
    GOAL_RUN,
    GOAL_STOP,                      /* ask what runs to end, and kill it after its grace */
    GOAL_STOP_AT_ONCE,              /* kill it: a spare has its place, there is no other life */
    GOAL_ABORT,                     /* it hangs: let it print its stacks */
};

#endif
