/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "end_text.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster_table.h"
#include "common/list_text.h"
#include "common/logdir.h"
#include "common/table.h"
#include "roster.h"
#include "wall_clock.h"
#include "job/ends.h"
#include "job/place.h"
#include "job/tracebacks.h"

static const char *_how (const struct rank *rank, bool cell, struct exit_report_text *room)
{
    bool bad = rank->replaced_by && rank->because == FACT_IS_SUSPECT;
    size_t used;

    if (bad || rank_was_lost (rank))
        snprintf (room->text, sizeof (room->text), "%s",
                  bad                                 ? "bad node"
                  : rank->lost && rank->away == NEVER ? "not known"
                                                      : "lost");
    else
        exit_report_describe (&rank->end.report, cell ? EXIT_REPORT_CELL : EXIT_REPORT_SENTENCE, room);
    used = strlen (room->text);
    if (rank->replaced_by)
        snprintf (room->text + used, sizeof (room->text) - used, ", now rank %d", rank->replaced_by->number);
    return room->text;
}

static const char *_with_more (const struct rank *rank, const char *how, bool alone, char *buf, size_t size)
{
    int restarts = rank_restarts (rank), used = snprintf (buf, size, "%s", how);

    if (restarts > 0)
        used += snprintf (buf + used, size - (size_t)used, " (restarted %d time%s)", restarts,
                          restarts == 1 ? "" : "s");
    if (alone && alone_counts (rank))
        snprintf (buf + used, size - (size_t)used, ", its address was not used");
    return buf;
}

/* "00:12:05" or "1-02:03:04", as in sacct's column Elapsed. */
static const char *_elapsed (int64_t ms, char *buf, size_t size)
{
    int64_t s = ms / 1000, days = s / 86400;
    int used = days ? snprintf (buf, size, "%" PRId64 "-", days) : 0;

    snprintf (buf + used, size - (size_t)used, "%02d:%02d:%02d", (int)(s / 3600 % 24), (int)(s / 60 % 60),
              (int)(s % 60));
    return buf;
}

/* The text of the end is the last column, because it may be long. */
char *end_text_table (const struct roster *roster, bool alone)
{
    static const char *const headings[] = { "rank", "role", "node", "elapsed", "end" };
    struct table *table;
    char title[128], *text;

    snprintf (title, sizeof (title), "spank_tf: %s: how its tasks ended", roster->step.name);
    table = table_create (title, headings, 5);
    EACH_RANK (rank, roster) {
        struct exit_report_text room;
        char number[16], role[CLUSTER_TABLE_ROLE_SIZE], elapsed[40], how[192];

        snprintf (number, sizeof (number), "%d", rank->number);
        table_add_row (table, (const char *const[]){
                                  number, cluster_table_role (rank, role), rank->node,
                                  _elapsed (rank->end.elapsed_ms, elapsed, sizeof (elapsed)),
                                  _with_more (rank, _how (rank, true, &room), alone, how, sizeof (how)) });
    }
    text = table_print (table);
    table_destroy (table);
    return text;
}

void end_text_log (const struct rank *rank, char *buf, size_t size)
{
    const struct failure_text *failure = rank->end.failure;
    enum failure_text_source source = failure ? failure->source : FAILURE_TEXT_NONE;
    char name[NAME_MAX];

    buf[0] = '\0';
    if (!rank->log_dir)
        return;
    logdir_task_file (name, sizeof (name), rank->role, rank->index, LOGDIR_OUTPUT);
    switch (source) {
        case FAILURE_TEXT_NONE: snprintf (buf, size, ". Its log is %s/%s", rank->log_dir, name); break;
        case FAILURE_TEXT_LOG:
            snprintf (buf, size, ". Its log %s/%s ends with \"%s\"", rank->log_dir, name, failure->text);
            break;
        case FAILURE_TEXT_ERROR_FILE:
            snprintf (buf, size, ". Its log is %s/%s, its error file contains \"%s\"", rank->log_dir, name,
                      failure->text);
            break;
        /* end_text_stacks () has it, with those of the others. */
        case FAILURE_TEXT_STACK: snprintf (buf, size, ". Its log is %s/%s", rank->log_dir, name); break;
    }
}

