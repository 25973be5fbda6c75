/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "supervisors.h"

#include <errno.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>

#include "common/silence.h"
#include "console.h"
#include "job/duties.h"
#include "job/goals.h"
#include "job/job.h"
#include "job/place.h"
#include "journal.h"
#include "narrator.h"
#include "notify.h"
#include "requeuer.h"

/*
 * Inputs: what happens is written down before it leads to anything; after this rendezvous another one does
 * the same again.
 */

/* A rank's, as the job knows it. */
struct wire {
    enum rank_link link;
    bool silent;
};

static struct wire _wire (const struct rank *rank)
{
    return (struct wire){ rank->link, rank->link != LINK_NONE && rank->silent };
}

/* Of links that have changed. False if none has. */
static bool _note_wire (struct server *server)
{
    const struct roster *roster = step_roster (server->step);
    bool changed = false;

    EACH_RANK (rank, roster) {
        struct wire wire = _wire (rank), *known = &server->wire[rank->number];

        if (wire.link == known->link && wire.silent == known->silent)
            continue;
        *known = wire;
        changed = true;
        journal_add (
            server->journal,
            &(struct journal_entry){
                .kind = JOURNAL_WIRE, .rank = rank->number, .number = (int)wire.link, .silent = wire.silent },
            NULL);
    }
    return changed;
}

static void _apply (struct server *server, const struct journal_entry *e, const struct frame *frame)
{
    struct rank *rank = &step_roster (server->step)->rank[e->rank];
    struct slurm_job slurm = { .obstacle = SLURM_JOB_SILENT };
    struct status status = { .ended = false };
    struct job *job = server->job;
    bool known = !frame                     ? true
                 : e->kind == JOURNAL_SLURM ? fields_decode (&slurm_job_fields, &slurm, frame, NULL) == 0
                                            : status_decode (&status, frame, NULL) == 0;

    /* A task that has registered again has told none. */
    if (!known)
        return;
    switch (e->kind) {
        case JOURNAL_CONFIG:
        case JOURNAL_REGISTERED: break;
        case JOURNAL_LAUNCHED: job_launched (job, e->now, e->number); break;
        case JOURNAL_WIRE:
            rank->link = (enum rank_link)e->number;
            rank->silent = e->silent;
            server->wire[e->rank] = _wire (rank);
            break;
        case JOURNAL_ABSENT: job_absent (job, e->now, rank, e->number, e->heard); break;
        case JOURNAL_RETURNED: job_returned (job, e->now, rank, &status); break;
        case JOURNAL_STATUS: job_status (job, e->now, rank, &status); break;
        case JOURNAL_TIME: job_time (job, e->now); break;
        case JOURNAL_SLURM: job_slurm (job, e->now, &slurm); break;
    }
    pace_note (&server->pace, job->run, job->ledger.reached);
    server->timed = e->kind == JOURNAL_TIME;
}

static void _take (struct server *server, struct journal_entry entry, struct frame *frame)
{
    entry.now = server->now;
    if (entry.kind != JOURNAL_LAUNCHED)
        _note_wire (server);
    journal_add (server->journal, &entry, frame);
    _apply (server, &entry, frame);
}

/* Whether there are any. */

/* Without supervisors the step would not be what the user has asked for. */
static bool _needs_supervisors (const struct server *server)
{
    return duties_need_supervisors (server->job) || server->config.show || step_log_dir (server->step)
           || server->config.restart.times > 0 || server->config.watch.seconds > 0
           || server->config.requeue > 0 || server->config.task.preflight;
}

/*
 * A step of several tasks has supervisors also to learn which one failed first, unless the user wants
 * none to be stopped; and any step, if a program is told its end. A parallel debugger stops and shows
 * slurmstepd's children, which have to be the programs.
 */
static bool _supervises (const struct server *server, bool needed)
{
    bool wanted = needed || rendezvous_config_notifies (&server->config)
                  || (step_roster (server->step)->tasks > 1 && server->config.stop != STOP_WHEN_NEVER);

    if (needed && server->config.debugged)
        console_say ("spank_tf: %s: under a parallel debugger no task is stopped when training has "
                     "finished%s, and the ends of tasks are not shown%s",
                     step_name (server->step), server->config.restart.times > 0 ? ", or restarted" : "",
                     server->config.tee ? "; srun does not get their output" : "");
    return wanted && !server->config.debugged;
}

