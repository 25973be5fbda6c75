/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "launch.h"

#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "common/address.h"
#include "console.h"
#include "job/job.h"
#include "journal.h"
#include "narrator.h"
#include "protocol/answer.h"
#include "protocol/fields.h"
#include "protocol/hello.h"
#include "protocol/registration.h"
#include "rank_names.h"
#include "supervisors.h"

/* The first message about missing ranks, and the next ones. */
#define NOTICE_FIRST_MS 5000
#define NOTICE_AGAIN_MS 30000
/* Ranks that are so late are not only slow. */
#define NOTICE_WHY_MS 30000
/* A step that is being cancelled loses its ranks one by one, and srun ends soon after. */
#define LOST_GRACE_MS 1000
/*
 * By then all ranks of a refused launch have ended, and srun with them; unless a node can no
 * longer report that to srun, which would then wait forever, and the job's next step with it.
 */
#define SRUN_GRACE_MS 10000

/* Tasks that do not register. */
#define CHECK_NODES "check slurmd on the nodes, and that they can reach srun's host (SrunPortRange)"

static void _await_ranks (struct server *server)
{
    server->deadline = deadline_in_ms (server->config.timeout * INT64_C (1000));
    server->notice = deadline_in_ms (NOTICE_FIRST_MS);
}

/* A step that has no number yet may wait for its allocation: then the time begins with its first rank. */
void launch_begin (struct server *server)
{
    if (server->config.step)
        _await_ranks (server);
}

static bool _goes_on (const struct server *server)
{
    return !server->resolved && !server->refused;
}

/* Answers. */

/*
 * The connection of a rank that has no answer yet is gone. The rank may come back. If the whole
 * step is being cancelled, srun reports that and ends soon.
 */
static void _lose (struct server *server, struct peer *peer)
{
    if (roster_gone (step_roster (server->step)) == 0 || server->resolved)
        server->lost_deadline = deadline_in_ms (LOST_GRACE_MS);
    peer->rank->launch = RANK_GONE;
    supervisors_lose (server, peer, JOB_BROKEN_MS);
}

static int _encode_refusal (const struct server *server, struct peer *peer)
{
    const struct answer refusal = { .refused = true };

    return answer_encode (&peer->answer, &refusal, server->config.server_token);
}

/* Answer a rank, or send more of its answer: as much as the socket takes. */
static void _answer (struct server *server, struct peer *peer)
{
    int sent = 0;

    if (peer->state == PEER_REGISTERED)
        sent = server->refused ? _encode_refusal (server, peer)
                               : step_answer (server->step, peer->rank, NULL, &peer->answer);
    peer_set_state (peer, PEER_ANSWERING);
    if (sent < 0 || (sent = peer_send_answer (&server->peers, peer)) < 0)
        _lose (server, peer);
    else if (sent && server->refused)
        peer_set_state (peer, PEER_REFUSED);
    else if (sent)
        peer_set_state (peer, server->job ? PEER_SUPERVISED : PEER_ANSWERED);
}

/* What has been printed may be the last before srun ends. */
static void _answer_all (struct server *server)
{
    const struct roster *roster = step_roster (server->step);

    console_flush ();
    for (int i = 0; i < roster->tasks; i++)
        if (roster->rank[i].peer && roster->rank[i].peer->state == PEER_REGISTERED)
            _answer (server, roster->rank[i].peer);
}

static void __attribute__ ((format (printf, 2, 3))) _refuse (struct server *server, const char *fmt, ...)
{
    char why[2048];
    va_list ap;

    if (!_goes_on (server))
        return;
    va_start (ap, fmt);
    vsnprintf (why, sizeof (why), fmt, ap);
    va_end (ap);
    console_say ("error: spank_tf: %s", why);
    server->refused = true;
    server->srun_deadline = deadline_in_ms (SRUN_GRACE_MS);
    _answer_all (server);
}

/* Its job had other steps before. */
static bool _is_later (struct step *step)
{
    const char *number = strchr (step_roster (step)->step.number, '.');

    return number && strtol (number + 1, NULL, 10) > 0;
}

