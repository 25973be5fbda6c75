/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The launch: ranks register, and all are answered or all are refused.
 */
#include "server.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "address.h"
#include "config.h"
#include "connection.h"
#include "console.h"
#include "frame.h"
#include "logdir.h"
#include "rank.h"

/* The first word on who is missing, and then again. */
#define NOTICE_FIRST_MS 10000
#define NOTICE_AGAIN_MS 30000
/* A step that is being cancelled loses its ranks one by one; srun ends soon after. */
#define LOST_GRACE_MS 1000
/*
 * All ranks of a refused launch have ended by then, and srun with them; unless a node can no
 * more tell srun so. It would wait for ever, and the job's next step with it.
 */
#define SRUN_GRACE_MS 10000

void launch_begin (struct server *server)
{
    server->deadline = deadline_in_ms (server->timeout * INT64_C (1000));
    server->notice = deadline_in_ms (NOTICE_FIRST_MS);
}

bool launch_goes_on (const struct server *server)
{
    return !server->resolved && !server->refused;
}

static int _refusal (const struct server *server, struct step_answer *answer)
{
    size_t length;

    memset (answer, 0, sizeof (*answer));
    if (!(answer->head = frame_create ()))
        return -1;
    frame_add (answer->head, "PROOF", "%s", server->proof);
    frame_add (answer->head, "REFUSED", "1");
    answer->iov[0].iov_base = (void *)(uintptr_t)frame_bytes (answer->head, 0, &length);
    answer->iov[0].iov_len = length;
    return answer->iov[0].iov_base ? 0 : -1;
}

/* A rank that is gone before it had its answer may come again. */
static void _go_on_answering (struct server *server, struct peer *peer)
{
    int sent = peer_send_answer (peer);

    if (sent < 0) {
        step_lose (server->step, peer->rank);
        peer_close (&server->peers, peer);
        return;
    }
    if (sent)
        peer->state = server->finish && !server->refused ? PEER_SUPERVISING : PEER_ANSWERED;
    if (peer->state == PEER_SUPERVISING)
        connection_acknowledge_soon (peer->fd);
    peer_watch (&server->peers, peer, sent ? EPOLLIN : EPOLLOUT);
}

/* The answer to a registered rank. */
static void _answer (struct server *server, struct peer *peer)
{
    int rc = server->refused ? _refusal (server, &peer->answer)
                             : step_answer (server->step, peer->rank, server->proof,
                                            &peer->answer);

    peer->state = PEER_ANSWERING;
    if (rc < 0)
        peer_close (&server->peers, peer);
    else
        _go_on_answering (server, peer);
}

static void _answer_all (struct server *server)
{
    for (int rank = 0; rank < server->peers.ranks; rank++)
        if (server->peers.by_rank[rank] && server->peers.by_rank[rank]->state == PEER_REGISTERED)
            _answer (server, server->peers.by_rank[rank]);
}

static void _refuse (struct server *server, const char *why)
{
    if (!launch_goes_on (server))
        return;
    console_say ("error: spank_tf: %s", why);
    server->refused = true;
    server->srun_grace = deadline_in_ms (SRUN_GRACE_MS);
    _answer_all (server);
}

/* What is said from now on stands in master.log too, where the tasks' output has a directory. */
static int _open_log (struct server *server, struct errtext *err)
{
    const char *path = step_log_dir (server->step);
    struct logdir dir;
    struct errtext why;
    int fd;

    if (!path)
        return 0;
    snprintf (dir.path, sizeof (dir.path), "%s", path);
    if (logdir_make (&dir, &why) < 0 || (fd = logdir_open (&dir, server->log_append, "master.log", &why)) < 0)
        return errtext_set (err, "%s: --tf-log-dir: on srun's host: %s",
                            step_name (server->step), why.text);
    console_keep (fd);
    return 0;
}

