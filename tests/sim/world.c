/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The rendezvous' wire (rendezvous/supervisors.c), a supervisor's loop and its connection
 * (supervise/tf-supervise.c, uplink.c) are here once more, without sockets. What decides is the real code.
 */
#include "config.h"

#include "world.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "../random.h"
#include "common/silence.h"
#include "supervise/machine.h"

/* uplink.c's. */
#define PAUSE_MIN_MS 200
#define PAUSE_MAX_MS 30000
#define PAUSE_REPORT_MS 5000
#define PAUSE_CUT_OFF_MS 1000
#define CONNECT_MS 10000
#define IDLE_LOST_MS 60000
#define REPORT_LOST_MS 5000

/* Slurm notices after this time that a node is gone. */
#define SLURMD_TIMEOUT_MS 90000
/* ... and kills what srun has left. */
#define SRUN_LOST_MS 3000
/* From SIGTSTP to SIGSTOP. */
#define SUSPEND_MS 2000
#define HEARD_MS 1000
/* After the last disturbance; longer than any bound of promises.c. */
#define HORIZON_MS (INT64_C (5) * 3600 * 1000)

#define MOST_EVENTS 2048
#define MOST_MESSAGES 4096
#define MOST_CONNECTIONS 512
#define MOST_INBOX 32
#define MOST_OUTAGES 8

enum side { SUPERVISOR, RENDEZVOUS };

struct message {
    enum { HELLO, STATUS, GOAL } kind;
    int connection;
    struct status status;
    char cannot[64];
    struct goal goal;
    bool answer;                    /* with it: */
    int generation, place, lost_after;
    bool serves, watched;
};

struct connection {
    int rank;
    bool up[2];
    int64_t last[2];                /* when the last message arrives there */
};

struct event {
    int64_t at;
    int nth;
    enum {
        DELIVER,                    /* the message `a` to the rendezvous or a supervisor */
        BREAK, /* the kernel of side `b` gives up connection `a` if it is cut since `since` */
        TELL_RESET, /* side `b` of connection `a` sees a reset; */
        TELL_CLOSE, /* ... its end */
        CONNECTED, /* rank `a`, attempt `b` */
        SENT, /* the answer on connection `a` */
        DISTURB,
        CALM,
        STOP_ALL, /* SIGSTOP to a job that is suspended, for the `a`th time */
        KILL_STEP,
        EXIT_KNOWN, /* srun learns of the end of rank `a` */
        GIVE_UP_NODE, /* Slurm does: `a` */
    } kind;
    int a, b;
    int64_t since;
};

struct node {
    bool dead;
    int64_t cut_since, cut_until; /* no path to srun's host */
    int64_t refused_until; /* ... and its firewall says so */
    int64_t blocked_until; /* ... for Slurm neither */
    int64_t isolated_until; /* nor to any other host */
    struct {
        int64_t from, until;
    } outage[MOST_OUTAGES];
    int outages;
};

struct program {
    bool alive, stopped;
    int life, place, generation;
    const struct script *script;
    int64_t began, ends, ended; /* NEVER */
    int base; /* the step after which it goes on */
    int status;
    enum end_cause cause;
    bool ending; /* it handles SIGTERM */
    bool asked; /* its supervisor has asked it to end */
    bool others; /* a process in the background, */
    int64_t others_end;
};

struct supervisor {
    bool alive, frozen, left;
    struct supervisor_config config;
    struct machine machine;
    bool fork_server, child_ended, had_life, orphaned;
    /* Its connection. */
    enum { CONNECTED_STATE, CONNECTING, PAUSING } state;
    int connection, attempt;
    int64_t next, stable;
    int pause_ms;
    struct link link;
    bool known, fresh;
    int report; /* the number of the report in its last status, or 0 */
    struct goal goal; /* the last */
    int inbox[MOST_INBOX], inbox_count;
    /* The answer. */
    bool has_answer;
    struct message answer;
    int generation, place;
    bool watched;
    enum signs_source told_source;
    bool told_overdue, asked_to_end;
    bool suspended; /* as it has told last */
    int told_step, highest; /* of its lives before this one */
    int64_t step_told_at;
    struct signal pending[8];
    int pendings;
};

static struct {
    const struct plan *plan;
    struct history *history;
    bool print;
    uint64_t random;
    int64_t now;
    struct event event[MOST_EVENTS];
    int events, nth;
    struct message message[MOST_MESSAGES];
    int messages;
    struct connection connection[MOST_CONNECTIONS];
    int connections;
    struct node node[MOST_NODES];
    struct program program[MOST_RANKS];
    struct supervisor supervisor[MOST_RANKS];
    /* The rendezvous. */
    struct job *job;
    struct rank rank[MOST_RANKS];
    char node_name[MOST_NODES][16];
    bool runs; /* the rendezvous */
    int its[MOST_RANKS]; /* connection of a rank, or -1 */
    int64_t asked_heard;
    bool rendezvous_frozen;
    bool dying; /* it is killed before it sends what it decides at this moment */
    int64_t frozen_until;
    int busy; /* performing facts */
    /* srun and Slurm. */
    bool srun, suspended;
    int suspensions;
    int64_t resumes;
    bool known[MOST_RANKS]; /* srun knows that it has ended */
    int exit_status[MOST_RANKS];
    int reached; /* the highest step of all programs that have ended */
    bool overflow;
} w;

static int _below (int number)
{
    return (int)(random_next (&w.random) % (unsigned int)number);
}

/* History. */

static void _hash (int64_t value)
{
    for (int i = 0; i < 8; i++)
        w.history->hash = (w.history->hash ^ (uint8_t)(value >> 8 * i)) * UINT64_C (0x100000001b3);
}

static struct note *_note (enum note_kind kind, int rank, int number)
{
    static struct note none;
    struct note *note = &none;

    if (w.history->notes == MOST_NOTES)
        w.overflow = true;
    else
        note = &w.history->note[w.history->notes++];
    *note = (struct note){ .at = w.now, .kind = kind, .rank = rank, .number = number, .place = -1 };
    _hash (w.now);
    _hash (kind * 1000003 + rank * 1009 + number);
    return note;
}

static void __attribute__ ((format (printf, 1, 2))) _say (const char *fmt, ...)
{
    va_list ap;

    if (!w.print)
        return;
    printf ("%10.3f  ", (double)w.now / 1000);
    va_start (ap, fmt);
    vprintf (fmt, ap);
    va_end (ap);
    printf ("\n");
}

/* Events. */

static bool _is_before (const struct event *a, const struct event *b)
{
    return a->at < b->at || (a->at == b->at && a->nth < b->nth);
}

static struct event *_push (int64_t at, int kind, int a, int b)
{
    static struct event none;
    int i = w.events;

    if (w.events == MOST_EVENTS) {
        w.overflow = true;
        return &none;
    }
    w.events++;
    w.event[i] = (struct event){ .at = at, .nth = w.nth++, .kind = kind, .a = a, .b = b, .since = w.now };
    for (; i > 0 && _is_before (&w.event[i], &w.event[(i - 1) / 2]); i = (i - 1) / 2) {
        struct event moved = w.event[i];

        w.event[i] = w.event[(i - 1) / 2];
        w.event[(i - 1) / 2] = moved;
    }
    return &w.event[i];
}

