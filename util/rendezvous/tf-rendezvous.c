/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tf-rendezvous: the one process that all tasks of a step register with. srun starts it with
 *
 *     fd 2   srun's stderr
 *     fd 3   a socket to srun: first the configuration, then end-of-file when srun has ended; this
 *            program writes a byte when it has read the configuration
 *     fd 4   the listening socket, on the port in the tasks' contact
 *
 * It waits until every rank has registered and answers each with its environment; or it prints in
 * one line why the launch cannot succeed, and refuses every rank. In a step whose tasks may have
 * to be stopped it goes on: it learns from every supervisor how its task ended, and orders those
 * whose work is done to stop their tasks.
 */
#include "config.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "asked.h"
#include "common/descriptors.h"
#include "common/errtext.h"
#include "common/silence.h"
#include "common/tcp.h"
#include "common/version.h"
#include "console.h"
#include "job/job.h"
#include "journal.h"
#include "keeper.h"
#include "launch.h"
#include "notify.h"
#include "requeuer.h"
#include "server.h"
#include "supervisors.h"

#define SRUN_FD 3
#define LISTEN_FD 4

/*
 * What has killed the former one may be Slurm, which kills all of its job: then this one does not live for so
 * long, and the end of the job is not a tale of this program.
 */
#define REVIVED_MS 2000

static void _say_revived (struct server *server)
{
    server->revived = deadline_never ();
    console_say ("spank_tf: %s: tf-rendezvous was killed and restarted. The job continues",
                 step_name (server->step));
}

static void _check_time (struct server *server)
{
    if (deadline_passed (server->revived))
        _say_revived (server);
    while (server->peers.oldest && deadline_passed (server->peers.oldest->timeout))
        peer_close (&server->peers, server->peers.oldest);
    launch_check (server);
    supervisors_check (server);
    asked_check (server);
    requeuer_check (server);
    console_check_time ();
}

/* How long epoll_wait () may wait: until _check_time () has something to do; -1 is forever. */
static int _timeout_ms (const struct server *server)
{
    struct deadline next = deadline_min (launch_next (server), supervisors_next (server));

    next = deadline_min (next, deadline_min (supervisors_look (server), console_next ()));
    next = deadline_min (next, deadline_min (server->revived, server->asked.again));
    next = deadline_min (next, requeuer_next (server));
    if (server->peers.oldest)
        next = deadline_min (next, server->peers.oldest->timeout);
    return deadline_left_ms (next);
}

/*
 * All ranks have their answers, and none is supervised. As long as srun is there a supervisor may return that
 * counted as lost, or whose last order did not arrive; and after a refusal more ranks may come to be refused.
 */
static bool _is_done (const struct server *server)
{
    const struct roster *roster = step_roster (server->step);

    if (!server->resolved || server->refused || server->job || roster_missing (roster))
        return false;
    EACH_RANK (rank, roster)
        if (rank->peer)
            return false;
    return true;
}

/* srun sends nothing after its configuration: the socket becomes readable when srun has ended. */
static bool _srun_has_ended (void)
{
    char byte;

    return recv (SRUN_FD, &byte, 1, MSG_DONTWAIT) == 0;
}

static void _accept (struct server *server)
{
    const struct roster *roster = step_roster (server->step);
    int connected = 0;

    for (int i = 0; i < roster->tasks; i++)
        connected += roster->rank[i].peer != NULL;
    peers_accept (&server->peers, roster_missing (roster), server->limit - SERVER_KEPT_FILES - connected);
}

static void _run (struct server *server)
{
    struct epoll_event event[64];

    while (!_is_done (server)) {
        int n = epoll_wait (server->peers.epoll, event, 64, _timeout_ms (server));

        server->now = deadline_in_ms (0).at_ms;
        for (int i = 0; i < n; i++) {
            struct peer *peer = event[i].data.ptr;

            if (event[i].data.ptr == &server->asked)
                asked_receive (server);
            else if (event[i].data.ptr == &server->requeuer)
                requeuer_receive (server);
            else if (peer && peer->state == PEER_SUPERVISED)
                supervisors_receive (server, peer);
            else if (peer)
                launch_receive (server, peer);
            else if (_srun_has_ended ())
                return;
            else
                _accept (server);
        }
        peers_free_closed (&server->peers);
        _check_time (server);
        peers_free_closed (&server->peers);
    }
}

/* As many open files as the user may have, and as a step can need. */
static int _raise_limit (void)
{
    const rlim_t most = REGISTRATION_MAX_TASKS + SERVER_OWN_FILES;
    struct rlimit limit;

    if (getrlimit (RLIMIT_NOFILE, &limit) < 0)
        return 0;
    limit.rlim_cur = limit.rlim_max;
    setrlimit (RLIMIT_NOFILE, &limit);
    getrlimit (RLIMIT_NOFILE, &limit);
    return (int)(limit.rlim_cur < most ? limit.rlim_cur : most);
}

