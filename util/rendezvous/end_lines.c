/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "end_lines.h"

#include <signal.h>
#include <stdio.h>

#include "alone.h"
#include "common/list_text.h"
#include "console.h"
#include "ends.h"
#include "events.h"
#include "job.h"
#include "rank_names.h"
#include "show_json.h"

/* Tasks of which none can start its program end within this time. */
#define UNSTARTED_MS 2000

static bool _is_unstarted (const struct rank *rank)
{
    return rank->end.report.kind == EXIT_REPORT_UNSTARTED && rank->life.number == 0;
}

/* All tasks have ended; spares would not have started. */
static bool _none_has_started (const struct roster *roster)
{
    for (const struct rank *rank = roster->rank; rank < roster->rank + roster->tasks; rank++)
        if (rank->kind != RULES_SPARE && (rank->state == RANK_LOST || !_is_unstarted (rank)))
            return false;
    return true;
}

void end_lines_reported (const struct server *server, const struct rank *rank,
                         const struct exit_report *report)
{
    const struct shutdown *s = server->shutdown;

    if (rank->kind == RULES_SPARE)
        return;
    if (report->kind != EXIT_REPORT_UNSTARTED || rank->life.number > 0)
        console_release ();
    else if (s->left == s->roster->tasks)
        console_hold (UNSTARTED_MS);
}

/* SIGTERM probably came from the user, and is about to end the other tasks too. */
static bool _is_sigterm (const struct exit_report *report)
{
    return report->kind == EXIT_REPORT_SIGNAL && report->number == SIGTERM;
}

static void _print_ps_failure (const struct server *server, const struct rank *rank, const char *name,
                               const char *how)
{
    const char *step = step_name (server->step);

    if (rank->state == RANK_LOST)
        console_say ("error: spank_tf: %s: without %s its workers would wait forever and are "
                     "stopped",
                     step, name);
    else if (_is_sigterm (&rank->end.report))
        console_say ("spank_tf: %s: %s has ended, %s; the others are stopped", step, name, how);
    else
        console_say ("error: spank_tf: %s: %s failed, %s; its workers would wait for it forever "
                     "and are stopped",
                     step, name, how);
}

/* A cluster without a ps has lost a task. */
static void _print_task_failure (const struct server *server, const char *name, const char *how)
{
    char others[64] = "are stopped";
    int grace = server->config.fail_grace;

    if (grace > 0)
        snprintf (others, sizeof (others), "have %d s to end, and are then stopped", grace);
    console_say ("error: spank_tf: %s: %s failed, %s; the others %s", step_name (server->step), name, how,
                 others);
}

/* A task that would end by itself runs, and does not hang. */
static bool _moves (const struct roster *roster)
{
    for (int i = 0; i < roster->tasks; i++) {
        const struct rank *rank = &roster->rank[i];

        if (watchdog_watches (rank) && rank->state == RANK_RUNS && !watchdog_is_hung (rank))
            return true;
    }
    return false;
}

void end_lines_over (const struct server *server)
{
    const struct shutdown *s = server->shutdown;
    enum stop_policy_cause cause = stop_policy_cause (s->policy);
    const struct rank *rank = stop_policy_cause_rank (s->policy);
    struct exit_report_text how;
    char name[RANK_NAME_SIZE];

    restart_lines_flush (s->lines);
    if (cause != STOP_POLICY_PS_FAILED && cause != STOP_POLICY_TASK_FAILED)
        return;
    rank_name (s->roster, rank, name, sizeof (name));
    exit_report_describe (&rank->end.report, &how);
    if (cause == STOP_POLICY_TASK_FAILED && rank->end.report.kind == EXIT_REPORT_HUNG && !_moves (s->roster))
        return;
    if (cause == STOP_POLICY_TASK_FAILED)
        _print_task_failure (server, name, how.text);
    else if (!ends_was_asked (&rank->end))
        _print_ps_failure (server, rank, name, how.text);
}

void end_lines_beside (const struct server *server, const struct rank *rank)
{
    const struct shutdown *s = server->shutdown;
    struct exit_report_text how;
    char name[RANK_NAME_SIZE];

    if (!rank->beside || !exit_report_failed (&rank->end.report) || job_is_done_with (s, rank)
        || ends_was_asked (&rank->end) || _is_sigterm (&rank->end.report))
        return;
    restart_lines_flush (s->lines);
    console_say ("error: spank_tf: %s: %s failed, %s; spank_tf stops no other task", step_name (server->step),
                 rank_name (s->roster, rank, name, sizeof (name)),
                 exit_report_describe (&rank->end.report, &how));
}

