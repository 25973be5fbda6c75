/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "preflight.h"

#include <stdlib.h>
#include <string.h>

#include "common/second.h"
#include "place.h"

/* Pairs of nodes: so many rounds, and so many more before a link is called bad. */
#define ROUNDS 3
#define MOST_ROUNDS 6
/* A link is bad whose rate is below the median's by this factor with each of its partners. */
#define SLOWER 3
/* Clocks are compared in whole seconds. */
#define CLOCK_SECONDS 3
#define CLOCKS_LEAST 3
/* A supervisor ends a check that takes too long, and this is for one that does not tell. */
#define LINK_SECONDS 30

/* Who checks. */

/* It can be told, and nothing of it runs. */
static bool _can_check (const struct rank *r)
{
    return r->link == LINK_UP && !r->alive && (r->place ? place_waits (r->place) : !r->released);
}

static bool _has_checker (const struct job *job, const char *node)
{
    EACH_RANK (r, job)
        if (r->check.checks && strcmp (r->node, node) == 0)
            return true;
    return false;
}

/* One of each node. What the last checks have found stays until _judge_nodes (): it may not be told yet. */
static void _choose_checkers (struct job *job)
{
    EACH_RANK (r, job)
        r->check.checks = false;
    EACH_RANK (r, job)
        r->check.checks = _can_check (r) && !_has_checker (job, r->node);
}

/* Rounds. */

static bool _is_good (const struct rank *r)
{
    return r->check.told && r->check.found == FOUND_NOTHING;
}

static void _begin_round (struct job *job)
{
    struct preflight *f = &job->preflight;
    int seconds = f->round ? LINK_SECONDS : job->config->preflight.seconds + job->config->timeout;

    f->number++;
    f->until = job->run + seconds * SECOND_MS;
}

/*
 * Pairs as in a tournament: all but one stand in a circle, which turns, and those who face each other are a
 * pair. In so many rounds as there are nodes each meets each other one.
 */
static void _pair (struct job *job)
{
    struct rank **node = calloc ((size_t)job->tasks + 1, sizeof (struct rank *));
    int count = 0, turning;

    EACH_RANK (r, job) {
        r->check.partner = NULL;
        if (node && _is_good (r))
            node[count++] = r;
    }
    count += count % 2; /* with NULL: its partner has none in this round */
    turning = count - 1;
    for (int i = 0; i < count / 2; i++) {
        int a = (job->preflight.round + i) % turning, b = (job->preflight.round + turning - i) % turning;
        struct rank *one = node[i == 0 ? turning : a], *other = node[b];

        if (!one || !other)
            continue;
        one->check.partner = other;
        other->check.partner = one;
        /* Its turn to send first. */
        one->check.serves = (job->preflight.round + i) % 2;
        other->check.serves = !one->check.serves;
    }
    free (node);
}

static bool _has_checked (const struct job *job, const struct rank *r)
{
    return r->checked.number == job->preflight.number;
}

/* The rate of a pair is measured by the one that connects: the round does not wait for the other one. */
static bool _measures (const struct rank *r)
{
    return r->check.partner && !r->check.serves;
}

static bool _is_checking (const struct job *job, const struct rank *r)
{
    return r->check.checks && r->link != LINK_NONE && (job->preflight.round == 0 || _measures (r))
           && !_has_checked (job, r);
}

static bool _waits (const struct job *job)
{
    if (job->run >= job->preflight.until)
        return false;
    EACH_RANK (r, job)
        if (_is_checking (job, r))
            return true;
    return false;
}

struct check_order preflight_order (const struct job *job, const struct rank *r)
{
    const struct preflight *f = &job->preflight;
    const struct rank *partner = r->check.partner;
    struct check_order order = { .number = 0 };

    if (f->until == NEVER || !r->check.checks || (f->round > 0 && !partner))
        return order;
    order.number = f->number;
    if (f->round > 0) {
        order.port = r->check.serves ? r->port : partner->port;
        order.peer = partner->address;
        order.serves = r->check.serves;
    }
    return order;
}

/* What was found. */

static void _set_finding (struct rank *r, enum finding what, int value, int expected)
{
    r->check.found = what;
    r->check.value = value;
    r->check.expected = expected;
}

static int _compare (const void *a, const void *b)
{
    int one = *(const int *)a, other = *(const int *)b;

    return one < other ? -1 : one > other;
}

static int _median (int *value, int count)
{
    qsort (value, (size_t)count, sizeof (*value), _compare);
    return value[count / 2];
}

/* As far as an int goes. */
static int _limited (int64_t seconds)
{
    return seconds > INT32_MAX ? INT32_MAX : seconds < -INT32_MAX ? -INT32_MAX : (int)seconds;
}

/* So many seconds ahead of srun's host. */
static int _ahead (const struct rank *r)
{
    return _limited (r->checked.clock - r->checked.sent);
}

/* With srun's host, of which one that is wrong makes no node bad. */
static void _compare_clocks (struct job *job)
{
    int *ahead = calloc ((size_t)job->tasks + 1, sizeof (int)), count = 0, median;

    if (!ahead)
        return;
    ahead[count++] = 0;
    EACH_RANK (r, job)
        if (r->check.told)
            ahead[count++] = _ahead (r);
    median = _median (ahead, count);
    EACH_RANK (r, job) {
        int64_t apart = (int64_t)_ahead (r) - median;

        if (count >= CLOCKS_LEAST && _is_good (r) && llabs (apart) > CLOCK_SECONDS)
            _set_finding (r, FOUND_CLOCK, _limited (apart), CLOCK_SECONDS);
    }
    free (ahead);
}

