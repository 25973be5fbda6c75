/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The rendezvous: its journal (rendezvous/journal.h), its wire (rendezvous/supervisors.c), and what it
 * prints. What decides is the real job.
 */
#include "config.h"

#include "inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "common/silence.h"
#include "job/ends.h"
#include "job/goals.h"
#include "job/place.h"

#define MOST_INPUTS 16384

/* The rendezvous: its ranks. */

static void _init_rank (int i)
{
    snprintf (w.node_name[w.plan->node[i]], sizeof (w.node_name[0]), "n%d", (w.plan->node[i] + 1) % 100);
    w.rank[i] = (struct rank){ .number = i,
                               .launch = RANK_HERE,
                               .node = w.node_name[w.plan->node[i]],
                               .node_index = w.plan->node[i],
                               .at_srun = w.plan->node[i] == w.plan->srun,
                               .port = 40000 + i,
                               .master_port = 50000 + i,
                               .role = plan_role (w.plan, i),
                               .index = i,
                               .link = LINK_UP };
    if (w.plan->kind[i] != RULES_SPARE) {
        struct place *p = w.rank[i].place = &w.place[w.places++];

        *p = (struct place){ .role = w.rank[i].role,
                             .index = i,
                             .kind = w.plan->kind[i],
                             .beside = w.plan->beside[i],
                             .rank = &w.rank[i] };
    }
    snprintf (w.rank[i].host.id, sizeof (w.rank[i].host.id), "host%d", w.plan->node[i] % 100);
}

static struct input input[MOST_INPUTS];
static int inputs;
static bool input_timed;
static struct {
    enum rank_link link;
    bool silent;
} wire[MOST_RANKS];

static void _decide (struct input *in)
{
    struct rank *rank = &w.rank[in->rank];

    if (in->status.life.cannot)
        in->status.life.cannot = in->cannot;
    switch (in->kind) {
        case LAUNCHED: job_launched (w.job, in->now, 0); break;
        case TOLD_STATUS: job_status (w.job, in->now, rank, &in->status); break;
        case ABSENT: job_absent (w.job, in->now, rank, in->ms, in->heard); break;
        case RETURNED: job_returned (w.job, in->now, rank, &in->status); break;
        case TIMED: job_time (w.job, in->now); break;
        case ANSWERED: job_slurm (w.job, in->now, &in->slurm); break;
        case WIRED:
            rank->link = wire[in->rank].link = in->link;
            rank->silent = wire[in->rank].silent = in->silent;
            break;
    }
    input_timed = in->kind == TIMED;
}

void rendezvous_forget (void)
{
    inputs = 0;
    memset (wire, 0, sizeof (wire));
}

static struct input *_add_input (const struct input *in)
{
    if (inputs == MOST_INPUTS) {
        w.overflow = true;
        inputs--;
    }
    input[inputs] = *in;
    return &input[inputs++];
}

static bool _note_wire (void)
{
    bool changed = false;

    for (int i = 0; i < w.plan->tasks; i++) {
        const struct rank *rank = &w.rank[i];

        if (rank->link == wire[i].link && rank->silent == wire[i].silent)
            continue;
        changed = true;
        wire[i].link = rank->link;
        wire[i].silent = rank->silent;
        _add_input (&(struct input){ .kind = WIRED, .rank = i, .link = rank->link, .silent = rank->silent });
    }
    return changed;
}

void rendezvous_take (const struct input *in)
{
    struct input *kept;

    if (in->kind != LAUNCHED)
        _note_wire ();
    kept = _add_input (in);
    kept->now = w.now;
    _decide (kept);
}

bool rendezvous_is_up (int rank)
{
    return w.its[rank] >= 0 && w.connection[w.its[rank]].up[RENDEZVOUS];
}

static bool _has_spare (void)
{
    for (int i = 0; i < w.plan->tasks; i++)
        if (!w.rank[i].place && !w.rank[i].replaced_by)
            return true;
    return false;
}