static int _configure (struct server *server, struct errtext *err)
{
    if (fields_decode (&rendezvous_config_fields, &server->config, server->config_frame, err) < 0
        || (server->config.task.preflight
            && preflight_parse (&server->config.preflight, server->config.task.preflight, err) < 0)
        || step_create (&server->step, &server->config, err) < 0)
        return -1;
    notify_begin (server->config.notify, server->config.user_notify, server->srun);
    if (server->config.lost_after > 0)
        silence_watch (LISTEN_FD, server->config.lost_after, server->config.lost_after * 1000);
    return 0;
}

static int _begin (struct server *server, struct errtext *err)
{
    struct frame_reader reader = { .ceiling = FRAME_MAX_CONFIGURATION };
    int rc = frame_read (&reader, SRUN_FD, &server->config_frame, err) == 1 ? _configure (server, err) : -1;

    frame_reader_clear (&reader);
    if (rc < 0)
        return -1;
    journal_add (server->journal, &(struct journal_entry){ .kind = JOURNAL_CONFIG }, server->config_frame);
    /* srun may have ended meanwhile, which _run () notices. */
    (void)!send (SRUN_FD, "", 1, MSG_NOSIGNAL);
    launch_begin (server);
    return 0;
}

static int _replay (struct server *server, const struct journal_entry *entry, struct frame **fp,
                    struct errtext *err)
{
    switch (entry->kind) {
        case JOURNAL_CONFIG:
            server->config_frame = *fp;
            *fp = NULL;
            return _configure (server, err);
        case JOURNAL_REGISTERED: return launch_replay_registered (server, entry, *fp, err);
        case JOURNAL_LAUNCHED: return launch_replay_launched (server, entry, err);
        default: supervisors_replay (server, entry, *fp); return 0;
    }
}

/* The one before was killed. What it has told is not told again, and what it has ordered is ordered again. */
static int _go_on (struct server *server, struct errtext *err)
{
    struct journal_entry entry;
    struct frame *frame;
    int rc = 0;

    while (rc == 0 && journal_read (server->journal, &entry, &frame)) {
        console_mute (entry.done);
        rc = _replay (server, &entry, &frame, err);
        frame_destroy (frame);
    }
    console_mute (false);
    server->now = deadline_in_ms (0).at_ms;
    if (rc < 0)
        return -1;
    server->revived = deadline_in_ms (REVIVED_MS);
    supervisors_revive (server);
    return 0;
}

int main (int argc, char *argv[])
{
    struct server server = { .deadline = deadline_never (),
                             .notice = deadline_never (),
                             .lost_deadline = deadline_never (),
                             .srun_deadline = deadline_never (),
                             .requeuer = { .fd = -1, .patience = deadline_never () },
                             .revived = deadline_never () };
    struct errtext err;
    bool again;

    if (version_is_wanted (argc, argv))
        return version_print ();
    /* A copy of one of srun's descriptors that stayed open here could keep others waiting. */
    descriptors_close_above (LISTEN_FD);
    signal (SIGPIPE, SIG_IGN);
    /* Slurm suspends a job by this, and two seconds later by SIGSTOP: meanwhile supervisors tell of it. */
    signal (SIGTSTP, SIG_IGN);
    /* Slurm ends a job by this, and by SIGKILL when KillWait is over: until then master.log gets the end. */
    signal (SIGTERM, SIG_IGN);
    server.srun = getppid ();
    server.journal = journal_create ();
    again = keeper_start (server.journal) > 0;
    server.limit = _raise_limit ();
    host_self (&server.host);
    /* Accepted connections inherit this, so one that broke unnoticed is closed within a minute. */
    tcp_keep_alive (LISTEN_FD, TCP_BROKEN_MS);
    if (fcntl (SRUN_FD, F_GETFD) < 0 || fcntl (LISTEN_FD, F_SETFL, O_NONBLOCK) < 0
        || peers_init (&server.peers, LISTEN_FD) < 0) {
        fprintf (stderr, "tf-rendezvous is started by srun, for --tf-tasks\n");
        return 1;
    }
    if ((again ? _go_on : _begin) (&server, &err) < 0) {
        if (!_srun_has_ended ())
            console_say ("error: spank_tf: tf-rendezvous: %s", err.text);
        console_end ();
        keeper_end (server.journal);
        journal_destroy (server.journal);
        return 1;
    }
    peers_watch_fd (&server.peers, SRUN_FD);
    asked_begin (&server);
    _run (&server);

    if (deadline_is_set (server.revived) && server.job && server.job->end_told)
        _say_revived (&server);
    asked_end (&server);
    requeuer_end (&server.requeuer);
    console_release ();
    supervisors_cut (&server);
    console_end ();
    peers_clear (&server.peers, step_roster (server.step));
    supervisors_end (&server);
    step_destroy (server.step);
    frame_destroy (server.config_frame);
    keeper_end (server.journal);
    journal_destroy (server.journal);
    return 0;
}