int supervisors_begin (struct server *server, struct errtext *err)
{
    struct roster *roster = step_roster (server->step);
    int64_t begun = server->deadline.at_ms - server->config.timeout * INT64_C (1000);
    bool needed, supervises;
    struct errtext why;
    int rc = 0;

    server->leaves_due = NEVER;
    server->job = job_create (&server->config, roster->rank, roster->tasks, roster->place, roster->places);
    server->wire = calloc ((size_t)roster->tasks, sizeof (*server->wire));
    if (!server->job || !server->wire || !(server->lines = restart_lines_create (server->step))) {
        supervisors_end (server);
        return errtext_set (err, "%s", strerror (ENOMEM));
    }
    needed = _needs_supervisors (server);
    supervises = _supervises (server, needed);
    /* A node without tf-supervise refuses no step that can do without it. */
    if (supervises && step_supervise (server->step, needed ? err : &why) < 0) {
        supervises = false;
        rc = needed ? -1 : 0;
        if (!needed)
            console_say ("spank_tf: %s; the step runs without supervisors, so srun does not report which "
                         "task fails first",
                         why.text);
    }
    if (supervises)
        _take (server,
               (struct journal_entry){ .kind = JOURNAL_LAUNCHED, .number = (int)(server->now - begun) },
               NULL);
    else
        supervisors_end (server);
    return rc;
}

void supervisors_end (struct server *server)
{
    job_destroy (server->job);
    restart_lines_destroy (server->lines);
    free (server->wire);
    server->job = NULL;
    server->lines = NULL;
    server->wire = NULL;
}

/* Goals. */

/* How long supervisors that may leave wait for what is written before, and how often that is looked at. */
#define LEAVES_MS 2000
#define LEAVES_LOOK_MS 5

/* What could not be sent is told on the supervisor's next connection. */
static void _break (struct server *server, struct peer *peer)
{
    supervisors_lose (server, peer, JOB_BROKEN_MS);
}

static void _send_answer (struct server *server, struct peer *peer)
{
    if (peer_send_answer (&server->peers, peer) < 0)
        _break (server, peer);
}

/*
 * How long nothing has come from the host of a peer: neither an answer nor a question, which its supervisor
 * takes for our answer. When a question came is not known, but that one has come since the last look is.
 */
static int64_t _silence_ms (const struct server *server, struct peer *peer)
{
    uint32_t segments;
    int silent_ms = silence_ms (peer->fd, &segments);

    if (segments != peer->segments) {
        peer->segments = segments;
        peer->heard = server->now;
    }
    return moment_first (server->now - peer->heard, silent_ms);
}

/* With spares: what is sent now might arrive, but not the answer, and renew a lease that is over here. */
static bool _is_unheard (const struct server *server, struct peer *peer)
{
    int lost_after = server->config.lost_after;

    return lost_after > 0 && peer->silent_ms >= silence_asked_ms (lost_after)
           && _silence_ms (server, peer) >= silence_asked_ms (lost_after);
}

static void _send_goal (struct server *server, struct peer *peer, const struct goal *goal, bool begins)
{
    if (_is_unheard (server, peer)) {
        _break (server, peer);
        return;
    }
    if (!begins) {
        if (peer_send (peer, goal_encode (goal, server->config.server_token)) < 0)
            _break (server, peer);
        return;
    }
    answer_message_clear (&peer->answer);
    peer->part = 0;
    if (step_answer (server->step, peer->rank, goal, &peer->answer) < 0)
        _break (server, peer);
    else
        _send_answer (server, peer);
}

/*
 * srun may end as soon as the last supervisor has left, and a batch script with it: then what is not
 * written is lost, and Slurm kills the site's program. But if srun ends the step some time after its first
 * task, that program must not make the others late. A job whose script has ended cannot be requeued any more.
 */
static bool _may_leave (const struct server *server)
{
    bool busy = server->config.wait == 0 && notify_has_last ();

    if (requeuer_is_busy (&server->requeuer))
        return false;
    return server->now >= server->leaves_due || (console_is_written () && !busy);
}