void rendezvous_lose (int rank, int ms)
{
    if (!rendezvous_is_up (rank))
        return;
    wire_close (w.its[rank], RENDEZVOUS, true);
    w.its[rank] = -1;
    w.rank[rank].link = LINK_NONE;
    rendezvous_take (
        &(struct input){ .kind = ABSENT,
                         .rank = rank,
                         .ms = ms,
                         .heard = w.plan->config.lost_after ? wire_heard (rank, RENDEZVOUS) : w.now });
}

static int64_t _silence (int rank)
{
    return w.now - wire_heard (rank, RENDEZVOUS);
}

static bool _is_unheard (int rank)
{
    return w.plan->config.lost_after && _silence (rank) >= silence_asked_ms (w.plan->config.lost_after);
}

static void _abort (int rank)
{
    w.connection[w.its[rank]].aborted = true;
    rendezvous_lose (rank, JOB_BROKEN_MS);
}

static void _send_goal (struct rank *rank, const struct goal *goal, bool begins)
{
    struct message message = { .kind = GOAL, .goal = *goal, .answer = begins };
    int64_t sent;

    if (_is_unheard (rank->number)) {
        _abort (rank->number);
        return;
    }
    if (begins) {
        message.generation = w.history->generations - 1;
        message.place = rank->place ? rank->place->index : -1;
        message.lost_after = _has_spare () ? w.plan->config.lost_after : 0;
        message.serves = rank->place && rank->place->duty.serves;
        message.watched = rank->place && rank->place->duty.works && w.plan->config.watch.seconds;
        sent = moment_last (w.now, wire_node (rank->number)->cut_until) + events_below (100);
        rank->link = LINK_BUSY;
        events_push (sent, SENT, w.its[rank->number], 0);
    }
    if (goal->stop == GOAL_STOP)
        notes_add (TOLD_TO_STOP, rank->number, 0)->life = goal->life;
    wire_send (w.its[rank->number], SUPERVISOR, &message);
}

static void _send_goals (void)
{
    struct goal goal;
    bool begins;

    for (int i = 0; i < w.plan->tasks; i++)
        if (rendezvous_is_up (i) && job_tells (w.job, &w.rank[i], true, &goal, &begins))
            _send_goal (&w.rank[i], &goal, begins);
}

void rendezvous_note_places (void)
{
    struct history *h = w.history;

    if (h->generations == 16) {
        w.overflow = true;
        return;
    }
    for (int i = 0; i < w.plan->tasks; i++)
        h->place[h->generations][i] = w.rank[i].place ? w.rank[i].place->index : -1;
    h->generations++;
}

static void _change_places (void)
{
    for (int i = 0; i < w.plan->tasks; i++)
        if (w.rank[i].link == LINK_BUSY)
            rendezvous_lose (i, JOB_BROKEN_MS);
    rendezvous_note_places ();
    notes_add (PLACES, 0, w.history->generations - 1);
    notes_say ("new places: dictionary %d", w.history->generations - 1);
}

static int _status_of (const struct exit_report *report)
{
    switch (report->kind) {
        case EXIT_REPORT_SIGNAL: return report->number;
        case EXIT_REPORT_HUNG: return W_EXITCODE (EXIT_REPORT_HUNG_CODE, 0);
        case EXIT_REPORT_STOPPED: return 0;
        default: return W_EXITCODE (report->number, 0);
    }
}

static void _note_table (void)
{
    const struct rank *first = ends_first_to_fail (w.rank, w.plan->tasks);

    for (int i = 0; i < w.plan->tasks; i++) {
        const struct rank *rank = &w.rank[i];
        struct note *note = notes_add (TABLE, i, rank->lost || rank->replaced_by || rank->replaces);

        note->status = _status_of (&rank->end.report);
        note->base = rank->end.report.killed;
        note->life = rank->place ? rank->place->life.number : 0;
    }
    notes_add (FIRST, first ? first->number : -1, 0);
}