/* With --tf-log-dir: from now on every message goes to master.log too. */
static int _open_log (struct server *server, struct errtext *err)
{
    const char *dir = step_log_dir (server->step);
    struct errtext why;
    char line[128];
    int used;

    if (!dir)
        return 0;
    server->config.log_append |= server->config.log_append_later && _is_later (server->step);
    if ((used = console_open_log (dir, server->config.log_append, &why)) < 0)
        return errtext_set (err, "%s: --tf-log-dir: on srun's host: %s", step_name (server->step), why.text);
    snprintf (line, sizeof (line), "spank_tf: %s begins, in attempt %d of its job\n",
              step_name (server->step), server->config.job_restarts + 1);
    console_note (line);
    if (used && !server->config.log_append)
        console_say ("spank_tf: %s: another running step writes its logs to %s, so this step appends to the "
                     "files there. %%j in --tf-log-dir gives each job its own directory",
                     step_name (server->step), dir);
    server->config.log_append |= used > 0;
    return 0;
}

/* All ranks are here. From now on this process may be killed, if it has supervisors, which come back. */
static void _complete (struct server *server)
{
    struct errtext err;

    if (step_resolve (server->step, &server->host, &err) < 0 || _open_log (server, &err) < 0
        || supervisors_begin (server, &err) < 0) {
        _refuse (server, "%s", err.text);
        return;
    }
    server->resolved = true;
    journal_set_use (server->journal, server->job ? JOURNAL_USEFUL : JOURNAL_OVER);
    narrator_start (server->step);
    if (console_has_passed_on ())
        journal_set_done (server->journal);
    _answer_all (server);
}

/* Again. */

int launch_replay_registered (struct server *server, const struct journal_entry *entry,
                              const struct frame *frame, struct errtext *err)
{
    struct roster *roster = step_roster (server->step);
    struct registration registration;

    if (registration_decode (&registration, frame, err) < 0)
        return -1;
    /* Its former connection may have broken. */
    if (roster->tasks > 0)
        roster->rank[registration.rank].launch = RANK_AWAITED;
    return step_add (server->step, &registration, &entry->srun, &entry->from, err) == STEP_REFUSED ? -1 : 0;
}

int launch_replay_launched (struct server *server, const struct journal_entry *entry, struct errtext *err)
{
    struct errtext why;

    server->now = entry->now;
    server->deadline.at_ms = entry->now - entry->number + server->config.timeout * INT64_C (1000);
    server->config.log_append = true;
    if (step_resolve (server->step, &server->host, err) < 0)
        return -1;
    if (_open_log (server, &why) < 0)
        console_say ("error: spank_tf: %s", why.text);
    if (supervisors_begin (server, err) < 0)
        return -1;
    server->resolved = true;
    narrator_start (server->step);
    return 0;
}

/* Registrations. */

/* The first registration has the number of ranks. */
static void _check_limit (struct server *server, int tasks)
{
    int room = server->limit - SERVER_OWN_FILES;

    if (tasks > room)
        _refuse (server,
                 "%s has %d tasks, but srun's limit of %d open files is enough for only %d. Raise the hard "
                 "limit (ulimit -Hn) on srun's host",
                 step_name (server->step), tasks, server->limit, room > 0 ? room : 0);
}

/* Refuse a task of which the roster takes no notice; the caller closes the connection. */
static void _refuse_peer (struct server *server, struct peer *peer)
{
    if (_encode_refusal (server, peer) == 0)
        peer_send_answer (&server->peers, peer);
}

static void _refuse_version (struct server *server, struct peer *peer, const struct hello *hello, int version)
{
    const char *node = hello->node ? hello->node : "a node";
    const char *release = hello->release ? hello->release : "?";
    struct quoted q1, q2;

    _refuse (server,
             "%s has spank-tf %s (protocol %d), but srun's host has %s (protocol %d). Install the same "
             "version on all hosts",
             text_quoted (&q1, node, strlen (node)), text_quoted (&q2, release, strlen (release)), version,
             PACKAGE_VERSION, FRAME_VERSION);
    _refuse_peer (server, peer);
}

/* Its answer did not arrive. False if it is not the rank that registered before. */
static bool _register_again (struct server *server, struct peer *peer,
                             const struct registration *registration)
{
    struct rank *rank = roster_return (step_roster (server->step), registration);

    if (!rank)
        return false;
    peer_set_rank (&server->peers, peer, rank, PEER_REGISTERED);
    supervisors_return (server, rank, NULL);
    _answer (server, peer);
    return true;
}