static struct event _pop (void)
{
    struct event first = w.event[0];
    int i = 0;

    w.event[0] = w.event[--w.events];
    for (;;) {
        int least = i;

        for (int child = 2 * i + 1; child <= 2 * i + 2 && child < w.events; child++)
            if (_is_before (&w.event[child], &w.event[least]))
                least = child;
        if (least == i)
            return first;
        struct event moved = w.event[i];

        w.event[i] = w.event[least];
        w.event[least] = moved;
        i = least;
    }
}

/* The network. */

static struct node *_node_of (int rank)
{
    return &w.node[w.plan->node[rank]];
}

static bool _is_cut (const struct node *node)
{
    return node->dead || w.now < node->cut_until;
}

static int64_t _delay (void)
{
    return 1 + _below ((int)w.plan->delay + 1);
}

/* When what one side says at this moment is there; never if its node is dead. */
static int64_t _arrival (int connection, enum side to)
{
    struct connection *c = &w.connection[connection];
    const struct node *node = _node_of (c->rank);
    int64_t at = w.now + _delay ();

    if (node->dead)
        return NEVER;
    at = moment_last (at, node->cut_until + (_is_cut (node) ? _below (500) : 0));
    return c->last[to] = moment_last (at, c->last[to]);
}

static void _send (int connection, enum side to, const struct message *message)
{
    int64_t at = _arrival (connection, to);

    if (at == NEVER)
        return;
    if (w.messages == MOST_MESSAGES) {
        w.overflow = true;
        return;
    }
    w.message[w.messages] = *message;
    w.message[w.messages].connection = connection;
    _push (at, DELIVER, w.messages++, to);
}

/* When the kernel of the other host has answered last: it is asked every few seconds, at other times on each
 * side. */
static int64_t _heard (int rank, enum side side)
{
    int interval = 1000 * silence_interval (w.plan->config.lost_after);
    const struct node *node = _node_of (rank);
    int phase = (rank * 7919 + side * 104729) % interval;
    int64_t at = w.now - (w.now + phase) % interval;

    for (int i = node->outages - 1; i >= 0; i--)
        while (at >= node->outage[i].from && at < node->outage[i].until)
            at -= interval;
    return at;
}

static bool _awaits_answer (const struct supervisor *s)
{
    return s->report && s->goal.report != s->report;
}

static int _broken_ms (int rank, enum side side)
{
    int lost_after = w.plan->config.lost_after;
    const struct supervisor *s = &w.supervisor[rank];

    if (side == RENDEZVOUS)
        return lost_after ? lost_after * 1000 : IDLE_LOST_MS;
    if (s->config.lost_after)
        return s->config.lost_after * 500;
    return _awaits_answer (s) ? REPORT_LOST_MS : IDLE_LOST_MS;
}

/* The other side learns of it, if it can; else when the path is back. */
static void _close (int connection, enum side side, bool reset)
{
    struct connection *c = &w.connection[connection];
    int64_t at;

    if (!c->up[side])
        return;
    c->up[side] = false;
    at = _arrival (connection, side == SUPERVISOR ? RENDEZVOUS : SUPERVISOR);
    if (at != NEVER)
        _push (at, reset ? TELL_RESET : TELL_CLOSE, connection, side == SUPERVISOR ? RENDEZVOUS : SUPERVISOR);
}

/* A path is cut: both kernels give the connection up after a while. */
static void _cut_connections (int number)
{
    for (int i = 0; i < w.connections; i++)
        for (int side = SUPERVISOR; side <= RENDEZVOUS; side++)
            if (w.connection[i].up[side] && w.plan->node[w.connection[i].rank] == number)
                _push (w.now + _broken_ms (w.connection[i].rank, side) + _below (1000), BREAK, i, side);
}

/* Programs. */

static int64_t _silent_from (const struct program *p)
{
    return p->script->hangs == NEVER ? NEVER : p->began + p->script->hangs;
}

/* How many messages it has sent by now. */
static int _messages (const struct program *p)
{
    int64_t last = moment_first (moment_first (p->stopped ? w.resumes : w.now, p->ended), _silent_from (p));
    int64_t age = last - p->began - w.plan->start_ms;

    return age < 0 ? 0 : 1 + (int)(age / w.plan->sign_ms);
}

/* The step that it has said last; 0: none, because it says nothing. */
static int _step (int rank)
{
    const struct program *p = &w.program[rank];
    int messages = w.supervisor[rank].watched && p->script ? _messages (p) : 0;

    return messages ? p->base + messages : 0;
}

static void _tell_clear (int rank)
{
    struct program *p = &w.program[rank];

    if (!p->alive && !p->others)
        _note (CLEAR, rank, 0)->life = p->life;
}

static void _end_program (int rank, int status, enum end_cause cause)
{
    struct program *p = &w.program[rank];
    struct note *note;

    p->alive = false;
    p->ended = w.now;
    p->status = status;
    p->others = p->script->leaves > 0 && status != SIGKILL;
    p->others_end = w.now + p->script->leaves;
    note = _note (ENDED, rank, 0);
    note->life = p->life;
    note->place = p->place;
    note->status = status;
    note->cause = cause == BY_ITSELF && p->asked ? BY_SUPERVISOR : cause;
    note->number = _step (rank);
    w.reached = note->number > w.reached ? note->number : w.reached;
    _hash (status);
    _say ("rank %d: program ends, status %d%s", rank, status, p->others ? ", and leaves something" : "");
    w.supervisor[rank].child_ended = true;
    _tell_clear (rank);
}

static void _signal_program (int rank, int number, enum end_cause cause)
{
    struct program *p = &w.program[rank];

    if (!p->alive || number == SIGCONT || number == SIGTSTP)
        return;
    if (number == SIGKILL)
        _end_program (rank, SIGKILL, cause);
    else if (p->stopped)
        return;
    else if (p->script->handles == 0 || (number != SIGTERM && number != SIGUSR1 && number != SIGINT))
        _end_program (rank, number, cause);
    else if (number == SIGTERM && p->script->handles != NEVER && !p->ending) {
        p->ending = true;
        p->cause = cause;
        p->ends = moment_first (p->ends, w.now + p->script->handles);
        p->status = p->script->handled_status;
    }
}

static void _kill_tree (int rank, enum end_cause cause)
{
    _signal_program (rank, SIGKILL, cause);
    w.program[rank].others = false;
    _tell_clear (rank);
}

static void _begin_program (int rank, int life)
{
    struct supervisor *s = &w.supervisor[rank];
    struct program *p = &w.program[rank];
    struct note *note;

    *p = (struct program){ .alive = true,
                           .life = life,
                           .place = s->place,
                           .generation = s->generation,
                           .began = w.now,
                           .ended = NEVER,
                           .base = w.reached > w.plan->lost_steps ? w.reached - w.plan->lost_steps : 0,
                           .script = &w.plan->script[s->place][life < 2 ? life : 2] };
    p->ends = p->script->lasts == NEVER ? NEVER : w.now + p->script->lasts;
    p->status = p->script->status;
    note = _note (BEGAN, rank, p->generation);
    note->status = w.reached;
    for (int i = 0; i < w.plan->tasks; i++)
        if (w.program[i].alive && _step (i) > note->status)
            note->status = _step (i);
    note->life = life;
    note->base = p->base;
    note->place = p->place;
    _say ("rank %d: life %d begins in place %d, dictionary %d", rank, life, p->place, p->generation);
}

