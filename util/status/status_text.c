/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "status_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "behind.h"
#include "common/amount.h"
#include "common/printable.h"
#include "common/second.h"
#include "common/table.h"
#include "groups.h"

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

static void _print_head (FILE *f, const struct overview *o, const struct overview_rank *rank)
{
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
    if (behind_text (o, rank, behind, sizeof (behind)))
        fprintf (f, "%s\n", behind);
}

char *status_text (const struct overview *o, const struct overview_rank *rank, bool all)
{
    static const char *const heading[] = { "rank", "role", "node", "state", "step", "activity", "restarts" };
    struct groups groups;
    struct table *table;
    char *text = NULL, *rows;
    size_t size;
    FILE *f;

    if (groups_make (&groups, rank, o->rows, all ? o->rows : STATUS_TEXT_ROWS) < 0
        || !(f = open_memstream (&text, &size)))
        return NULL;
    _print_head (f, o, rank);
    if (o->rows > 0) {
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
    groups_clear (&groups);
    if (fclose (f) == 0)
        return text;
    free (text);
    return NULL;
}