static bool _register (struct server *server, struct peer *peer, const struct registration *registration,
                       struct frame *frame)
{
    struct roster *roster = step_roster (server->step);
    struct address srun;
    struct errtext err;
    enum step_verdict verdict;
    bool first = roster->tasks == 0;

    if (address_local (&srun, peer->fd) < 0)
        return false;
    verdict = step_add (server->step, registration, &srun, &peer->from, &err);
    if (verdict == STEP_REFUSED && roster->tasks == 0)
        _refuse (server, "%s", err.text);
    if (verdict == STEP_IGNORED || roster->tasks == 0) {
        if (server->refused)
            _refuse_peer (server, peer);
        return false;
    }
    if (first)
        _check_limit (server, roster->tasks);
    if (first && !server->config.step)
        _await_ranks (server);
    if (verdict == STEP_ADDED)
        journal_add (server->journal,
                     &(struct journal_entry){ .kind = JOURNAL_REGISTERED, .srun = srun, .from = peer->from },
                     frame);
    if (verdict == STEP_REFUSED)
        _refuse (server, "%s", err.text);
    peer_set_rank (&server->peers, peer, &roster->rank[registration->rank], PEER_REGISTERED);
    if (server->refused)
        _answer (server, peer);
    return true;
}

/* Once: a node with the token could fill srun's output. */
static void _say_that_it_is_not_home (struct server *server, const struct peer *peer, const struct rank *rank,
                                      const char *node)
{
    struct address_text from, registered;
    char name[RANK_NAME_SIZE];
    struct quoted q;

    if (server->strangers)
        return;
    server->strangers = true;
    console_say ("spank_tf: %s: refused a connection for %s: it came from %s (\"%s\"), and the task had "
                 "registered from %s",
                 step_name (server->step), rank_name (rank, name), address_print (&peer->from, &from),
                 node ? text_quoted (&q, node, strlen (node)) : "", address_print (&rank->from, &registered));
}

/*
 * Any node with the token can write any rank, but a rank that has registered comes again from its own node.
 * After a refusal all are refused, so that each ends.
 */
static bool _is_home (struct server *server, const struct peer *peer, int number, const char *node)
{
    const struct roster *roster = step_roster (server->step);
    const struct rank *rank = number >= 0 && number < roster->tasks ? &roster->rank[number] : NULL;

    if (!rank || server->refused || roster_is_home (roster, rank, node, &peer->from))
        return true;
    _say_that_it_is_not_home (server, peer, rank, node);
    return false;
}

/* The first frame of a connection. False if the connection is to be closed. */
static bool _take_first_frame (struct server *server, struct peer *peer, struct frame *frame)
{
    struct registration registration;
    struct hello hello;

    fields_decode (&hello_fields, &hello, frame, NULL);
    if (!hello_shows (&hello, server->config.token))
        return false;
    if (frame_version (frame) != FRAME_VERSION) {
        _refuse_version (server, peer, &hello, frame_version (frame));
        return false;
    }
    if (hello.reconnects)
        return _is_home (server, peer, status_rank (frame, step_roster (server->step)->tasks), hello.node)
               && supervisors_reconnect (server, peer, frame);
    if (registration_decode (&registration, frame, NULL) < 0
        || !_is_home (server, peer, registration.rank, hello.node))
        return false;
    return server->resolved ? _register_again (server, peer, &registration)
                            : _register (server, peer, &registration, frame);
}

void launch_receive (struct server *server, struct peer *peer)
{
    struct frame *frame = NULL;
    int n;

    switch (peer->state) {
        case PEER_UNAUTHENTICATED:
            n = frame_read (&peer->reader, peer->fd, &frame, NULL);
            if (n < 0 || (n > 0 && !_take_first_frame (server, peer, frame)))
                peer_close (&server->peers, peer);
            break;
        case PEER_REGISTERED:
            if (!peer_is_open (peer))
                _lose (server, peer);
            break;
        case PEER_ANSWERING: _answer (server, peer); break;
        case PEER_ANSWERED:     /* not supervised: the acknowledgement ends the exchange */
            n = frame_read (&peer->reader, peer->fd, &frame, NULL);
            if (n > 0 && frame_has (frame, ACKNOWLEDGEMENT_KEY))
                peer_abort (&server->peers, peer);
            else if (n != 0)
                _lose (server, peer);
            break;
        case PEER_REFUSED:
            if (!peer_is_open (peer))
                peer_close (&server->peers, peer);
            break;
        case PEER_SUPERVISED:
        case PEER_CLOSED: break;
    }
    frame_destroy (frame);
}

