/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "status_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/amount.h"
#include "common/printable.h"
#include "common/second.h"
#include "common/table.h"

/* The line of the step. */

static void _print_name (FILE *f, const struct overview *o)
{
    struct amount_text time;

    fprintf (f, "job %.*s", (int)strcspn (o->job_step, "."), o->job_step);
    if (o->array)
        fprintf (f, " (%s)", o->array);
    if (o->job_name)
        fprintf (f, " \"%s\"", o->job_name);
    fprintf (f, ", step %s, %s: %s", o->job_step, amount_duration (o->elapsed * SECOND_MS, &time),
             overview_phase_name[o->phase]);
}

static const char *_print_rate (char *buf, size_t size, int rate)
{
    if (rate < 1000)
        snprintf (buf, size, "0.%03d", rate);
    else
        snprintf (buf, size, "%d.%d", rate / 1000, rate % 1000 / 100);
    return buf;
}

static void _print_step (FILE *f, const struct overview *o)
{
    struct amount_text step, highest, slower;
    char now[32], before[32];

    if (o->step > 0 && o->step < o->highest)
        fprintf (f, ", step %s of %s before", amount_number (o->step, &step),
                 amount_number (o->highest, &highest));
    else if (o->highest > 0)
        fprintf (f, ", step %s", amount_number (o->highest, &highest));
    if (o->rate > 0)
        fprintf (f, ", %s steps/s", _print_rate (now, sizeof (now), o->rate));
    if (o->slower > 0)
        fprintf (f, "%s for %s (%s before)", o->rate > 0 ? ", slower" : ", none",
                 amount_duration (o->slower * SECOND_MS, &slower),
                 _print_rate (before, sizeof (before), o->rate_before));
}

char *status_text_line (const struct overview *o)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream (&text, &size);

    if (!f)
        return NULL;
    _print_name (f, o);
    if (o->phase == OVERVIEW_LAUNCHES)
        fprintf (f, ", %d of %d tasks are missing", o->missing, o->ranks);
    _print_step (f, o);
    if (o->restarts > 0 || o->restarts_left >= 0)
        fprintf (f, "; %d restart%s", o->restarts, o->restarts == 1 ? "" : "s");
    if (o->restarts_left >= 0)
        fprintf (f, ", %d left", o->restarts_left);
    if (fclose (f) != 0) {
        free (text);
        return NULL;
    }
    printable_make_line (text);
    return text;
}

/* The slowest task. */

static bool _counts (const struct overview_rank *r)
{
    return r->state == OVERVIEW_RANK_RUNS && r->step > 0 && r->told_age >= 0 && r->role;
}

/* As far as it may be now. Ages are whole seconds, and a step takes a moment to be told. */
static int64_t _at_most (const struct overview *o, const struct overview_rank *r)
{
    return r->step + ((int64_t)r->told_age + BEHIND_SECONDS) * o->rate / 1000;
}

bool status_text_slow (const struct reply *reply, char *buf, size_t size)
{
    const struct overview *o = &reply->overview;
    const struct overview_rank *slow = NULL, *ahead = NULL;
    struct amount_text step, other;

    for (const struct overview_rank *r = reply->rank; r < reply->rank + o->rows; r++) {
        if (!_counts (r))
            continue;
        if (!slow || _at_most (o, r) < _at_most (o, slow))
            slow = r;
        if (!ahead || r->step > ahead->step)
            ahead = r;
    }
    if (!slow || ahead->step - _at_most (o, slow) <= BEHIND_STEPS)
        return false;
    snprintf (buf, size, "%.64s %d on %.64s is slow: step %s; %.64s %d: step %s", slow->role, slow->index,
              slow->node ? slow->node : "?", amount_number (slow->step, &step), ahead->role, ahead->index,
              amount_number (ahead->step, &other));
    printable_make_line (buf);
    return true;
}

/*
 * Rows. If there are too many tasks, those that have the same role, state and end are one row. In front are
 * groups of few tasks: what is unusual.
 */

struct group {
    int count, nodes;
    const struct overview_rank *first; /* the lowest number */
    const struct overview_rank *oldest; /* whose last sign is the oldest one that is known */
    int low, high; /* training steps */
    int least_restarts, most_restarts;
};

struct groups {
    struct group *group;
    int count;
    int more; /* ranks that are in none, because there are too many groups */
};

static int _compare_texts (const char *a, const char *b)
{
    return strcmp (a ? a : "", b ? b : "");
}

/* 0: they are in the same group. */
static int _compare_kinds (const struct overview_rank *a, const struct overview_rank *b)
{
    int difference = _compare_texts (a->role, b->role);

    if (difference == 0)
        difference = (int)a->state - (int)b->state;
    return difference ? difference : _compare_texts (a->end, b->end);
}

/* Ranks of a group follow each other, by node. */
static int _compare_ranks (const void *one, const void *other)
{
    const struct overview_rank *a = *(const struct overview_rank *const *)one,
                               *b = *(const struct overview_rank *const *)other;
    int difference = _compare_kinds (a, b);

    if (difference == 0)
        difference = _compare_texts (a->node, b->node);
    return difference ? difference : a->rank - b->rank;
}

static struct group _of_one (const struct overview_rank *r)
{
    return (struct group){ 1, 1, r, r, r->step, r->step, r->restarts, r->restarts };
}

static void _join (struct group *group, const struct overview_rank *r, bool other_node)
{
    group->count++;
    group->nodes += other_node;
    if (r->rank < group->first->rank)
        group->first = r;
    if (r->sign_age > group->oldest->sign_age || r->unheard > group->oldest->unheard)
        group->oldest = r;
    if (r->step < group->low)
        group->low = r->step;
    if (r->step > group->high)
        group->high = r->step;
    if (r->restarts < group->least_restarts)
        group->least_restarts = r->restarts;
    if (r->restarts > group->most_restarts)
        group->most_restarts = r->restarts;
}