/* Signs of life, of a program that sends messages. */

static struct signs _signs (int rank)
{
    const struct program *p = &w.program[rank];
    int messages = _messages (p);
    int64_t last = messages ? p->began + w.plan->start_ms + (messages - 1) * w.plan->sign_ms : p->began;
    struct signs signs = { .life = p->life,
                           .messages = messages,
                           .step = _step (rank),
                           .slowest_ms = messages > 2 ? (int)w.plan->sign_ms : 0,
                           .second_ms = messages > 1 ? (int)(w.plan->start_ms + w.plan->sign_ms) : 0,
                           .source = messages > 0 ? SIGNS_MESSAGES : SIGNS_UNKNOWN,
                           .silent_ms = (int)(w.now - last),
                           .ago_ms = (int)(w.now - last) };

    if (w.supervisor[rank].asked_to_end || w.supervisor[rank].machine.stopped)
        signs.source = SIGNS_DONE;
    signs.suspended = machine_is_suspended (&w.supervisor[rank].machine, w.now);
    signs.overdue = signs.source == SIGNS_MESSAGES && signs.silent_ms >= 1000 * w.plan->config.watch.seconds;
    return signs;
}

static bool _is_watched (int rank)
{
    return w.supervisor[rank].watched && w.program[rank].alive && !w.program[rank].stopped;
}

static int64_t _signs_due (int rank)
{
    const struct supervisor *s = &w.supervisor[rank];
    const struct program *p = &w.program[rank];
    int64_t due = NEVER, higher = NEVER;

    if (!_is_watched (rank) || s->asked_to_end || s->state != CONNECTED_STATE
        || s->machine.phase != MACHINE_RUNS)
        return NEVER;
    if (s->told_source == SIGNS_UNKNOWN)
        return p->began + w.plan->start_ms;
    if (!s->told_overdue && _silent_from (p) != NEVER)
        due = moment_first (due, _silent_from (p) + 1000 * w.plan->config.watch.seconds);
    /* The first step that is higher than any of its own before. */
    if (s->told_step <= s->highest && p->base <= s->highest)
        higher = p->began + w.plan->start_ms + (s->highest - p->base) * w.plan->sign_ms;
    if (higher < _silent_from (p))
        due = moment_first (due, higher);
    /* Others after a second, at the begin of a life. */
    higher = p->began + w.plan->start_ms + (s->told_step - p->base) * w.plan->sign_ms;
    higher = moment_last (higher, s->step_told_at + 1000);
    return higher < _silent_from (p) ? moment_first (due, higher) : due;
}

/* A supervisor's connection. */

static void _hear (int rank)
{
    struct supervisor *s = &w.supervisor[rank];

    if (s->config.lost_after && s->state == CONNECTED_STATE && s->known)
        s->link.heard = moment_last (s->link.heard, _heard (rank, SUPERVISOR));
}

static void _pause (int rank)
{
    struct supervisor *s = &w.supervisor[rank];
    int longest = s->config.lost_after ? PAUSE_CUT_OFF_MS : s->report ? PAUSE_REPORT_MS : PAUSE_MAX_MS;

    _hear (rank);
    if (s->state == CONNECTED_STATE)
        _close (s->connection, SUPERVISOR, true);
    s->attempt++;
    s->inbox_count = 0;
    if (w.now >= s->stable)
        s->pause_ms = PAUSE_MIN_MS;
    s->next = w.now + s->pause_ms;
    s->pause_ms = 2 * s->pause_ms < longest ? 2 * s->pause_ms : longest;
    if (s->link.stands) {
        s->link.stands = false;
        s->link.since = w.now;
    }
    s->state = PAUSING;
}

static void _fail (int rank, bool refused)
{
    w.supervisor[rank].link.refused = refused;
    _pause (rank);
}

static void _connect (int rank)
{
    struct supervisor *s = &w.supervisor[rank];
    const struct node *node = _node_of (rank);
    bool refused = w.now < node->refused_until || (!_is_cut (node) && !w.runs);

    s->stable = NEVER;
    s->state = CONNECTING;
    s->attempt++;
    s->next = w.now + (s->config.lost_after ? silence_interval (s->config.lost_after) * 1000 : CONNECT_MS);
    if (refused)
        _fail (rank, true);
    else if (!_is_cut (node))
        _push (w.now + _delay (), CONNECTED, rank, s->attempt);
}

static void _send_status (int rank, struct message *message)
{
    struct supervisor *s = &w.supervisor[rank];

    message->kind = s->fresh ? HELLO : STATUS;
    s->fresh = false;
    if (message->status.life.cannot)
        snprintf (message->cannot, sizeof (message->cannot), "%s", message->status.life.cannot);
    _send (s->connection, RENDEZVOUS, message);
    if (s->report && _is_cut (_node_of (rank)))
        _push (w.now + _broken_ms (rank, SUPERVISOR), BREAK, s->connection, SUPERVISOR);
}

/* Without a connection the next one begins with that. */
static void _tell_status (int rank)
{
    struct supervisor *s = &w.supervisor[rank];
    struct message message = { .status = { .ended = s->machine.reported,
                                           .report = s->machine.report,
                                           .life = machine_life (&s->machine, w.now) } };
    const struct signs *signs = &message.status.signs;
    int report = s->machine.reported ? s->machine.reports : 0;

    /* A spare has none. */
    if (w.program[rank].script)
        message.status.signs = _signs (rank);
    message.status.signs.suspended = s->suspended = machine_is_suspended (&s->machine, w.now);
    s->told_source = signs->source;
    s->told_overdue = signs->overdue;
    s->told_step = signs->step;
    s->step_told_at = w.now;
    if (s->state == CONNECTED_STATE)
        _send_status (rank, &message);
    else if (s->state == PAUSING && report && report != s->report) {
        s->pause_ms = PAUSE_MIN_MS;
        s->next = w.now;
    }
    s->report = report;
}

static void _finish_connect (int rank)
{
    struct supervisor *s = &w.supervisor[rank];

    if (!w.runs || w.connections == MOST_CONNECTIONS) {
        w.overflow |= w.runs;
        _fail (rank, true);
        return;
    }
    s->connection = w.connections++;
    w.connection[s->connection] = (struct connection){ .rank = rank, .up = { true, true } };
    s->known = s->link.refused = false;
    s->goal.report = 0;
    s->told_source = SIGNS_UNKNOWN;
    s->told_overdue = false;
    s->stable = w.now + PAUSE_MAX_MS;
    s->link.stands = true;
    s->link.since = w.now;
    s->state = CONNECTED_STATE;
    s->next = NEVER;
    s->fresh = true;
    _tell_status (rank);
}

static void _tell_suspension (int rank)
{
    struct supervisor *s = &w.supervisor[rank];

    if (machine_is_suspended (&s->machine, w.now) != s->suspended)
        _tell_status (rank);
}

/* A supervisor's machine. */