/* "; worker 1 had ended with 0 before": what failed may have waited for it. With a ps it does not. */
static void _add_early (char *buf, size_t size, const struct roster *roster, const struct rank *first)
{
    char names[256], role[CLUSTER_TABLE_ROLE_SIZE];
    struct list_text list = { names, sizeof (names), ", ", 3, 0, 0 };

    EACH_RANK (rank, roster)
        if (rank->place && rank->place->kind == RULES_PS)
            return;
    EACH_RANK (rank, roster)
        if (rank_works (rank) && place_has_ended (rank->place) && !rank->lost
            && report_is_success (&rank->end.report) && traceback_is_earlier (rank, first))
            list_text_add (&list, cluster_table_role (rank, role));
    if (list.named > 0)
        snprintf (buf, size, "; %s had ended with 0 before", list_text_end (&list));
}

const char *end_text_saved (const struct exit_report *report, char *buf, size_t size)
{
    snprintf (buf, size, "saved and exited with %d", report->number);
    return buf;
}

const char *end_text_traceback (const struct rank *rank, char *buf, size_t size)
{
    char at[32], name[NAME_MAX];

    snprintf (buf, size, "at %s: \"%s\"; its log is %s/%s",
              wall_clock_print (rank->traceback.at, at, sizeof (at)), rank->traceback.text, rank->log_dir,
              logdir_task_file (name, sizeof (name), rank->role, rank->index, LOGDIR_OUTPUT));
    return buf;
}

/*
 * "worker 1 (n2) printed a traceback at 14:02:11: "ValueError: NaN"; its log is /scratch/worker1.log;
 * first failure: ", of one that was printed before the first failure, and did not end its task, as far as
 * is known.
 */
static void _describe_traceback (const struct roster *roster, const struct rank *failed, char *buf,
                                 size_t size)
{
    const struct rank *rank = tracebacks_first (roster->rank, roster->tasks, failed);
    const struct failure_text *failure = failed->end.failure;
    const char *first = ends_has_saved (&failed->end) ? "first to end: " : "first failure: ";
    char role[CLUSTER_TABLE_ROLE_SIZE], text[2 * PATH_MAX];

    if (!rank || !rank->log_dir
        || (rank == failed && failure && strcmp (failure->text, rank->traceback.text) == 0))
        snprintf (buf, size, "%s", first);
    else
        snprintf (buf, size, "%s (%s) printed a traceback %s; %s", cluster_table_role (rank, role),
                  rank->node, end_text_traceback (rank, text, sizeof (text)), first);
}

const char *end_text_failure (const struct roster *roster, char *buf, size_t size)
{
    const struct rank *rank = ends_first_to_fail (roster->rank, roster->tasks);
    char role[CLUSTER_TABLE_ROLE_SIZE], at[32], saved[64];
    const struct failure_text *failure;
    struct exit_report_text room;

    if (!rank)
        return NULL;
    failure = rank->end.failure;
    _describe_traceback (roster, rank, buf, size);
    snprintf (buf + strlen (buf), size - strlen (buf), "%s (%s) at %s, %s", cluster_table_role (rank, role),
              rank->node, wall_clock_print (traceback_failed_at (rank), at, sizeof (at)),
              ends_has_saved (&rank->end) ? end_text_saved (&rank->end.report, saved, sizeof (saved))
                                          : _how (rank, false, &room));
    if (failure && failure->cause.kind != CAUSE_NONE)
        snprintf (buf + strlen (buf), size - strlen (buf), ": %s%s", cause_text[failure->cause.kind],
                  failure->cause.detail);
    end_text_log (rank, buf + strlen (buf), size - strlen (buf));
    if (rank_last_place (rank)->duty.works && !ends_has_saved (&rank->end))
        _add_early (buf + strlen (buf), size - strlen (buf), roster, rank);
    return buf;
}

