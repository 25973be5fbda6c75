/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The end of the job: supervisors report how their tasks ended, and are told whom to stop.
 */
#include "server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "console.h"
#include "ending.h"
#include "frame.h"

/* Who will have to be stopped, and how a task ended, only a supervisor can tell. */
int supervision_begin (struct server *server, struct errtext *err)
{
    bool table = server->show || step_log_dir (server->step);

    server->finish = finish_create (server->step, server->stop, server->eval_grace);
    if (!server->finish)
        return errtext_set (err, "%s", strerror (ENOMEM));
    if (finish_may_stop (server->finish) || table)
        return step_supervise (server->step, server->stop_grace, table, err);
    finish_destroy (server->finish);
    server->finish = NULL;
    return 0;
}

/* For a terminal if it was asked for, and for the log. */
void server_print_table (const struct server *server, char *table)
{
    if (table && server->show)
        console_print (table);
    else if (table)
        console_note (table);
    free (table);
}

/* A message to a supervisor, which believes who shows the proof; if it is lost, it dials again. */
static void _tell (struct server *server, struct peer *peer, const char *what)
{
    struct frame *frame = frame_create ();

    if (frame) {
        frame_add (frame, "PROOF", "%s", server->proof);
        frame_add (frame, what, "1");
    }
    if (peer_send (peer, frame) < 0)
        peer_close (&server->peers, peer);
}

/* Once, when all have ended. */
static void _tell_the_end (struct server *server)
{
    if (server->end_told || !finish_all_ended (server->finish))
        return;
    server->end_told = true;
    server_print_table (server, finish_table (server->finish));
}

void supervision_check_time (struct server *server)
{
    if (server->finish) {
        finish_check_time (server->finish);
        _tell_the_end (server);
    }
    for (int rank = 0; server->finish && rank < server->peers.ranks; rank++) {
        struct peer *peer = server->peers.by_rank[rank];

        if (!peer || peer->state != PEER_SUPERVISING || peer->told_to_stop
            || !finish_stops (server->finish, rank))
            continue;
        peer->told_to_stop = true;
        _tell (server, peer, "STOP");
    }
}

/* Nobody is at the other end any more; asked when what was said has been read. */
static bool _has_hung_up (const struct peer *peer)
{
    char byte;
    ssize_t n = recv (peer->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

    return n == 0 || (n < 0 && errno != EAGAIN);
}

/*
 * Its process is gone without a word. A reset is the network's, or from one who has said all:
 * looking at it takes it away, and who reads then finds an end.
 */
static bool _is_lost (const struct peer *peer)
{
    char byte;

    return recv (peer->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/*
 * A rank ended. Its supervisor may wait until it is told that this was heard, and srun ends
 * with the last of them: what there is to say comes before. False when nobody waits for an
 * answer, or who spoke is to have none.
 */
static bool _take_report (struct server *server, struct peer *peer, const char *text)
{
    struct ending ending;

    if (ending_parse (&ending, text) < 0)
        return false;
    finish_ended (server->finish, peer->rank, &ending);
    _tell_the_end (server);
    if (_has_hung_up (peer))
        return false;
    _tell (server, peer, "BYE");
    return true;
}

/* A supervisor speaks, or is gone: if its task lives it will dial again. */
void supervision_hear (struct server *server, struct peer *peer)
{
    struct frame *frame = NULL;
    struct errtext err;
    int n;

    if (_is_lost (peer))
        finish_lost (server->finish, peer->rank);
    n = frame_read (&peer->reader, peer->fd, &frame, &err);
    if (n < 0 || (n > 0 && !_take_report (server, peer, frame_get (frame, "ENDED"))))
        peer_close (&server->peers, peer);
    frame_destroy (frame);
}

/* The supervisor of a rank whose connection was lost. False when it cannot be. */
bool supervision_rejoin (struct server *server, struct peer *peer, const struct frame *frame)
{
    const char *ended = frame_get (frame, "ENDED");
    int rank = (int)frame_get_number (frame, "RANK", 0, server->peers.ranks - 1);

    if (!server->finish || rank < 0 || frame_version (frame) != FRAME_VERSION)
        return false;
    peer_introduce (&server->peers, peer, rank, PEER_SUPERVISING);
    finish_found (server->finish, rank);
    if (ended)
        return _take_report (server, peer, ended);
    return true;
}

struct deadline supervision_next (const struct server *server)
{
    return server->finish ? finish_next (server->finish) : deadline_never ();
}