static void _begin_life (int rank, int number)
{
    struct supervisor *s = &w.supervisor[rank];

    if (!s->fork_server) {
        machine_cannot_begin (&s->machine, w.now, "tf-fork-server was killed");
        return;
    }
    if (s->has_answer) {
        s->generation = s->answer.generation;
        s->place = s->answer.place;
        s->config.lost_after = s->answer.lost_after;
        if (s->config.spare) {
            s->config.serves = s->answer.serves;
            s->config.spare = false;
        }
        s->watched = s->answer.watched;
    }
    s->told_source = SIGNS_UNKNOWN;
    s->told_overdue = false;
    s->told_step = 0;
    _begin_program (rank, number);
    machine_begun (&s->machine, w.now);
    if (s->had_life)
        s->report = 0;
    s->has_answer = false;
    s->had_life = true;
}

/* A message of slurmstepd's that does not get through is lost; a firewall lets it pass. */
static void _tell_srun (int rank)
{
    const struct node *node = _node_of (rank);

    if (w.now >= node->isolated_until && w.now >= node->blocked_until && !w.supervisor[rank].orphaned)
        _push (w.now + _delay (), EXIT_KNOWN, rank, 0);
    else
        _note (UNHEARD, rank, 0);
}

static void _leave (int rank, int status)
{
    struct supervisor *s = &w.supervisor[rank];

    _note (LEFT, rank, s->state == CONNECTED_STATE)->status = status;
    _hash (status);
    _say ("rank %d: supervisor leaves with status %d", rank, status);
    s->alive = false;
    s->left = true;
    w.exit_status[rank] = status;
    if (s->state == CONNECTED_STATE)
        _close (s->connection, SUPERVISOR, _below (2));
    _tell_srun (rank);
}

static void _perform (int rank, const struct effect *effect)
{
    struct supervisor *s = &w.supervisor[rank];
    struct program *p = &w.program[rank];

    switch (effect->kind) {
        case EFFECT_BEGIN: _begin_life (rank, effect->number); break;
        case EFFECT_SIGNAL: _signal_program (rank, effect->signal.number, BY_SLURM); break;
        case EFFECT_SIGNAL_ALL:
            _say ("rank %d: all get %d", rank, effect->number);
            if (p->alive || p->others)
                _note (ASKED, rank, effect->number)->life = p->life;
            p->asked = true;
            _signal_program (rank, effect->number, BY_SUPERVISOR);
            if (!p->alive && p->others && p->script->handles != NEVER) {
                p->others = false;
                _tell_clear (rank);
            }
            break;
        case EFFECT_KILL:
            if (p->alive || p->others) {
                struct note *note = _note (KILLED, rank, p->alive);

                note->life = p->life;
                note->place = p->place;
                _say ("rank %d: kills", rank);
            }
            _kill_tree (rank, BY_SUPERVISOR);
            break;
        case EFFECT_NO_LIFE: s->fork_server = false; break;
        case EFFECT_REPORT:
            _say ("rank %d: reports %d %d%s", rank, s->machine.report.kind, s->machine.report.number,
                  machine_can_restart (&s->machine) ? "" : ", no other life");
            if (_step (rank) > s->highest)
                s->highest = _step (rank);
            _tell_status (rank);
            break;
        case EFFECT_LEAVE: _leave (rank, s->machine.status); break;
        default: break;
    }
}

static void _perform_all (int rank)
{
    struct effect effect;

    while (w.supervisor[rank].alive && machine_effect (&w.supervisor[rank].machine, &effect))
        _perform (rank, &effect);
}

static void _take_goal (int rank, const struct message *message)
{
    struct supervisor *s = &w.supervisor[rank];
    bool asked = message->goal.question > s->goal.question;

    s->known = true;
    s->link.heard = w.now;
    s->goal = message->goal;
    if (s->report && !_awaits_answer (s))
        s->stable = w.now;
    if (message->answer) {
        s->has_answer = true;
        s->answer = *message;
    }
    if (asked && s->machine.phase == MACHINE_RUNS && w.program[rank].alive)
        _tell_status (rank);
    _say ("rank %d: goal: life %d, stop %d, report %d%s, question %d", rank, s->goal.life, (int)s->goal.stop,
          s->goal.report, s->goal.leave ? ", leave" : "", s->goal.question);
    machine_goal (&s->machine, w.now, &s->goal);
}

static void _serve_link (int rank)
{
    struct supervisor *s = &w.supervisor[rank];

    if (s->inbox_count > 0) {
        int message = s->inbox[0];

        memmove (s->inbox, s->inbox + 1, (size_t)--s->inbox_count * sizeof (s->inbox[0]));
        _take_goal (rank, &w.message[message]);
    } else if (w.now >= s->next && s->state == CONNECTING)
        _fail (rank, false);
    else if (w.now >= s->next && s->state == PAUSING)
        _connect (rank);
}

static int64_t _others_due (const struct program *p)
{
    return p->others && !p->stopped ? p->others_end : NEVER;
}

static int64_t _supervisor_due (int rank)
{
    struct supervisor *s = &w.supervisor[rank];
    int64_t due;

    if (!s->alive || s->frozen)
        return NEVER;
    if (s->child_ended || s->pendings)
        return w.now;
    due = moment_first (machine_due (&s->machine), _signs_due (rank));
    if (!machine_listens (&s->machine))
        return due;
    return s->inbox_count ? w.now : moment_first (due, s->next);
}

static void _take_signals (int rank)
{
    struct supervisor *s = &w.supervisor[rank];

    for (int i = 0; i < s->pendings; i++) {
        machine_signal (&s->machine, w.now, &s->pending[i]);
        if (s->machine.signals.slurms.number)
            s->asked_to_end = true;
        _perform_all (rank);
    }
    s->pendings = 0;
}

/* tf-supervise.c's loop, once. */
static void _run_supervisor_once (int rank)
{
    struct supervisor *s = &w.supervisor[rank];
    const struct program *p = &w.program[rank];
    struct sight sight;
    int asks;

    _take_signals (rank);
    if (s->child_ended) {
        s->child_ended = false;
        machine_program_ended (&s->machine, w.now, p->status, false, EXIT_REPORT_MEMORY_LEFT);
    }
    _perform_all (rank);
    _hear (rank);
    machine_link (&s->machine, w.now, &s->link);
    _perform_all (rank);
    asks = machine_asks (&s->machine, w.now);
    sight = (struct sight){ .left = asks & MACHINE_ASKS_LEFT && (p->alive || p->others),
                            .reaction = p->script && p->script->handles ? SIGNALS_HANDLE : SIGNALS_DIE };
    machine_look (&s->machine, w.now, &sight);
    _perform_all (rank);
    if (s->alive && w.now >= _signs_due (rank))
        _tell_status (rank);
    if (s->alive)
        _tell_suspension (rank);
    if (s->alive && machine_listens (&s->machine))
        _serve_link (rank);
    _perform_all (rank);
}

static void _run_supervisor (int rank)
{
    int looks = 0;

    do
        _run_supervisor_once (rank);
    while (_supervisor_due (rank) <= w.now && looks++ < 100);
    if (looks > 100) {
        _note (STUCK, rank, 0);
        w.overflow = true;
    }
}

