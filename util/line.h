/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The line from a supervisor to its rendezvous: a connection that is dialled again when it
 * breaks, for as long as anybody may be there. Nothing here waits: the caller polls.
 */
#ifndef TF_LINE_H
#define TF_LINE_H

#include <poll.h>
#include <stdbool.h>

#include "deadline.h"
#include "errtext.h"

struct line;

/*
 * `fd` is a connection on which the rank has registered and was answered; it belongs to the
 * line, and is dialled anew if it is none. The process' environment has ADDRESS and PORT of the
 * rendezvous, PROOF, TOKEN, NODE, STEP and RANK. NULL and err when something is missing. A
 * process has one line, which ends with it.
 */
struct line *line_create (int fd, struct errtext *err);

/* What to poll for, -1 if for no descriptor, and until when: then comes line_serve (). */
struct deadline line_poll (const struct line *line, struct pollfd *pfd);

enum line_news {
    LINE_QUIET,         /* nothing for the caller */
    LINE_STOP,          /* the rendezvous wants the task stopped; it may say so again */
    LINE_BYE,           /* it knows that the task has ended */
    LINE_GONE,          /* nobody is there any more, or nobody who answers a report */
};

/*
 * Go on; `revents` is poll's. LINE_GONE comes once while the task lives, and whenever the
 * report is in vain.
 */
enum line_news line_serve (struct line *line, short revents);

/* The task has ended so: say it now, and first thing on every new connection. Once. */
void line_report (struct line *line, const char *ended);

/*
 * The report is on the rendezvous' host: its kernel has acknowledged it, and keeps it for the
 * rendezvous even if this end of the line closes. Of a connection that was dialled again this
 * is not said: the rendezvous may not have taken it yet, and refuse it.
 */
bool line_is_delivered (const struct line *line);

/* All is said: the end, without the farewells that a connection has otherwise. */
void line_hang_up (struct line *line);

#endif