static void _send_goals (struct server *server)
{
    const struct roster *roster = step_roster (server->step);
    bool may_leave = _may_leave (server), leaves = false, begins;
    struct goal goal;

    if (server->leaves_due != NEVER && may_leave)
        console_give_up ();
    EACH_RANK (rank, roster) {
        if (job_tells (server->job, rank, may_leave, &goal, &begins)) {
            goal.check.sent = time (NULL);
            _send_goal (server, rank->peer, &goal, begins);
        } else
            leaves = leaves || (goal.leave && rank->link == LINK_UP && !rank->told.leave);
    }
    server->leaves_due = leaves ? moment_first (server->leaves_due, server->now + LEAVES_MS) : NEVER;
}

/* Ranks have new places. Answers that are on their way are in the dictionary that is going to be freed. */
static bool _change_places (struct server *server, const struct rank *spare)
{
    const struct roster *roster = step_roster (server->step);
    struct errtext err;

    EACH_RANK (rank, roster)
        if (rank->peer && peer_is_sending (rank->peer))
            _break (server, rank->peer);
    if (step_change (server->step, &err) == 0)
        return true;
    /* The restart of all is given up. */
    console_say ("error: spank_tf: %s", err.text);
    if (spare->place)
        place_forbid (spare->place, PLACE_CANNOT);
    return false;
}

static void _perform_one (struct server *server, const struct fact *fact)
{
    if (fact->kind == FACT_ASKS_SLURM && !console_is_muted ())
        requeuer_ask (server);
    if (fact->kind != FACT_PLACES || _change_places (server, fact->rank))
        narrator_tell (server->step, server->lines, fact);
    /* A rendezvous that was killed has perhaps not done it. If it has, the job does not run any more. */
    if (fact->kind == FACT_REQUEUE && fact->requeue == REQUEUE_GOES_ON)
        requeuer_requeue (server, fact);
}

static void _perform (struct server *server)
{
    struct fact fact;

    while (facts_take (&server->job->facts, &fact)) {
        _perform_one (server, &fact);
        fact_clear (&fact);
    }
}

/* Inputs. */

/* With spare tasks the kernel is asked so often when hosts were heard. */
#define HEARD_MS 1000

void supervisors_lose (struct server *server, struct peer *peer, int ms)
{
    struct rank *rank = peer->rank;
    int64_t heard = server->now - _silence_ms (server, peer);

    if (ms == JOB_BROKEN_MS)
        peer_abort (&server->peers, peer);
    else
        peer_close (&server->peers, peer);
    if (server->job)
        _take (server,
               (struct journal_entry){
                   .kind = JOURNAL_ABSENT, .rank = rank->number, .number = ms, .heard = heard },
               NULL);
}

void supervisors_return (struct server *server, struct rank *rank, struct frame *frame)
{
    if (!server->job)
        return;
    _take (server, (struct journal_entry){ .kind = JOURNAL_RETURNED, .rank = rank->number }, frame);
    _perform (server);
}

static bool _has_underway (const struct peer *peer)
{
    int bytes = 0;

    return ioctl (peer->fd, SIOCOUTQ, &bytes) == 0 && bytes > 0;
}

/*
 * The kernel breaks a silent connection later if something was sent on it: its time begins with that. And it
 * sends that again.
 */
static void _break_silent (struct server *server)
{
    const struct roster *roster = step_roster (server->step);

    EACH_RANK (rank, roster)
        if (rank->peer && _is_unheard (server, rank->peer)
            && (_silence_ms (server, rank->peer) >= server->config.lost_after * SECOND_MS
                || _has_underway (rank->peer)))
            _break (server, rank->peer);
}

static void _ask_heard (struct server *server)
{
    const struct roster *roster = step_roster (server->step);

    if (server->config.lost_after == 0 || server->now - server->asked_heard < HEARD_MS)
        return;
    server->asked_heard = server->now;
    EACH_RANK (rank, roster)
        if (rank->peer) {
            rank->peer->silent_ms = _silence_ms (server, rank->peer);
            rank->silent = rank->peer->silent_ms > silence_long_ms (server->config.lost_after);
        }
}

/*
 * How the connection ends, if it does. MSG_PEEK clears an error of the socket; the read that follows then
 * shows end-of-file.
 */