/* As if Slurm had sent SIGTERM. */
static void _note_limit (void)
{
    for (int i = 0; i < w.plan->disturbances; i++)
        if (w.plan->disturbance[i].kind == LIMIT)
            notes_add (DISTURBED, 0, i)->status = LIMIT;
}

/* What a user reads. */
static void _tell (const struct fact *fact)
{
    static const char *const name[] = {
        [FACT_REPORTED] = "reported", [FACT_DECIDED] = "decided",     [FACT_BEGINS] = "begins",
        [FACT_AGAIN] = "again",       [FACT_OVER] = "job over",       [FACT_GRACE] = "grace",
        [FACT_KILLED] = "killed",     [FACT_LOST] = "lost",           [FACT_REPLACED] = "replaced",
        [FACT_HANG] = "hang",         [FACT_HEARTBEAT] = "heartbeat", [FACT_CUT] = "cut",
        [FACT_ENDED] = "all ended",   [FACT_SAVE] = "save",           [FACT_REQUEUE] = "requeue",
        [FACT_SUSPECT] = "suspect",   [FACT_UNREACHED] = "unreached",
    };
    struct note *note;

    if ((fact->kind == FACT_KILLED || fact->kind == FACT_GRACE) && fact->count == 0)
        return;
    note = notes_add (TOLD,
                      fact->rank    ? fact->rank->number
                      : fact->count ? fact->ranks[0].rank->number
                                    : -1,
                      fact->kind);
    note->life = fact->rank ? rank_restarts (fact->rank) : 0;
    note->status = (int)fact->decision;
    note->place = fact->left;
    if (fact->kind == FACT_REQUEUE)
        note->status = (int)fact->requeue;
    if (fact->kind == FACT_SUSPECT)
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): it is the fact of a rank. */
        note->status = (int)fact->rank->check.found;
    if (fact->kind == FACT_OVER)
        note->status = (int)fact->cause;
    notes_say ("told: %s, rank %d, decision %d, left %d", name[fact->kind] ? name[fact->kind] : "?",
               note->rank, note->status, fact->left);
    if (fact->kind == FACT_HANG && fact->count)
        note->life = rank_restarts (fact->ranks[0].rank);
    for (int i = 1; i < fact->count
                    && (fact->kind == FACT_LOST || fact->kind == FACT_REPLACED || fact->kind == FACT_HANG);
         i++) {
        note = notes_add (TOLD, fact->ranks[i].rank->number, fact->kind);
        note->life = rank_restarts (fact->ranks[i].rank);
        note->place = fact->left;
    }
    if (fact->kind == FACT_SAVE)
        _note_limit ();
    if (fact->kind == FACT_ENDED) {
        w.history->has_ledger = true;
        w.history->ledger = *fact->ledger;
        w.history->ledger_at = w.now;
        _note_table ();
    }
}

/* That takes a while. */
static void _ask_slurm (void)
{
    events_push (w.now + 20 + events_below (2000), SLURM_ANSWERS, 0, 0);
}

/* The job ends so long after LIMIT; or it was asked about in vain. */
void rendezvous_hear_slurm (void)
{
    struct input in = { .kind = ANSWERED, .slurm = { .obstacle = SLURM_JOB_SILENT } };
    const struct disturbance *d = w.plan->disturbance;

    while (d->kind != LIMIT)
        d++;
    if (events_below (8) > 0) {
        int64_t left = d->at + 100000 + w.plan->config.requeue * SECOND_MS - w.now;

        in.slurm.obstacle = SLURM_JOB_GOES_ON;
        in.slurm.left = left > SECOND_MS ? (int)(left / SECOND_MS) : 1;
    }
    rendezvous_take (&in);
    rendezvous_perform_facts ();
}