/* Each node has checked itself, or has not answered. */
static void _judge_nodes (struct job *job)
{
    EACH_RANK (r, job) {
        r->check = (struct check){ .checks = r->check.checks };
        if (_is_checking (job, r))
            r->check.found = FOUND_SILENCE;
        else if (r->check.checks && _has_checked (job, r)) {
            r->check.told = true;
            memcpy (r->check.text, r->checked.text, sizeof (r->check.text));
            r->check.found = (enum finding)r->checked.result;
        }
    }
    if (job->config->preflight.items & PREFLIGHT_CLOCK)
        _compare_clocks (job);
}

/* In so many rounds each meets each other one, and after them the same again. */
static int _different_rounds (const struct job *job)
{
    int nodes = 0;

    EACH_RANK (r, job)
        nodes += _is_good (r);
    return nodes < 2 ? 0 : nodes - 1 + nodes % 2;
}

static void _note_link (struct rank *r, int rate, bool is_other)
{
    r->check.partners += is_other;
    r->check.reached += is_other && rate;
    if (!r->check.unreached || r->check.unreached == r->check.partner)
        r->check.unreached = rate ? NULL : r->check.partner;
    if (rate > r->check.best)
        r->check.best = rate;
}

static void _note_links (struct job *job)
{
    bool others = job->preflight.round <= _different_rounds (job);

    EACH_RANK (r, job) {
        /* Of a node that is lost nothing is known. */
        if (!_measures (r) || !_has_checked (job, r) || r->check.partner->link == LINK_NONE)
            continue;
        _note_link (r, r->checked.rate, others);
        _note_link (r->check.partner, r->checked.rate, others);
    }
}

/* The median of what each node reaches with its best partner. */
static int _median_rate (const struct job *job)
{
    int *best = calloc ((size_t)job->tasks, sizeof (int)), count = 0, median = 0;

    EACH_RANK (r, job)
        if (best && _is_good (r))
            best[count++] = r->check.best;
    if (best)
        median = _median (best, count);
    free (best);
    return median;
}

/* Slow with two at least, and with each that it reaches; or it reaches none of two, as perhaps all others. */
static bool _is_slow (const struct rank *r, int rate)
{
    if (!_is_good (r))
        return false;
    return r->check.reached > 1 ? r->check.best < rate / SLOWER : r->check.partners > 1 && r->check.best == 0;
}

/* One may be; or it has met only nodes that are. */
static bool _is_any_slow (const struct job *job)
{
    int highest = 0;

    EACH_RANK (r, job)
        highest = r->check.best > highest ? r->check.best : highest;
    EACH_RANK (r, job)
        if (_is_slow (r, highest))
            return true;
    return false;
}

static void _judge_links (struct job *job)
{
    int median = _median_rate (job);

    EACH_RANK (r, job)
        if (_is_slow (r, median))
            _set_finding (r, r->check.best ? FOUND_SLOW : FOUND_UNREACHED, r->check.best, median);
}

/* The next round, or none: a link that seems bad is measured again, if need be with the same partners. */
static bool _begin_next (struct job *job)
{
    struct preflight *f = &job->preflight;
    int most = _different_rounds (job);

    if (!(job->config->preflight.items & PREFLIGHT_LINKS) || most < 1 || f->round >= MOST_ROUNDS
        || ((f->round >= ROUNDS || f->round >= most) && !_is_any_slow (job)))
        return false;
    f->round++;
    _pair (job);
    _begin_round (job);
    return true;
}

/* The end. */

/* What one rank has found is true of all of its node. */
static void _end_node (struct job *job, struct rank *r)
{
    bool suspect = r->check.found != FOUND_NOTHING;

    if (suspect)
        facts_add (&job->facts, FACT_SUSPECT, r)->left = budget_left (job);
    EACH_RANK (other, job)
        if (strcmp (other->node, r->node) == 0) {
            other->suspect = other->suspect || suspect;
            other->vetted = r->check.told && !suspect;
        }
}

/* Both are good, as far as is known. */
static void _tell_unreached (struct job *job)
{
    EACH_RANK (r, job) {
        struct rank *other = r->check.unreached;

        if (other && !r->suspect && !other->suspect && (other > r || other->check.unreached != r))
            facts_add (&job->facts, FACT_UNREACHED, r);
    }
}

/* The one that checked its node was lost meanwhile, or it has just got its place. */
static bool _is_any_unknown (const struct job *job)
{
    EACH_PLACE (p, job)
        if (place_waits (p) && !p->rank->vetted && !p->rank->suspect)
            return true;
    return false;
}

static void _end_checks (struct job *job)
{
    struct preflight *f = &job->preflight;

    _judge_links (job);
    EACH_RANK (r, job)
        if (r->check.checks)
            _end_node (job, r);
    _tell_unreached (job);
    f->wanted = _is_any_unknown (job);
    f->until = NEVER;
}

/* Its answer is on its way; or it is silent, and will be lost, or heard again. */
static bool _is_busy (const struct job *job)
{
    EACH_RANK (r, job)
        if (r->link == LINK_BUSY || (r->link == LINK_UP && r->silent && rank_is_supervised (r)))
            return true;
    return false;
}

bool preflight_is_over (struct job *job)
{
    struct preflight *f = &job->preflight;

    if (f->until != NEVER && !_waits (job)) {
        if (f->round == 0)
            _judge_nodes (job);
        else
            _note_links (job);
        if (!_begin_next (job))
            _end_checks (job);
    }
    if (f->wanted && f->until == NEVER && !_is_busy (job)) {
        f->round = 0;
        _choose_checkers (job);
        _begin_round (job);
    }
    return !f->wanted;
}