/* The rendezvous: its ranks. */

static void _init_rank (int i)
{
    static const char *const role[] = {
        [RULES_CHIEF] = "chief",   [RULES_MASTER] = "master",       [RULES_PS] = "ps",
        [RULES_WORKER] = "worker", [RULES_EVALUATOR] = "evaluator", [RULES_ROLES] = "+data",
        [RULES_SPARE] = "spare",
    };

    snprintf (w.node_name[w.plan->node[i]], sizeof (w.node_name[0]), "n%d", (w.plan->node[i] + 1) % 100);
    w.rank[i] = (struct rank){ .number = i,
                               .launch = RANK_HERE,
                               .node = w.node_name[w.plan->node[i]],
                               .node_index = w.plan->node[i],
                               .at_srun = w.plan->node[i] == w.plan->srun,
                               .port = 40000 + i,
                               .master_port = 50000 + i,
                               .role = role[w.plan->kind[i]],
                               .kind = w.plan->kind[i],
                               .beside = w.plan->beside[i],
                               .index = i,
                               .link = LINK_UP,
                               .state = w.plan->kind[i] == RULES_SPARE ? RANK_SPARE : RANK_RUNS };
    snprintf (w.rank[i].host.id, sizeof (w.rank[i].host.id), "host%d", w.plan->node[i] % 100);
}

/* The rendezvous: what it writes down (rendezvous/journal.h), and its wire. */

#define MOST_INPUTS 16384

struct input {
    enum { LAUNCHED, TOLD_STATUS, ABSENT, RETURNED, TIMED, WIRED } kind;
    int64_t now, heard;
    int rank, ms;
    bool silent;
    enum rank_link link;
    struct status status;
    char cannot[64];
};

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
        case WIRED:
            rank->link = wire[in->rank].link = in->link;
            rank->silent = wire[in->rank].silent = in->silent;
            break;
    }
    input_timed = in->kind == TIMED;
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

static void _take (const struct input *in)
{
    struct input *kept;

    if (in->kind != LAUNCHED)
        _note_wire ();
    kept = _add_input (in);
    kept->now = w.now;
    _decide (kept);
}

static bool _is_up (int rank)
{
    return w.its[rank] >= 0 && w.connection[w.its[rank]].up[RENDEZVOUS];
}

static bool _has_spare (void)
{
    for (int i = 0; i < w.plan->tasks; i++)
        if (w.rank[i].kind == RULES_SPARE && !w.rank[i].replaced_by)
            return true;
    return false;
}

static void _lose (int rank, int ms)
{
    if (!_is_up (rank))
        return;
    _close (w.its[rank], RENDEZVOUS, true);
    w.its[rank] = -1;
    w.rank[rank].link = LINK_NONE;
    _take (&(struct input){ .kind = ABSENT,
                            .rank = rank,
                            .ms = ms,
                            .heard = w.plan->config.lost_after ? _heard (rank, RENDEZVOUS) : w.now });
}

static void _send_goal (struct rank *rank, const struct goal *goal, bool begins)
{
    struct message message = { .kind = GOAL, .goal = *goal, .answer = begins };
    int64_t sent;

    if (begins) {
        message.generation = w.history->generations - 1;
        message.place = rank->kind == RULES_SPARE ? -1 : rank->index;
        message.lost_after = _has_spare () ? w.plan->config.lost_after : 0;
        message.serves = rank->serves;
        message.watched = rank_is_watched (rank) && w.plan->config.watch.seconds;
        sent = moment_last (w.now, _node_of (rank->number)->cut_until) + _below (100);
        rank->link = LINK_BUSY;
        _push (sent, SENT, w.its[rank->number], 0);
    }
    if (goal->stop == GOAL_STOP)
        _note (TOLD_TO_STOP, rank->number, 0)->life = goal->life;
    _send (w.its[rank->number], SUPERVISOR, &message);
}

static void _send_goals (void)
{
    struct goal goal;
    bool begins;

    for (int i = 0; i < w.plan->tasks; i++)
        if (_is_up (i) && job_tells (w.job, &w.rank[i], true, &goal, &begins))
            _send_goal (&w.rank[i], &goal, begins);
}

static void _note_places (void)
{
    struct history *h = w.history;

    if (h->generations == 16) {
        w.overflow = true;
        return;
    }
    for (int i = 0; i < w.plan->tasks; i++)
        h->place[h->generations][i] = w.rank[i].kind == RULES_SPARE ? -1 : w.rank[i].index;
    h->generations++;
}

static void _change_places (void)
{
    for (int i = 0; i < w.plan->tasks; i++)
        if (w.rank[i].link == LINK_BUSY)
            _lose (i, JOB_BROKEN_MS);
    _note_places ();
    _note (PLACES, 0, w.history->generations - 1);
    _say ("new places: dictionary %d", w.history->generations - 1);
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
        struct note *note = _note (TABLE, i, rank->state == RANK_LOST || rank->replaced_by || rank->replaces);

        note->status = _status_of (&rank->end.report);
        note->life = rank->life.number;
    }
    _note (FIRST, first ? first->number : -1, 0);
}

/* What a user reads. */
static void _tell (const struct fact *fact)
{
    static const char *const name[] = {
        [FACT_REPORTED] = "reported", [FACT_DECIDED] = "decided", [FACT_BEGINS] = "begins",
        [FACT_AGAIN] = "again",       [FACT_OVER] = "job over",   [FACT_GRACE] = "grace",
        [FACT_KILLED] = "killed",     [FACT_LOST] = "lost",       [FACT_REPLACED] = "replaced",
        [FACT_HANG] = "hang",         [FACT_CUT] = "cut",         [FACT_ENDED] = "all ended",
    };
    struct note *note;

    if ((fact->kind == FACT_KILLED || fact->kind == FACT_GRACE) && fact->count == 0)
        return;
    note = _note (TOLD,
                  fact->rank    ? fact->rank->number
                  : fact->count ? fact->ranks[0].rank->number
                                : -1,
                  fact->kind);
    note->life = fact->rank ? fact->rank->life.number : 0;
    note->status = (int)fact->decision;
    note->place = fact->left;
    _say ("told: %s, rank %d, decision %d, left %d", name[fact->kind] ? name[fact->kind] : "?", note->rank,
          note->status, fact->left);
    if (fact->kind == FACT_HANG && fact->count)
        note->life = fact->ranks[0].rank->life.number;
    for (int i = 1; i < fact->count
                    && (fact->kind == FACT_LOST || fact->kind == FACT_REPLACED || fact->kind == FACT_HANG);
         i++) {
        note = _note (TOLD, fact->ranks[i].rank->number, fact->kind);
        note->life = fact->ranks[i].rank->life.number;
        note->place = fact->left;
    }
    if (fact->kind == FACT_ENDED) {
        w.history->has_ledger = true;
        w.history->ledger = *fact->ledger;
        w.history->ledger_at = w.now;
        _note_table ();
    }
}

static void _perform_facts (void)
{
    struct fact fact;

    while (facts_take (&w.job->facts, &fact)) {
        if (fact.kind == FACT_PLACES)
            _change_places ();
        else
            _tell (&fact);
        fact_clear (&fact);
    }
}