void rendezvous_perform_facts (void)
{
    struct fact fact;

    while (facts_take (&w.job->facts, &fact)) {
        if (fact.kind == FACT_PLACES)
            _change_places ();
        else if (fact.kind == FACT_ASKS_SLURM)
            _ask_slurm ();
        else
            _tell (&fact);
        fact_clear (&fact);
    }
}

static void _ask_heard (void)
{
    int lost_after = w.plan->config.lost_after;

    if (lost_after == 0 || w.now - w.asked_heard < HEARD_MS)
        return;
    w.asked_heard = w.now;
    for (int i = 0; i < w.plan->tasks; i++)
        if (rendezvous_is_up (i))
            w.rank[i].silent = _silence (i) > silence_long_ms (lost_after);
    for (int i = 0; i < w.plan->tasks; i++)
        if (rendezvous_is_up (i) && _is_unheard (i)
            && (_silence (i) >= lost_after * SECOND_MS || w.connection[w.its[i]].underway > 0))
            _abort (i);
}

/* It stays until then. */
void rendezvous_end (void)
{
    w.runs = false;
    notes_add (RENDEZVOUS_ENDED, -1, 0);
    for (int i = 0; i < w.connections; i++)
        wire_close (i, RENDEZVOUS, true);
}

/*
 * A new one does again what it reads. What that leads to has been told; what was sent is lost with the
 * connections.
 */
void rendezvous_begin_again (void)
{
    struct fact fact;

    w.dying = false;
    job_destroy (w.job);
    memset (wire, 0, sizeof (wire));
    w.places = 0;
    for (int i = 0; i < w.plan->tasks; i++) {
        _init_rank (i);
        w.rank[i].link = LINK_NONE;
    }
    if (!(w.job = job_create (&w.plan->config, w.rank, w.plan->tasks, w.place, w.places)))
        abort ();
    for (int i = 0; i < inputs; i++) {
        _decide (&input[i]);
        while (facts_take (&w.job->facts, &fact))
            fact_clear (&fact);
    }
    for (int i = 0; i < w.plan->tasks; i++) {
        if (wire[i].link == LINK_NONE)
            continue;
        wire_close (w.its[i], RENDEZVOUS, true);
        w.its[i] = -1;
        w.rank[i].link = LINK_NONE;
        rendezvous_take (&(struct input){ .kind = ABSENT, .rank = i, .ms = JOB_BROKEN_MS, .heard = w.now });
    }
    if (w.plan->config.requeue > 0 && w.job->requeue.ask == NEVER)
        _ask_slurm ();
}

void rendezvous_check (void)
{
    int looks = 0;

    do {
        _ask_heard ();
        if (_note_wire () || !input_timed || job_due (w.job) <= w.now)
            rendezvous_take (&(struct input){ .kind = TIMED });
        rendezvous_perform_facts ();
        if (!w.dying)
            _send_goals ();
    } while (job_due (w.job) <= w.now && looks++ < 100);
    if (looks > 100) {
        notes_add (STUCK, -1, 0);
        w.overflow = true;
    }
}

void rendezvous_receive (struct message *message)
{
    int number = w.connection[message->connection].rank;
    struct rank *rank = &w.rank[number];
    struct input told;

    told = (struct input){ .kind = TOLD_STATUS, .rank = number, .status = message->status };
    memcpy (told.cannot, message->cannot, sizeof (told.cannot));
    _ask_heard ();
    if (message->kind == HELLO) {
        if (rendezvous_is_up (number))
            wire_close (w.its[number], RENDEZVOUS, true);
        w.its[number] = message->connection;
        rank->link = LINK_UP;
        rank->silent = false;
        told.kind = RETURNED;
        rendezvous_take (&told);
    } else if (w.its[number] == message->connection)
        rendezvous_take (&told);
    rendezvous_perform_facts ();
}

/* The beginning. */

void rendezvous_begin_rank (int i)
{
    _init_rank (i);
    w.connection[i] = (struct connection){ .rank = i, .up = { true, true } };
    w.its[i] = i;
}
