/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "ends.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "cluster_table.h"
#include "common/logdir.h"
#include "table.h"

static const char *_how (const struct end *end, struct exit_report_text *room)
{
    return end->presumed ? "lost" : exit_report_describe (&end->report, room);
}

static const char *_with_restarts (const struct end *end, const char *how, char *buf, size_t size)
{
    if (end->restarts == 0)
        return how;
    snprintf (buf, size, "%s (restarted %d time%s)", how, end->restarts,
              end->restarts == 1 ? "" : "s");
    return buf;
}

char *ends_table (const char *step, const struct roster *roster, const struct end *end)
{
    static const char *const headings[] = { "rank", "role", "end" };
    struct table *table;
    char title[128], *text;

    snprintf (title, sizeof (title), "spank_tf: %s: how its tasks ended", step);
    table = table_create (title, headings, 3);
    for (int i = 0; i < roster->tasks; i++) {
        struct exit_report_text room;
        char rank[16], role[CLUSTER_TABLE_ROLE_SIZE], how[128];

        snprintf (rank, sizeof (rank), "%d", i);
        table_add_row (table, (const char *const[]){
            rank, cluster_table_role (&roster->member[i], role, sizeof (role)),
            _with_restarts (&end[i], _how (&end[i], &room), how, sizeof (how)) });
    }
    text = table_print (table);
    table_destroy (table);
    return text;
}

void ends_set_failure (struct end *end, const struct failure_text *text)
{
    free (end->failure);
    end->failure = NULL;
    if (text->source != FAILURE_TEXT_NONE && (end->failure = malloc (sizeof (*text))))
        *end->failure = *text;
}

static bool _is_before (const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

int ends_first_to_fail (const struct roster *roster, const struct end *end)
{
    int first = -1;

    for (int rank = 0; rank < roster->tasks; rank++)
        if (end[rank].ended && exit_report_failed (&end[rank].report)
            && (first < 0 || _is_before (&end[rank].at, &end[first].at)))
            first = rank;
    return first;
}

/* A shell exits with 128 and the number of the signal that has ended its last command. */
bool ends_was_asked (const struct end *end)
{
    int asked = end->asked_signal, by = end->report.number - (end->report.kind == EXIT_REPORT_EXIT ? 128 : 0);

    return (asked == SIGTERM || asked == SIGINT || asked == SIGQUIT || asked == SIGHUP)
           && (by == asked || by == SIGKILL) && !end->report.out_of_memory;
}

bool ends_are_cancelled (const struct roster *roster, const struct end *end)
{
    int first = ends_first_to_fail (roster, end);

    return first >= 0 && ends_was_asked (&end[first]);
}

/* "; its log is /scratch/worker12.log", and what is known of it. */
static void _add_log (char *buf, size_t size, const struct member *m, const struct failure_text *failure)
{
    enum failure_text_source source = failure ? failure->source : FAILURE_TEXT_NONE;
    char name[NAME_MAX];

    logdir_task_file (name, sizeof (name), m->role, m->index);
    switch (source) {
        case FAILURE_TEXT_NONE:
            snprintf (buf, size, "; its log is %s/%s", m->log_dir, name);
            break;
        case FAILURE_TEXT_LOG:
            snprintf (buf, size, "; its log, %s/%s, ends with \"%s\"", m->log_dir, name, failure->text);
            break;
        case FAILURE_TEXT_ERROR_FILE:
            snprintf (buf, size, "; its log is %s/%s, its error file says \"%s\"", m->log_dir, name,
                      failure->text);
            break;
    }
}

const char *ends_first_failure (const struct roster *roster, const struct end *end, char *buf,
                                size_t size)
{
    int rank = ends_first_to_fail (roster, end), used;
    const struct member *m = &roster->member[rank < 0 ? 0 : rank];
    char role[CLUSTER_TABLE_ROLE_SIZE], at[32] = "";
    struct exit_report_text room;
    struct tm tm;

    if (rank < 0)
        return NULL;
    if (localtime_r (&end[rank].at.tv_sec, &tm))
        strftime (at, sizeof (at), " at %H:%M:%S", &tm);
    used = snprintf (buf, size, "%s on %s%s, %s", cluster_table_role (m, role, sizeof (role)),
                     m->node, at, _how (&end[rank], &room));
    if (m->log_dir)
        _add_log (buf + used, size - (size_t)used, m, end[rank].failure);
    return buf;
}