static int _absence_ms (const struct peer *peer)
{
    char byte;
    ssize_t n = recv (peer->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

    if (n == 0)
        return JOB_CLOSED_MS;
    return n < 0 && errno == ECONNRESET ? JOB_RESET_MS : JOB_BROKEN_MS;
}

/* For tf-status. The journal would be full of these. */
static void _take_aside (const struct server *server, struct rank *rank, const struct signs *signs)
{
    rank->aside.life = signs->life;
    rank->aside.step = signs->step;
    rank->aside.at = server->now;
    rank->aside.ago_ms = signs->ago_ms;
}

void supervisors_receive (struct server *server, struct peer *peer)
{
    struct status status;
    struct frame *frame = NULL;
    bool decoded;
    int absence, n;

    _ask_heard (server);
    if (peer_is_sending (peer)) {
        _send_answer (server, peer);
        return;
    }
    absence = _absence_ms (peer);
    n = frame_read (&peer->reader, peer->fd, &frame, NULL);
    decoded = n > 0 && status_decode (&status, frame, NULL) == 0;
    if (decoded && status.signs.aside)
        _take_aside (server, peer->rank, &status.signs);
    else if (decoded)
        _take (server, (struct journal_entry){ .kind = JOURNAL_STATUS, .rank = peer->rank->number }, frame);
    else if (n != 0)
        supervisors_lose (server, peer, absence);
    frame_destroy (frame);
    _perform (server);
}

bool supervisors_reconnect (struct server *server, struct peer *peer, struct frame *frame)
{
    const struct roster *roster = step_roster (server->step);
    int rank = status_rank (frame, roster->tasks);
    struct status status;

    if (!server->job || rank < 0 || status_decode (&status, frame, NULL) < 0)
        return false;
    _ask_heard (server);
    peer_set_rank (&server->peers, peer, &roster->rank[rank], PEER_SUPERVISED);
    supervisors_return (server, &roster->rank[rank], frame);
    return true;
}

void supervisors_cut (struct server *server)
{
    if (!server->job)
        return;
    job_cut (server->job, server->now);
    _perform (server);
}

static int64_t _due (const struct server *server)
{
    return moment_first (job_due (server->job), restart_lines_due (server->lines));
}

static void _take_slurm (struct server *server)
{
    struct frame *answer = requeuer_take_answer (&server->requeuer);

    if (!answer)
        return;
    _take (server, (struct journal_entry){ .kind = JOURNAL_SLURM }, answer);
    _perform (server);
    frame_destroy (answer);
}

void supervisors_check (struct server *server)
{
    if (!server->job)
        return;
    _ask_heard (server);
    _break_silent (server);
    _take_slurm (server);
    if (_note_wire (server) || !server->timed || server->now >= _due (server)) {
        _take (server, (struct journal_entry){ .kind = JOURNAL_TIME }, NULL);
        _perform (server);
        restart_lines_check (server->lines, server->now);
    }
    if (console_has_passed_on ())
        journal_set_done (server->journal);
    _send_goals (server);
}

void supervisors_replay (struct server *server, const struct journal_entry *entry, const struct frame *frame)
{
    server->now = entry->now;
    _apply (server, entry, frame);
    _perform (server);
    if (entry->kind == JOURNAL_TIME)
        restart_lines_check (server->lines, server->now);
}

void supervisors_revive (struct server *server)
{
    const struct roster *roster = step_roster (server->step);

    EACH_RANK (rank, roster) {
        bool linked = rank->link != LINK_NONE;

        rank->link = LINK_NONE;
        /* The one before may have been killed as it was about to write down a connection, or its end. */
        if (!linked && (rank->away != NEVER || !rank_is_supervised (rank)))
            continue;
        _take (
            server,
            (struct journal_entry){
                .kind = JOURNAL_ABSENT, .rank = rank->number, .number = JOB_BROKEN_MS, .heard = server->now },
            NULL);
    }
    _perform (server);
    /* The answer to what the one before has asked does not come. */
    if (server->config.requeue > 0 && server->job->requeue.ask == NEVER)
        requeuer_ask (server);
}

struct deadline supervisors_next (const struct server *server)
{
    int64_t next;

    if (!server->job)
        return deadline_never ();
    next = _due (server);
    if (server->leaves_due != NEVER)
        next = moment_first (next, server->now + LEAVES_LOOK_MS);
    return (struct deadline){ next };
}

struct deadline supervisors_look (const struct server *server)
{
    return server->job && server->config.lost_after > 0 ? (struct deadline){ server->asked_heard + HEARD_MS }
                                                        : deadline_never ();
}