/* Where the last life of its place that has ended hung, by its log; or NULL. */
static const char *_stack (const struct rank *rank)
{
    const struct failure_text *failure = rank->place ? rank->end.failure : NULL;

    return failure && failure->source == FAILURE_TEXT_STACK ? failure->text : NULL;
}

struct stacks {
    const char *text;           /* the same for */
    int first, tasks;           /* so many ranks, and this is the first one */
    int64_t since;              /* when the first of them fell silent */
};

/* First what few do, or what was silent first: for these the others wait. */
static int _compare_stacks (const void *a, const void *b)
{
    const struct stacks *one = a, *other = b;

    if (one->tasks != other->tasks)
        return one->tasks - other->tasks;
    return one->since < other->since ? -1 : one->since > other->since ? 1 : one->first - other->first;
}

/* Returns how many groups there are. */
static int _group_stacks (const struct roster *roster, struct stacks *group)
{
    int groups = 0;

    EACH_RANK (rank, roster) {
        const char *text = _stack (rank);
        int g = 0;

        if (!text)
            continue;
        while (g < groups && strcmp (group[g].text, text) != 0)
            g++;
        if (g == groups)
            group[groups++] = (struct stacks){ .text = text, .first = rank->number, .since = NEVER };
        group[g].tasks++;
        group[g].since = moment_first (group[g].since, rank->watch.since);
    }
    qsort (group, (size_t)groups, sizeof (*group), _compare_stacks);
    return groups;
}

/* "worker 1, worker 4: train.py:20 on_epoch_end", or, for the last one of several, "2 others: ...". */
static void _describe_stacks (const struct roster *roster, const struct stacks *group, bool others, char *buf,
                              size_t size)
{
    char names[256], role[CLUSTER_TABLE_ROLE_SIZE];
    struct list_text list = { names, sizeof (names), ", ", 3, 0, 0 };

    if (others && group->tasks > 1)
        snprintf (names, sizeof (names), "%d others", group->tasks);
    for (int i = group->first; i < roster->tasks && !(others && group->tasks > 1); i++) {
        const char *text = _stack (&roster->rank[i]);

        if (text && strcmp (text, group->text) == 0)
            list_text_add (&list, cluster_table_role (&roster->rank[i], role));
    }
    snprintf (buf, size, "%s: %s", list.named > 0 ? list_text_end (&list) : names, group->text);
}

const char *end_text_stacks (const struct roster *roster, char *buf, size_t size)
{
    struct stacks *group = calloc ((size_t)roster->tasks, sizeof (*group));
    struct list_text list = { buf, size, "; ", 4, 0, 0 };
    int groups = group ? _group_stacks (roster, group) : 0;

    for (int g = 0; g < groups; g++) {
        char item[FAILURE_TEXT_MAX + 300];

        _describe_stacks (roster, &group[g], g > 0 && g == groups - 1, item, sizeof (item));
        list_text_add (&list, item);
    }
    free (group);
    return groups > 0 ? list_text_end (&list) : NULL;
}

static int _compare_texts (const void *a, const void *b)
{
    return strcmp (*(const char *const *)a, *(const char *const *)b);
}

/* Sorted, so that a name that is there several times is counted once. */
int end_text_log_dirs (const struct roster *roster, char *buf, size_t size)
{
    struct list_text list = { buf, size, ", ", 3, 0, 0 };
    const char *first = roster->rank[0].log_dir;
    const char **dir = first ? calloc ((size_t)roster->tasks, sizeof (*dir)) : NULL;
    int names = 0;

    if (!dir)
        return 0;
    EACH_RANK (rank, roster)
        if (rank->log_dir)
            dir[names++] = rank->log_dir;
    qsort (dir, (size_t)names, sizeof (*dir), _compare_texts);
    list_text_add (&list, first);
    for (int i = 0; i < names; i++)
        if (strcmp (dir[i], first) != 0 && (i == 0 || strcmp (dir[i], dir[i - 1]) != 0))
            list_text_add (&list, dir[i]);
    free (dir);
    list_text_end (&list);
    return (int)(list.named + list.more);
}