/* Few first, and then by the number of the first rank. */
static int _compare_groups (const void *one, const void *other)
{
    const struct group *a = one, *b = other;

    return a->count != b->count ? a->count - b->count : a->first->rank - b->first->rank;
}

/* At most so many, of one rank each if that is enough. -1 if there is no memory. */
static int _make_groups (struct groups *groups, const struct reply *reply, int most)
{
    int ranks = reply->overview.rows;
    const struct overview_rank **order = calloc ((size_t)ranks + 1, sizeof (const struct overview_rank *));

    *groups = (struct groups){ calloc ((size_t)ranks + 1, sizeof (*groups->group)), 0, 0 };
    if (!order || !groups->group) {
        free (order);
        free (groups->group);
        return -1;
    }
    for (int i = 0; i < ranks; i++)
        order[i] = &reply->rank[i];
    qsort (order, (size_t)ranks, sizeof (const struct overview_rank *), _compare_ranks);
    for (int i = 0; i < ranks; i++)
        if (ranks > most && i > 0 && _compare_kinds (order[i], order[i - 1]) == 0)
            _join (&groups->group[groups->count - 1], order[i],
                   _compare_texts (order[i]->node, order[i - 1]->node) != 0);
        else
            groups->group[groups->count++] = _of_one (order[i]);
    free (order);
    qsort (groups->group, (size_t)groups->count, sizeof (*groups->group), _compare_groups);
    while (groups->count > most)
        groups->more += groups->group[--groups->count].count;
    return 0;
}

/* The table. */

static void _print_age (char *buf, size_t size, const struct overview_rank *rank)
{
    struct amount_text age;

    if (rank->state == OVERVIEW_RANK_SILENT && rank->unheard >= 0)
        snprintf (buf, size, "not heard for %s", amount_duration (rank->unheard * SECOND_MS, &age));
    else if (rank->sign_age >= 0)
        snprintf (buf, size, "%s ago%s", amount_duration (rank->sign_age * SECOND_MS, &age),
                  rank->source == SIGNS_LOG ? " (log)" : "");
    else
        snprintf (buf, size, "-");
}

static void _print_steps (char *buf, size_t size, const struct group *group)
{
    struct amount_text low, high;

    if (group->high == 0)
        snprintf (buf, size, "-");
    else if (group->low == group->high)
        snprintf (buf, size, "%s", amount_number (group->high, &high));
    else
        snprintf (buf, size, "%s..%s", group->low ? amount_number (group->low, &low) : "-",
                  amount_number (group->high, &high));
}

static void _print_restarts (char *buf, size_t size, const struct group *group)
{
    if (group->least_restarts == group->most_restarts)
        snprintf (buf, size, "%d", group->most_restarts);
    else
        snprintf (buf, size, "%d..%d", group->least_restarts, group->most_restarts);
}

static void _add_row (struct table *table, const struct group *group)
{
    const struct overview_rank *rank = group->oldest;
    char number[24], role[96], node[96], state[256], steps[112], age[96], restarts[32];

    snprintf (number, sizeof (number), "%d", group->first->rank);
    if (group->count > 1)
        snprintf (role, sizeof (role), "%.70s (%d)", rank->role ? rank->role : "-", group->count);
    else
        snprintf (role, sizeof (role), rank->role ? "%.70s %d" : "-", rank->role, rank->index);
    if (group->nodes > 1)
        snprintf (node, sizeof (node), "%d nodes", group->nodes);
    else
        snprintf (node, sizeof (node), "%s", rank->node ? rank->node : "-");
    snprintf (state, sizeof (state), "%s%s%s", overview_state_name[rank->state], rank->end ? ": " : "",
              rank->end ? rank->end : "");
    _print_steps (steps, sizeof (steps), group);
    _print_age (age, sizeof (age), rank);
    _print_restarts (restarts, sizeof (restarts), group);
    table_add_row (table, (const char *const[]){ number, role, node, state, steps, age, restarts });
}

static void _print_head (FILE *f, const struct reply *reply)
{
    const struct overview *o = &reply->overview;
    char *line = status_text_line (o), behind[256];

    if (line)
        fprintf (f, "%s\n", line);
    free (line);
    if (o->report) {
        char report[512];

        snprintf (report, sizeof (report), "%s", o->report);
        printable_make_line (report);
        fprintf (f, "time: %s\n", report);
    }
    if (status_text_slow (reply, behind, sizeof (behind)))
        fprintf (f, "%s\n", behind);
}

char *status_text (const struct reply *reply, bool all)
{
    static const char *const heading[] = { "rank", "role", "node", "state", "step", "activity", "restarts" };
    struct groups groups;
    struct table *table;
    char *text = NULL, *rows;
    size_t size;
    FILE *f;

    if (_make_groups (&groups, reply, all ? reply->overview.rows : STATUS_TEXT_ROWS) < 0)
        return NULL;
    if (!(f = open_memstream (&text, &size))) {
        free (groups.group);
        return NULL;
    }
    _print_head (f, reply);
    if (groups.count > 0) {
        table = table_create (NULL, heading, 7);
        for (int i = 0; i < groups.count; i++)
            _add_row (table, &groups.group[i]);
        if ((rows = table_print (table)))
            fputs (rows, f);
        free (rows);
        table_destroy (table);
    }
    if (groups.more > 0)
        fprintf (f, "%d more tasks: --all\n", groups.more);
    free (groups.group);
    if (fclose (f) == 0)
        return text;
    free (text);
    return NULL;
    /* gcc -fanalyzer is wrong: it is freed. */
}