static void _ask_heard (void)
{
    if (w.plan->config.lost_after == 0 || w.now - w.asked_heard < HEARD_MS)
        return;
    w.asked_heard = w.now;
    for (int i = 0; i < w.plan->tasks; i++)
        if (_is_up (i))
            w.rank[i].silent = silence_is_long (w.plan->config.lost_after, w.now - _heard (i, RENDEZVOUS));
}

/* It stays until then. */
static void _end_rendezvous (void)
{
    w.runs = false;
    _note (RENDEZVOUS_ENDED, -1, 0);
    for (int i = 0; i < w.connections; i++)
        _close (i, RENDEZVOUS, true);
}

/*
 * A new one does again what it reads. What that leads to has been told; what was sent is lost with the
 * connections.
 */
static void _begin_rendezvous_again (void)
{
    struct fact fact;

    w.dying = false;
    job_destroy (w.job);
    memset (wire, 0, sizeof (wire));
    for (int i = 0; i < w.plan->tasks; i++) {
        free (w.rank[i].end.failure);
        _init_rank (i);
        w.rank[i].link = LINK_NONE;
    }
    if (!(w.job = job_create (&w.plan->config, w.rank, w.plan->tasks)))
        abort ();
    for (int i = 0; i < inputs; i++) {
        _decide (&input[i]);
        while (facts_take (&w.job->facts, &fact))
            fact_clear (&fact);
    }
    for (int i = 0; i < w.plan->tasks; i++) {
        if (wire[i].link == LINK_NONE)
            continue;
        _close (w.its[i], RENDEZVOUS, true);
        w.its[i] = -1;
        w.rank[i].link = LINK_NONE;
        _take (&(struct input){ .kind = ABSENT, .rank = i, .ms = JOB_RESET_MS, .heard = w.now });
    }
}

static void _check_rendezvous (void)
{
    int looks = 0;

    do {
        _ask_heard ();
        if (_note_wire () || !input_timed || job_due (w.job) <= w.now)
            _take (&(struct input){ .kind = TIMED });
        _perform_facts ();
        if (!w.dying)
            _send_goals ();
    } while (job_due (w.job) <= w.now && looks++ < 100);
    if (looks > 100) {
        _note (STUCK, -1, 0);
        w.overflow = true;
    }
}

static void _receive (struct message *message)
{
    int number = w.connection[message->connection].rank;
    struct rank *rank = &w.rank[number];
    struct input told;

    told = (struct input){ .kind = TOLD_STATUS, .rank = number, .status = message->status };
    memcpy (told.cannot, message->cannot, sizeof (told.cannot));
    _ask_heard ();
    if (message->kind == HELLO) {
        if (_is_up (number))
            _close (w.its[number], RENDEZVOUS, true);
        w.its[number] = message->connection;
        rank->link = LINK_UP;
        rank->silent = false;
        told.kind = RETURNED;
        _take (&told);
    } else if (w.its[number] == message->connection)
        _take (&told);
    _perform_facts ();
}

/* srun and Slurm. */

static int _code_of (int status)
{
    return WIFSIGNALED (status) ? 128 + WTERMSIG (status) : WEXITSTATUS (status);
}

static void _end_srun (int least)
{
    int code = least;

    if (!w.srun)
        return;
    for (int i = 0; i < w.plan->tasks; i++)
        if (w.known[i] && _code_of (w.exit_status[i]) > code)
            code = _code_of (w.exit_status[i]);
    w.srun = false;
    _note (SRUN_ENDED, -1, code);
    _say ("srun ends with %d", code);
    if (!w.runs)
        return;
    job_cut (w.job, w.now);
    _perform_facts ();
    _end_rendezvous ();
}

static void _know_exit (int rank)
{
    bool all = true, first = true;

    for (int i = 0; i < w.plan->tasks; i++)
        first = first && !w.known[i];
    w.known[rank] = true;
    for (int i = 0; i < w.plan->tasks; i++)
        all = all && w.known[i];
    if (all)
        _end_srun (0);
    else if (first && w.plan->wait)
        _push (w.now + 1000 * w.plan->wait, KILL_STEP, 0, 0);
}

static void _lose_supervisor (int rank)
{
    struct supervisor *s = &w.supervisor[rank];

    s->alive = false;
    w.exit_status[rank] = SIGKILL;
    _note (GONE, rank, 0);
    _kill_tree (rank, BY_OUTSIDE);
}

static void _kill_supervisor (int rank)
{
    struct supervisor *s = &w.supervisor[rank];

    if (!s->alive)
        return;
    _lose_supervisor (rank);
    if (s->state == CONNECTED_STATE)
        _close (s->connection, SUPERVISOR, s->inbox_count > 0 || _below (4) == 0);
    _tell_srun (rank);
}

static void _kill_step (void)
{
    for (int i = 0; i < w.plan->tasks; i++)
        if (!_node_of (i)->dead)
            _kill_supervisor (i);
    _end_srun (128 + SIGKILL);
}

static void _signal_step (int number)
{
    _say ("Slurm sends %d", number);
    for (int i = 0; i < w.plan->tasks; i++) {
        struct supervisor *s = &w.supervisor[i];
        const struct signal signal = { .number = number, .from_slurm = true, .at = 1000 + w.now / 1000 };

        if (_node_of (i)->dead || w.now < _node_of (i)->isolated_until)
            continue;
        if (s->alive && s->pendings < 8)
            s->pending[s->pendings++] = signal;
        if (!w.plan->forwards)
            _signal_program (i, number, BY_SLURM);
    }
}

/* Time stands still for a program that is stopped. */
static void _stop_programs (bool stop)
{
    for (int i = 0; i < w.plan->tasks; i++) {
        struct program *p = &w.program[i];
        int64_t stood = w.now - w.resumes;

        if (p->stopped == stop || (stop && !p->alive && !p->others))
            continue;
        p->stopped = stop;
        if (stop)
            continue;
        p->began += stood;
        p->ended = p->ended == NEVER ? NEVER : w.now;
        p->ends += p->ends == NEVER ? 0 : stood;
        p->others_end += stood;
    }
    if (stop)
        w.resumes = w.now;
}

static void _suspend (int64_t lasts)
{
    if (w.suspended)
        return;
    w.suspended = true;
    w.frozen_until = w.now + lasts;
    _note (SUSPENDED, -1, 0);
    _signal_step (SIGTSTP);
    _stop_programs (true);
    _push (w.now + SUSPEND_MS, STOP_ALL, ++w.suspensions, 0);
}

static void _freeze (bool freeze)
{
    for (int i = 0; i < w.plan->tasks; i++)
        w.supervisor[i].frozen = freeze || _node_of (i)->dead;
    w.rendezvous_frozen = freeze && w.plan->batch;
}

static void _resume (void)
{
    if (!w.suspended)
        return;
    w.suspended = false;
    _freeze (false);
    _note (RESUMED, -1, 0);
    _stop_programs (false);
    _signal_step (SIGCONT);
}

/* Disturbances. */