/* Everyone is here. */
static void _complete (struct server *server)
{
    struct errtext err;
    const char *notice;

    if (step_resolve (server->step, &server->host, &err) < 0
        || _open_log (server, &err) < 0 || supervision_begin (server, &err) < 0) {
        _refuse (server, err.text);
        return;
    }
    server->resolved = true;
    for (int i = 0; (notice = step_notice (server->step, i)); i++)
        console_say ("spank_tf: %s: %s", step_name (server->step), notice);
    server_print_table (server, step_table (server->step));
    _answer_all (server);
}

/* The first rank told how many there are: make room, or say that they do not fit. */
static bool _fits (struct server *server)
{
    int tasks = step_tasks (server->step);
    char why[160];

    if (server->peers.ranks)
        return true;
    if (peers_expect (&server->peers, tasks) < 0) {
        console_say ("error: spank_tf: no memory for %d ranks", tasks);
        exit (1);
    }
    if (tasks + SERVER_OWN_FILES <= server->limit)
        return true;
    snprintf (why, sizeof (why), "%s runs %d tasks, srun may have %d open files, which do for "
              "%d; see `ulimit -Hn`", step_name (server->step), tasks, server->limit,
              server->limit - SERVER_OWN_FILES);
    _refuse (server, why);
    return false;
}

/* Constant in time: how much of a wrong token is right must not show. */
static bool _is_token (const struct server *server, const char *token)
{
    unsigned char differ = 0;

    if (!token || strlen (token) != RENDEZVOUS_SECRET - 1)
        return false;
    for (int i = 0; i < RENDEZVOUS_SECRET - 1; i++)
        differ |= (unsigned char)(token[i] ^ server->token[i]);
    return differ == 0;
}

static bool _same_version (struct server *server, struct peer *peer, const struct frame *frame)
{
    const char *release = frame_get (frame, "RELEASE");
    const char *node = frame_get (frame, "NODE");
    struct quoted q1, q2;
    char why[512];

    if (frame_version (frame) == FRAME_VERSION)
        return true;
    node = text_quoted (&q1, node ? node : "a node", node ? strlen (node) : 6);
    release = text_quoted (&q2, release ? release : "?", release ? strlen (release) : 1);
    snprintf (why, sizeof (why), "%s has spank-tf %s (protocol %d), srun's host %s (protocol "
              "%d): they cannot talk", node, release, frame_version (frame), PACKAGE_VERSION,
              FRAME_VERSION);
    _refuse (server, why);
    if (_refusal (server, &peer->answer) == 0)
        peer_send_answer (peer);
    return false;
}

/*
 * A whole first frame with the right token. False when the connection is to be closed: a
 * rank that is none, or one too many.
 */
static bool _register (struct server *server, struct peer *peer, const struct frame *frame)
{
    enum step_verdict verdict;
    struct address srun;
    struct rank rank;
    struct errtext err;

    if (!_same_version (server, peer, frame) || rank_decode (&rank, frame, &err) < 0
        || address_local (&srun, peer->fd) < 0)
        return false;
    if (server->resolved) {
        if (!step_come_again (server->step, &rank))
            return false;
        peer_introduce (&server->peers, peer, rank.rank, PEER_REGISTERED);
        _answer (server, peer);
        return true;
    }
    verdict = step_add (server->step, &rank, &srun, &err);
    if (verdict == STEP_STRANGER)
        return false;
    if (step_tasks (server->step) == 0) {
        _refuse (server, err.text);
        return false;
    }

    if (_fits (server) && verdict == STEP_REFUSED)
        _refuse (server, err.text);
    peer_introduce (&server->peers, peer, rank.rank, PEER_REGISTERED);
    if (!launch_goes_on (server))
        _answer (server, peer);
    else if (step_missing (server->step) == 0)
        _complete (server);
    return true;
}

