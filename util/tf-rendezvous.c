/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tf-rendezvous: the one place where a step's ranks meet. srun starts it with
 *
 *     fd 2   srun's stderr
 *     fd 3   a socket to srun: first its configuration, then the end when srun is gone
 *     fd 4   the listening socket, on the port that the ranks were told
 *
 * It waits until every rank has registered and answers each with its environment; or it says
 * in one line why the launch cannot succeed, and refuses every rank. When somebody may have to
 * be stopped in the end, it hears from every task's supervisor how it ended, and tells those
 * to stop whose work is done.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "connection.h"
#include "console.h"
#include "descriptors.h"
#include "errtext.h"
#include "frame.h"
#include "rank.h"
#include "server.h"

#define SRUN_FD 3
#define LISTEN_FD 4

static void _serve (struct server *server, struct peer *peer)
{
    if (peer->state == PEER_SUPERVISING)
        supervision_hear (server, peer);
    else
        launch_hear (server, peer);
}

static void _check_time (struct server *server)
{
    peers_expire (&server->peers);
    launch_check_time (server);
    supervision_check_time (server);
}

/* How long epoll may wait: until the next thing that _check_time () looks at; -1 for ever. */
static int _patience_ms (const struct server *server)
{
    struct deadline next = deadline_min (launch_next (server), supervision_next (server));

    return deadline_left_ms (deadline_min (next, peers_patience (&server->peers)));
}

/*
 * All ranks have their environment, or all have ended. After a refusal there may be more to
 * refuse for as long as srun is there.
 */
static bool _done (const struct server *server)
{
    if (!server->resolved || server->refused || step_missing (server->step)
        || (server->finish && !finish_all_ended (server->finish)))
        return false;
    for (int rank = 0; rank < server->peers.ranks; rank++)
        if (server->peers.by_rank[rank])
            return false;
    return true;
}

/* srun says nothing after its configuration: what comes is its end. */
static bool _srun_is_gone (void)
{
    char byte;

    return recv (SRUN_FD, &byte, 1, MSG_DONTWAIT) == 0;
}

static void _run (struct server *server)
{
    struct epoll_event event[64];

    while (!_done (server)) {
        int n = epoll_wait (server->peers.epoll, event, 64, _patience_ms (server));

        for (int i = 0; i < n; i++)
            if (event[i].data.ptr)
                _serve (server, event[i].data.ptr);
            else if (_srun_is_gone ())
                return;
            else
                peers_accept (&server->peers, step_missing (server->step));
        peers_free_closed (&server->peers);
        _check_time (server);
        peers_free_closed (&server->peers);
    }
}

/* As many open files as the user may have. */
static int _raise_limit (void)
{
    struct rlimit limit;

    if (getrlimit (RLIMIT_NOFILE, &limit) < 0)
        return 0;
    limit.rlim_cur = limit.rlim_max;
    setrlimit (RLIMIT_NOFILE, &limit);
    getrlimit (RLIMIT_NOFILE, &limit);
    return limit.rlim_cur > RANK_MAX + SERVER_OWN_FILES ? RANK_MAX + SERVER_OWN_FILES : (int)limit.rlim_cur;
}

static int _secret (char to[RENDEZVOUS_SECRET], const struct frame *configuration,
                    const char *key, struct errtext *err)
{
    const char *secret = frame_get (configuration, key);

    if (!secret || strlen (secret) != RENDEZVOUS_SECRET - 1)
        return errtext_set (err, "srun gave no %s", key);
    strcpy (to, secret);
    return 0;
}

static int _configure_end (struct server *server, const struct frame *configuration,
                           struct errtext *err)
{
    const char *stop = frame_get (configuration, "STOP");

    server->stop_grace = (int)frame_get_number (configuration, "STOP_GRACE", 0, 1000000);
    server->eval_grace = (int)frame_get_number (configuration, "EVAL_GRACE", 0, 1000000);
    return stop ? policy_when_parse (&server->stop, stop, err)
                : errtext_set (err, "srun gave no STOP");
}

static int _configure (struct server *server, struct errtext *err)
{
    struct frame_reader reader = { .ceiling = FRAME_MAX_CONFIGURATION };
    struct frame *frame = NULL;
    int rc = -1;

    if (frame_read (&reader, SRUN_FD, &frame, err) == 1
        && _secret (server->token, frame, "TOKEN", err) == 0
        && _secret (server->proof, frame, "PROOF", err) == 0
        && step_create (&server->step, frame, err) == 0) {
        server->timeout = (int)frame_get_number (frame, "TIMEOUT", 1, 1000000);
        server->show = frame_get (frame, "SHOW") != NULL;
        server->log_append = frame_get (frame, "LOG_APPEND") != NULL;
        rc = _configure_end (server, frame, err);
    }
    frame_reader_clear (&reader);
    frame_destroy (frame);
    return rc;
}

int main (void)
{
    struct server server = { 0 };
    struct errtext err;

    /* What srun had open is not ours: a descriptor of it kept here could keep others waiting. */
    descriptors_close_above (LISTEN_FD);
    signal (SIGPIPE, SIG_IGN);
    server.limit = _raise_limit ();
    server.srun = getppid ();
    host_self (&server.host);
    /* A rank whose connection broke unseen dials again; it is taken when the old one is gone. */
    connection_keep_alive (LISTEN_FD);
    if (fcntl (SRUN_FD, F_GETFD) < 0 || fcntl (LISTEN_FD, F_SETFL, O_NONBLOCK) < 0
        || peers_init (&server.peers, LISTEN_FD) < 0) {
        fprintf (stderr, "tf-rendezvous is started by srun, for --tf-tasks\n");
        return 1;
    }
    if (_configure (&server, &err) < 0) {
        console_say ("error: spank_tf: tf-rendezvous: %s", err.text);
        return 1;
    }
    peers_watch_fd (&server.peers, SRUN_FD);
    launch_begin (&server);
    _run (&server);

    peers_clear (&server.peers);
    finish_destroy (server.finish);
    step_destroy (server.step);
    return 0;
}