/* With a ps the others can go on, but one that waits for a task which has never come does so forever. */
void end_lines_missed (struct server *server, const struct rank *rank)
{
    struct shutdown *s = server->shutdown;
    struct exit_report_text how;
    char name[RANK_NAME_SIZE];

    if (s->miss_shown || rank->beside || rank->kind == RULES_EVALUATOR || server->config.restart.times > 0
        || !exit_report_failed (&rank->end.report) || ends_was_asked (&rank->end)
        || _is_sigterm (&rank->end.report))
        return;
    s->miss_shown = true;
    console_say ("error: spank_tf: %s: %s failed, %s; spank_tf does not end the others, which may wait for "
                 "it; srun -K does",
                 step_name (server->step), rank_name (s->roster, rank, name, sizeof (name)),
                 exit_report_describe (&rank->end.report, &how));
}

void end_lines_grace (const struct server *server)
{
    const struct shutdown *s = server->shutdown;
    char names[RANK_NAME_SIZE + 64], name[RANK_NAME_SIZE];
    struct list_text list = { names, sizeof (names), ", ", 1, 0, 0 };

    for (int i = 0; i < s->roster->tasks; i++) {
        const struct rank *rank = &s->roster->rank[i];

        /* If it has failed, its pause may be too long for it to be restarted. */
        if (stop_policy_order (s->policy, rank) == STOP_POLICY_STOP_AFTER_GRACE
            && (rank->state == RANK_RUNS || restart_policy_is_possible (restarts_policy (s->restarts), rank)))
            list_text_add (&list, rank_name (s->roster, rank, name, sizeof (name)));
    }
    if (list.named && job_grace (server) > 0)
        console_say ("spank_tf: %s: the training %s; waiting up to %d s for %s", step_name (server->step),
                     stop_policy_failed (s->policy) ? "has failed" : "is over", job_grace (server),
                     list_text_end (&list));
}

void end_lines_killed (const struct server *server)
{
    const struct roster *roster = server->shutdown->roster;
    char names[1024], name[RANK_NAME_SIZE];
    struct list_text list = { names, sizeof (names), ", ", RANK_NAMES_MOST, 0, 0 };
    int seconds = 0;

    for (struct rank *rank = roster->rank; rank < roster->rank + roster->tasks; rank++) {
        const struct exit_report *report = &rank->end.report;

        if (!report->killed || rank->end.kill_told)
            continue;
        rank->end.kill_told = true;
        list_text_add (&list, rank_name (roster, rank, name, sizeof (name)));
        seconds = report->killed_after > seconds ? report->killed_after : seconds;
    }
    /* With a grace of 0 none is asked to. */
    if (list.named && server->config.stop_grace > 0)
        console_say ("spank_tf: %s: %s did not end within %d s of SIGTERM, and %s killed; --tf-grace=SECONDS "
                     "gives tasks that are stopped more time",
                     step_name (server->step), list_text_end (&list), seconds,
                     list.named + list.more > 1 ? "were" : "was");
}

void end_lines_show (const struct server *server)
{
    struct shutdown *s = server->shutdown;
    const struct roster *roster = s->roster;
    const char *step = step_name (server->step), *failure = NULL;
    char text[ENDS_FAILURE_SIZE];
    int left = restart_policy_left (restarts_policy (s->restarts));
    bool cancelled, none, alone;

    if (s->end_shown || s->left > 0)
        return;
    s->end_shown = true;
    cancelled = ends_are_cancelled (roster);
    none = _none_has_started (roster);
    alone = server->config.ask_alone && !cancelled && alone_is_likely (roster);
    restart_lines_flush (s->lines);
    if (none)
        console_drop ();
    else
        console_release ();
    end_lines_killed (server);
    events_end (server->step, left);
    if (server->config.json)
        console_table (show_json_end (roster, server->config.restart.times, left), server->config.show);
    else
        /* A table of what has been cancelled alarms; master.log has it. */
        console_table (ends_table (roster, alone), server->config.show && !cancelled);
    if (cancelled)
        console_say ("spank_tf: %s was cancelled", step);
    else if ((failure = ends_first_failure (roster, text, sizeof (text))))
        console_say ("error: spank_tf: %s: %sfirst to fail: %s", step,
                     none ? "no task could start its program; " : "", failure);
    else if (s->replaced > 0)
        console_say ("spank_tf: %s: the work is done; %d task%s replaced, and for a lost node srun may "
                     "return another code than 0",
                     step, s->replaced, s->replaced == 1 ? " was" : "s were");
    if (alone)
        console_say ("spank_tf: %s: no task has used its address; did each of them train alone? "
                     "See DIAGNOSTICS of spank-tf(8)",
                     step);
    if (!server->config.json && ends_log_dirs (roster, text, sizeof (text)) > (failure ? 1 : 0))
        console_say ("spank_tf: %s: logs are in %s", step, text);
}
