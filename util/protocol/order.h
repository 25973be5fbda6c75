/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the rendezvous orders a supervisor to do.
 */
#ifndef TF_ORDER_H
#define TF_ORDER_H

#include <stdbool.h>

#include "common/errtext.h"
#include "frame.h"

enum order {
    ORDER_STOP,         /* the job's work is done: stop the task; may come more than once */
    ORDER_EXIT,         /* the task's exit report has arrived: the supervisor may exit */
    ORDER_WAIT,         /* it has arrived: the task may be restarted */
    ORDER_RESTART,      /* start the next life of the task */
    ORDER_TELL,         /* tell at once which signs of life it has given (signs.h) */
    ORDER_ABORT,        /* the task hangs: let it print its stacks, and end it */
    ORDER_RUN,          /* go on: the rendezvous knows the supervisor, whose connection is new */
};

/* NULL if there is no memory. Not for ORDER_RESTART. */
struct frame *order_encode (enum order order, const char *server_token);

/*
 * ORDER_STOP to a task whose place a spare has got: at once, without time to end. NULL if there is no
 * memory.
 */
struct frame *order_encode_stop_at_once (const char *server_token);

/*
 * ORDER_EXIT to a task that failed after another one: with the exit code 1..255 at most, so that srun, which
 * returns the greatest code of all tasks, returns that of the first failure; 0: with its own. A spare that
 * has not begun exits with this code. NULL if there is no memory.
 */
struct frame *order_encode_exit (int most, const char *server_token);

/* ORDER_RESTART: start life `life`, 1..LIFE_REPORT_MAX. NULL if there is no memory. */
struct frame *order_encode_restart (int life, const char *server_token);

/* Make an answer (answer.h) such an order, too: the life gets this answer, and so do those after it. */
void order_add_restart (struct frame *frame, int life);

/* -1 and err if the server token is wrong, or if the order is not known. */
int order_decode (enum order *order, const struct frame *frame, const char *server_token,
                  struct errtext *err);

/* The life of a decoded ORDER_RESTART. */
int order_life (const struct frame *frame);

/* True if a decoded ORDER_STOP leaves the task no time to end. */
bool order_is_at_once (const struct frame *frame);

/* The greatest exit code of a decoded ORDER_EXIT; 0: any. */
int order_exit_code (const struct frame *frame);

#endif