/* What is due. */

static void _print_missing (struct server *server)
{
    const struct roster *roster = step_roster (server->step);
    int waited_ms = server->config.timeout * 1000 - deadline_left_ms (server->deadline);
    const char *why = waited_ms < NOTICE_WHY_MS ? "" : ". If this persists, " CHECK_NODES;
    char nodes[512];

    server->notice = deadline_in_ms (NOTICE_AGAIN_MS);
    if (roster->tasks == 0)
        console_say ("spank_tf: %s: no task has registered yet%s", step_name (server->step), why);
    else
        console_say ("spank_tf: %s: waiting for %d of %d tasks to register%s%s", step_name (server->step),
                     roster_missing (roster), roster->tasks,
                     rank_names_missing_nodes (roster, nodes, sizeof (nodes)), why);
}

static void _refuse_late (struct server *server)
{
    const struct roster *roster = step_roster (server->step);
    const char *step = step_name (server->step);
    char nodes[512], ranks[768];

    if (roster->tasks == 0)
        _refuse (server, "%s: no task registered within %d s, so the step was refused; " CHECK_NODES, step,
                 server->config.timeout);
    else
        _refuse (
            server,
            "%s: %d of %d tasks did not register within %d s%s, so the step was refused: %s; " CHECK_NODES,
            step, roster_missing (roster), roster->tasks, server->config.timeout,
            rank_names_missing_nodes (roster, nodes, sizeof (nodes)),
            rank_names_missing (roster, ranks, sizeof (ranks)));
}

static void _refuse_lost (struct server *server)
{
    struct roster *roster = step_roster (server->step);
    char ranks[768];

    _refuse (server, "%s: %d of %d tasks ended before the launch was complete, so the step was refused: %s",
             step_name (server->step), roster_gone (roster), roster->tasks,
             rank_names_gone (roster, ranks, sizeof (ranks)));
}

/* The others have started, so the launch can no longer be refused. */
static void _print_unanswered (struct server *server)
{
    struct roster *roster = step_roster (server->step);
    char ranks[768];

    server->lost_deadline = deadline_never ();
    console_say ("error: spank_tf: %s: %d of %d tasks ended before they received TF_CONFIG, and the "
                 "other tasks had started: %s. Cancel the step and run it again",
                 step_name (server->step), roster_gone (roster), roster->tasks,
                 rank_names_gone (roster, ranks, sizeof (ranks)));
}

/* SIGTERM makes srun kill what is left of the step, and end. */
static void _end_srun (struct server *server)
{
    server->srun_deadline = deadline_never ();
    if (getppid () != server->srun)
        return;
    console_say ("spank_tf: %s: some nodes do not report the end of their tasks, so srun is ended",
                 step_name (server->step));
    console_flush ();
    kill (server->srun, SIGTERM);
}

void launch_check (struct server *server)
{
    const struct roster *roster = step_roster (server->step);
    bool lost = roster_gone (roster) && deadline_passed (server->lost_deadline);

    if (server->refused && deadline_passed (server->srun_deadline))
        _end_srun (server);
    if (server->resolved && lost)
        _print_unanswered (server);
    if (!_goes_on (server))
        return;
    if (roster->tasks && roster_missing (roster) == 0)
        _complete (server);
    else if (lost)
        _refuse_lost (server);
    else if (deadline_passed (server->deadline))
        _refuse_late (server);
    else if (deadline_passed (server->notice))
        _print_missing (server);
}

struct deadline launch_next (const struct server *server)
{
    struct deadline next = deadline_min (server->deadline, server->notice);

    if (server->refused)
        return server->srun_deadline;
    if (server->resolved)
        next = deadline_never ();
    return roster_gone (step_roster (server->step)) ? deadline_min (next, server->lost_deadline) : next;
}