/* A stranger speaks. False when it is to be closed. */
static bool _listen_to (struct server *server, struct peer *peer)
{
    struct frame *frame;
    struct errtext err;
    int n = frame_read (&peer->reader, peer->fd, &frame, &err);
    bool keep;

    if (n <= 0)
        return n == 0;
    keep = _is_token (server, frame_get (frame, "TOKEN"))
           && (frame_get (frame, "SUPERVISES") ? supervision_rejoin (server, peer, frame)
                                               : _register (server, peer, frame));
    frame_destroy (frame);
    return keep;
}

/*
 * A rank that waits is gone. Without it the launch cannot be complete, unless it comes again;
 * but when the whole step is on its way out, srun knows better and ends soon.
 */
static void _hear_registered (struct server *server, struct peer *peer)
{
    if (peer_is_open (peer))
        return;
    if (step_lost (server->step) == 0)
        server->lost_grace = deadline_in_ms (LOST_GRACE_MS);
    step_lose (server->step, peer->rank);
    peer_close (&server->peers, peer);
}

void launch_hear (struct server *server, struct peer *peer)
{
    switch (peer->state) {
        case PEER_STRANGER:
            if (!_listen_to (server, peer))
                peer_close (&server->peers, peer);
            break;
        case PEER_REGISTERED:
            _hear_registered (server, peer);
            break;
        case PEER_ANSWERING:
            _go_on_answering (server, peer);
            break;
        case PEER_ANSWERED:
            if (!peer_is_open (peer))
                peer_close (&server->peers, peer);
            break;
        case PEER_SUPERVISING:
        case PEER_CLOSED:
            break;
    }
}

/* Time. */

static void _notice (struct server *server)
{
    char nodes[512];

    server->notice = deadline_in_ms (NOTICE_AGAIN_MS);
    if (step_tasks (server->step) == 0)
        console_say ("spank_tf: %s: no rank has registered yet", step_name (server->step));
    else
        console_say ("spank_tf: %s: waiting for %d of %d ranks%s", step_name (server->step),
              step_missing (server->step), step_tasks (server->step),
              step_missing_nodes (server->step, nodes, sizeof (nodes)));
}

static void _refuse_late (struct server *server)
{
    struct step *step = server->step;
    char ranks[768], why[1024];

    if (step_tasks (step) == 0)
        snprintf (why, sizeof (why), "%s: no rank registered within %d s", step_name (step),
                  server->timeout);
    else
        snprintf (why, sizeof (why), "%s: %d of %d ranks did not register within %d s: %s",
                  step_name (step), step_missing (step), step_tasks (step), server->timeout,
                  step_missing_ranks (step, ranks, sizeof (ranks)));
    _refuse (server, why);
}

static void _refuse_lost (struct server *server)
{
    struct step *step = server->step;
    char ranks[768], why[1024];

    snprintf (why, sizeof (why), "%s: %d of %d ranks ended before the launch was complete: %s",
              step_name (step), step_lost (step), step_tasks (step),
              step_lost_ranks (step, ranks, sizeof (ranks)));
    _refuse (server, why);
}

/* As a user would who is tired of waiting: srun kills what is left of the step, and ends. */
static void _end_srun (struct server *server)
{
    server->srun_grace = deadline_never ();
    if (getppid () != server->srun)
        return;
    console_say ("spank_tf: %s: not every node reports the end of its tasks; ending srun",
                 step_name (server->step));
    kill (server->srun, SIGTERM);
}

void launch_check_time (struct server *server)
{
    if (server->refused && deadline_passed (server->srun_grace))
        _end_srun (server);
    if (!launch_goes_on (server))
        return;
    if (step_lost (server->step) && deadline_passed (server->lost_grace))
        _refuse_lost (server);
    else if (deadline_passed (server->deadline))
        _refuse_late (server);
    else if (deadline_passed (server->notice))
        _notice (server);
}

struct deadline launch_next (const struct server *server)
{
    struct deadline next;

    if (server->refused)
        return server->srun_grace;
    if (!launch_goes_on (server))
        return deadline_never ();
    next = deadline_min (server->deadline, server->notice);
    return step_lost (server->step) ? deadline_min (next, server->lost_grace) : next;
}