static void _cut_node (const struct disturbance *d, int number)
{
    struct node *node = &w.node[number];
    int64_t until = w.now + d->lasts;

    if (node->outages == MOST_OUTAGES || node->dead)
        return;
    node->outage[node->outages].from = w.now;
    node->outage[node->outages++].until = until;
    if (!_is_cut (node))
        node->cut_since = w.now;
    node->cut_until = moment_last (node->cut_until, until);
    if (d->kind == REJECT)
        node->refused_until = moment_last (node->refused_until, until);
    if (d->kind == BLOCK)
        node->blocked_until = moment_last (node->blocked_until, until);
    if (d->kind == CUT)
        node->isolated_until = moment_last (node->isolated_until, until);
    _cut_connections (number);
}

/* If it is srun's node, none of the others reaches it. */
static void _cut (const struct disturbance *d)
{
    for (int i = 0; i < w.plan->nodes; i++)
        if ((i == d->target) != (d->target == w.plan->srun))
            _cut_node (d, i);
}

static void _die (int number)
{
    struct node *node = &w.node[number];

    if (node->dead)
        return;
    for (int i = 0; i < w.plan->tasks; i++)
        if (w.plan->node[i] == number && w.supervisor[i].alive) {
            _lose_supervisor (i);
            w.supervisor[i].frozen = true;
        }
    if (node->outages < MOST_OUTAGES) {
        node->outage[node->outages].from = w.now;
        node->outage[node->outages++].until = NEVER;
    }
    node->cut_since = w.now;
    node->dead = true;
    _cut_connections (number);
    _push (w.now + SLURMD_TIMEOUT_MS, GIVE_UP_NODE, number, 0);
}

/* The rendezvous' side is gone; the kernel of the other one finds out when it asks. */
static void _open_half (int rank)
{
    struct supervisor *s = &w.supervisor[rank];
    int lost_after = s->config.lost_after, ask = lost_after ? silence_interval (lost_after) : 30;

    if (!s->alive || s->state != CONNECTED_STATE || w.its[rank] != s->connection || !w.runs
        || w.rendezvous_frozen)
        return;
    w.connection[s->connection].up[RENDEZVOUS] = false;
    w.its[rank] = -1;
    w.rank[rank].link = LINK_NONE;
    _take (&(struct input){ .kind = ABSENT,
                            .rank = rank,
                            .ms = JOB_RESET_MS,
                            .heard = lost_after ? _heard (rank, RENDEZVOUS) : w.now });
    _push (w.now + _below (1000 * ask), TELL_RESET, s->connection, SUPERVISOR);
}

static void _reset (int rank)
{
    const struct supervisor *s = &w.supervisor[rank];

    if (!s->alive || s->state != CONNECTED_STATE)
        return;
    _push (w.now + _below (5), TELL_RESET, s->connection, SUPERVISOR);
    _push (w.now + _below (5), TELL_RESET, s->connection, RENDEZVOUS);
}

static void _disturb (int number)
{
    const struct disturbance *d = &w.plan->disturbance[number];
    struct note *note = _note (DISTURBED, d->target, number);
    struct supervisor *s = &w.supervisor[d->target];

    note->status = d->kind;
    _say ("disturbance %d", number);
    _push (w.now + d->lasts, CALM, number, 0);
    switch (d->kind) {
        case CUT:
        case BLOCK:
        case REJECT: _cut (d); break;
        case RESET: _reset (d->target); break;
        case RESET_ALL:
            for (int i = 0; i < w.plan->tasks; i++)
                _reset (i);
            break;
        case DIE: _die (d->target); break;
        case KILL_PROGRAM:
            if (!_node_of (d->target)->dead)
                _signal_program (d->target, d->number, BY_OUTSIDE);
            break;
        case KILL_SUPERVISOR:
            if (!_node_of (d->target)->dead)
                _kill_supervisor (d->target);
            break;
        case KILL_FORK_SERVER:
            if (s->alive && s->fork_server && !s->frozen) {
                s->fork_server = false;
                machine_no_life (&s->machine, w.now, "tf-fork-server was killed");
                _perform_all (d->target);
            }
            break;
        case KILL_SLURMSTEPD:
            if (s->alive && !s->frozen && !_node_of (d->target)->dead) {
                s->orphaned = true;
                machine_slurmstepd_died (&s->machine, w.now);
                _perform_all (d->target);
            }
            break;
        case HALF_OPEN: _open_half (d->target); break;
        case SUSPEND: _suspend (d->lasts); break;
        case WARN: _signal_step (d->number); break;
        case CANCEL:
            _signal_step (SIGTERM);
            _push (w.now + 1000 * w.plan->kill_wait, KILL_STEP, 0, 0);
            break;
        case KILL_SRUN:
            _end_srun (128 + SIGKILL);
            _push (w.now + SRUN_LOST_MS, KILL_STEP, 0, 0);
            break;
        case KILL_RENDEZVOUS: w.dying = w.runs && !w.rendezvous_frozen; break;
        case DISTURBANCE_KINDS: break;
    }
}

static void _calm (int number)
{
    const struct disturbance *d = &w.plan->disturbance[number];

    _note (CALMED, d->target, number)->status = d->kind;
    /* Not by the end of another suspension, which had nothing to suspend. */
    if (d->kind == SUSPEND && w.now >= w.frozen_until)
        _resume ();
}

/* The clock. */

static void _break (const struct event *event)
{
    const struct connection *c = &w.connection[event->a];
    const struct node *node = _node_of (c->rank);

    if (!c->up[event->b] || !_is_cut (node) || node->cut_since > event->since)
        return;
    if (event->b == RENDEZVOUS && w.its[c->rank] == event->a)
        _lose (c->rank, JOB_BROKEN_MS);
    else if (event->b == SUPERVISOR && w.supervisor[c->rank].alive
             && w.supervisor[c->rank].connection == event->a)
        _pause (c->rank);
}

static void _see_end (const struct event *event)
{
    struct connection *c = &w.connection[event->a];
    struct supervisor *s = &w.supervisor[c->rank];

    if (event->b == RENDEZVOUS) {
        if (c->up[RENDEZVOUS] && w.runs && w.its[c->rank] == event->a)
            _lose (c->rank, event->kind == TELL_RESET ? JOB_RESET_MS : JOB_CLOSED_MS);
        c->up[RENDEZVOUS] = false;
    } else if (c->up[SUPERVISOR] && s->alive && s->state == CONNECTED_STATE && s->connection == event->a)
        _pause (c->rank);
}

static void _deliver (const struct event *event)
{
    struct message *message = &w.message[event->a];
    const struct connection *c = &w.connection[message->connection];
    struct supervisor *s = &w.supervisor[c->rank];

    /* What an outage has delayed is sent again after it, but not by a node that has died. */
    if (_node_of (c->rank)->dead)
        return;
    if (_is_cut (_node_of (c->rank))) {
        _push (_node_of (c->rank)->cut_until, DELIVER, event->a, event->b);
        return;
    }
    if (!c->up[event->b]) {
        _push (w.now + _delay (), TELL_RESET, message->connection,
               event->b == SUPERVISOR ? RENDEZVOUS : SUPERVISOR);
        return;
    }
    if (event->b == RENDEZVOUS)
        _receive (message);
    else if (s->alive && s->inbox_count < MOST_INBOX)
        s->inbox[s->inbox_count++] = event->a;
}

static bool _is_for_rendezvous (const struct event *event)
{
    return event->kind == SENT
           || ((event->kind == DELIVER || event->kind == TELL_RESET || event->kind == TELL_CLOSE
                || event->kind == BREAK)
               && event->b == RENDEZVOUS);
}

static void _happen (const struct event *event)
{
    if (w.rendezvous_frozen && _is_for_rendezvous (event)) {
        _push (moment_last (w.frozen_until, w.now + 1), event->kind, event->a, event->b)->since =
            event->since;
        return;
    }
    switch (event->kind) {
        case DELIVER: _deliver (event); break;
        case BREAK: _break (event); break;
        case TELL_RESET:
        case TELL_CLOSE: _see_end (event); break;
        case CONNECTED:
            if (w.supervisor[event->a].alive && w.supervisor[event->a].state == CONNECTING
                && w.supervisor[event->a].attempt == event->b)
                _finish_connect (event->a);
            break;
        case SENT:
            if (_is_up (w.connection[event->a].rank) && w.its[w.connection[event->a].rank] == event->a)
                w.rank[w.connection[event->a].rank].link = LINK_UP;
            break;
        case DISTURB: _disturb (event->a); break;
        case CALM: _calm (event->a); break;
        case STOP_ALL:
            if (w.suspended && w.suspensions == event->a)
                _freeze (true);
            break;
        case KILL_STEP: _kill_step (); break;
        case EXIT_KNOWN: _know_exit (event->a); break;
        case GIVE_UP_NODE:
            for (int i = 0; i < w.plan->tasks; i++)
                if (w.plan->node[i] == event->a) {
                    w.exit_status[i] = 0;
                    _know_exit (i);
                }
            break;
    }
}

static void _age_programs (void)
{
    for (int i = 0; i < w.plan->tasks; i++) {
        struct program *p = &w.program[i];

        if (p->stopped)
            continue;
        if (p->alive && w.now >= p->ends)
            _end_program (i, p->status, p->ending ? p->cause : BY_ITSELF);
        if (p->others && w.now >= p->others_end) {
            p->others = false;
            _tell_clear (i);
        }
    }
}

static int64_t _next (void)
{
    int64_t next = w.events ? w.event[0].at : NEVER;

    if (w.runs && !w.rendezvous_frozen)
        next = moment_first (next, job_due (w.job));
    for (int i = 0; i < w.plan->tasks; i++) {
        const struct program *p = &w.program[i];

        next = moment_first (next, _supervisor_due (i));
        if (p->alive && !p->stopped)
            next = moment_first (next, p->ends);
        next = moment_first (next, _others_due (p));
    }
    return next;
}

static bool _all_over (void)
{
    if (w.srun || w.runs)
        return false;
    for (int i = 0; i < w.plan->tasks; i++)
        if (w.supervisor[i].alive)
            return false;
    return true;
}

/* The beginning. */

static void _begin_rank (int i)
{
    _init_rank (i);
    w.connection[i] = (struct connection){ .rank = i, .up = { true, true } };
    w.its[i] = i;
}

static void _begin_supervisor (int i)
{
    const struct rendezvous_config *c = &w.plan->config;
    struct supervisor *s = &w.supervisor[i];

    *s = (struct supervisor){ .alive = true,
                              .fork_server = true,
                              .connection = i,
                              .state = CONNECTED_STATE,
                              .next = NEVER,
                              .known = true,
                              .pause_ms = PAUSE_MIN_MS,
                              .place = i,
                              .link = { .heard = w.now, .since = w.now, .stands = true } };
    s->config = (struct supervisor_config){ .rank = i,
                                            .stop_grace = c->stop_grace,
                                            .kill_wait = w.plan->kill_wait,
                                            .forward_signals = w.plan->forwards,
                                            .serves = w.rank[i].serves,
                                            .restart = c->restart,
                                            .lost_after = c->lost_after,
                                            .spare = w.plan->kind[i] == RULES_SPARE,
                                            .prints = i == 0 };
    s->watched = c->watch.seconds && rank_is_watched (&w.rank[i]);
    machine_init (&s->machine, &s->config);
    machine_start (&s->machine, w.now);
    s->had_life = s->config.spare;
}

static void _begin (const struct plan *plan, int disturbances, struct history *history, bool print)
{
    /* What is large is not read before it is written. */
    w.plan = plan;
    w.history = history;
    w.print = print;
    w.random = (plan->seed + 77) * UINT64_C (0x9e3779b97f4a7c15) | 1;
    w.now = 100000;
    w.events = w.nth = w.messages = w.busy = w.suspensions = 0;
    w.asked_heard = 0;
    w.rendezvous_frozen = w.suspended = w.overflow = w.dying = false;
    w.reached = 0;
    w.frozen_until = 0;
    memset (w.node, 0, sizeof (w.node));
    memset (w.program, 0, sizeof (w.program));
    memset (w.known, 0, sizeof (w.known));
    memset (w.exit_status, 0, sizeof (w.exit_status));
    history->plan = plan;
    history->notes = history->generations = 0;
    history->all_ended = history->alive_at_end = history->has_ledger = false;
    history->hash = UINT64_C (0xcbf29ce484222325);
    for (int i = 0; i < plan->tasks; i++)
        _begin_rank (i);
    w.connections = plan->tasks;
    if (!(w.job = job_create (&plan->config, w.rank, plan->tasks)))
        abort ();
    w.runs = w.srun = true;
    inputs = 0;
    memset (wire, 0, sizeof (wire));
    _take (&(struct input){ .kind = LAUNCHED });
    _note_places ();
    for (int i = 0; i < plan->tasks; i++)
        _begin_supervisor (i);
    for (int i = 0; i < plan->tasks; i++)
        _run_supervisor (i);
    for (int i = 0; i < disturbances; i++)
        _push (w.now + plan->disturbance[i].at, DISTURB, i, 0);
}

/* All that is due at this moment. */
static void _live (void)
{
    bool happened = false;

    while (w.events && w.event[0].at <= w.now && !w.overflow) {
        struct event event = _pop ();

        _happen (&event);
        happened = true;
    }
    _age_programs ();
    for (int i = 0; i < w.plan->tasks; i++)
        if (_supervisor_due (i) <= w.now)
            _run_supervisor (i);
    if (w.runs && !w.rendezvous_frozen && (happened || job_due (w.job) <= w.now))
        _check_rendezvous ();
    if (w.dying && w.runs)
        _begin_rendezvous_again ();
    w.dying = false;
}

void world_run (const struct plan *plan, int disturbances, struct history *history, bool print)
{
    int64_t horizon;

    _begin (plan, disturbances, history, print);
    horizon = w.now + HORIZON_MS;
    while (!_all_over () && !w.overflow) {
        int64_t next = _next ();

        if (next > horizon)
            break;
        w.now = moment_last (w.now, next);
        _live ();
    }
    history->end = w.now;
    history->all_ended = _all_over ();
    for (int i = 0; i < plan->tasks; i++)
        history->alive_at_end = history->alive_at_end || w.supervisor[i].alive;
    if (w.overflow)
        _note (STUCK, -1, w.events);
    for (int i = 0; i < plan->tasks; i++)
        free (w.rank[i].end.failure);
    job_destroy (w.job);
}
