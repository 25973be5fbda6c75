/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "narrator.h"

#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster_table.h"
#include "common/amount.h"
#include "common/list_text.h"
#include "common/logdir.h"
#include "common/second.h"
#include "common/signal_name.h"
#include "common/silence.h"
#include "console.h"
#include "end_text.h"
#include "job/ledger.h"
#include "ledger_text.h"
#include "preflight_text.h"
#include "rank_names.h"
#include "restart_lines.h"
#include "show_json.h"
#include "wall_clock.h"
#include "job/ends.h"
#include "job/place.h"
#include "job/tracebacks.h"

/* Tasks of which none can start its program end within this time. */
#define UNSTARTED_MS 2000

struct narrator {
    struct step *step;
    const struct roster *roster;
    const struct rendezvous_config *config;
    struct restart_lines *lines;
};

/* A line about the step: for master.log alone, for users, or about what went wrong. */
enum tone {
    LOG,
    NOTE,
    ERROR,
};

static void __attribute__ ((format (printf, 3, 4))) _say (const struct narrator *n, enum tone tone,
                                                          const char *fmt, ...)
{
    char *text, *line;
    va_list ap;
    int length;

    va_start (ap, fmt);
    length = vasprintf (&text, fmt, ap);
    va_end (ap);
    if (length < 0)
        return;
    if (tone != LOG)
        console_say ("%sspank_tf: %s: %s", tone == ERROR ? "error: " : "", step_name (n->step), text);
    else if (asprintf (&line, "spank_tf: %s: %s\n", step_name (n->step), text) >= 0) {
        console_note (line);
        free (line);
    }
    free (text);
}

void narrator_start (struct step *step)
{
    const struct rendezvous_config *c = step_config (step);
    const struct roster *roster = step_roster (step);
    const struct network_choice *choice = step_choice (step);
    const char *notice;

    for (int i = 0; (notice = step_notice (step, i)); i++)
        console_say ("spank_tf: %s: %s", step_name (step), notice);
    console_table (c->json ? show_json_start (roster, choice, c) : cluster_table (roster, choice), c->show);
    if (rendezvous_config_notifies (c))
        show_json_notify (step, show_json_start (roster, choice, c), false);
}

/* Names. */

/* The fact's ranks. Returns buf. */
static const char *_names (const struct fact *fact, size_t most, char *buf, size_t size)
{
    struct list_text list = { buf, size, ", ", most, 0, 0 };

    for (int i = 0; i < fact->count; i++)
        rank_names_add (&list, fact->ranks[i].rank);
    return list_text_end (&list);
}

/* Failures. */

/* If no task can start its program one line says all, so what is told about the first ones waits. */
static void _reported (const struct fact *fact)
{
    if (fact->report.kind != EXIT_REPORT_UNSTARTED || !fact->rank->place || rank_restarts (fact->rank) > 0)
        console_release ();
    else if (fact->first)
        console_hold (UNSTARTED_MS);
}

struct failed {
    char text[sizeof ("failed with ") + sizeof (struct exit_report_text)];
};

/* "failed with exit code 3", or "hung". */
static const char *_failed (const struct exit_report *report, struct failed *room)
{
    struct exit_report_text how;

    snprintf (room->text, sizeof (room->text), "%s%s", report->kind == EXIT_REPORT_HUNG ? "" : "failed with ",
              exit_report_describe (report, EXIT_REPORT_SENTENCE, &how));
    return room->text;
}

static void _failed_beside (const struct narrator *n, const struct fact *fact)
{
    char name[RANK_NAME_SIZE];
    struct failed room;

    restart_lines_flush (n->lines);
    _say (n, ERROR, "%s %s. spank_tf stops no other task", rank_name (fact->rank, name),
          _failed (&fact->report, &room));
}

static void _missed (const struct narrator *n, const struct fact *fact)
{
    bool saved = ends_has_saved (&fact->rank->end);
    char name[RANK_NAME_SIZE], text[64];
    struct failed room;

    _say (n, saved ? NOTE : ERROR,
          "%s %s. spank_tf does not stop the other tasks, which may wait for it; srun -K does",
          rank_name (fact->rank, name),
          saved ? end_text_saved (&fact->report, text, sizeof (text)) : _failed (&fact->report, &room));
}

static void _ps_failed (const struct narrator *n, const struct rank *rank, const char *name)
{
    const struct exit_report *report = &rank->end.report;
    struct failed room;

    if (rank->lost)
        _say (n, ERROR, "without %s its workers would wait forever and are stopped", name);
    else if (report->kind == EXIT_REPORT_SIGNAL && report->number == SIGTERM)
        _say (n, NOTE, "%s ended with signal %d. The other tasks are stopped", name, report->number);
    else
        _say (n, ERROR, "%s %s. Its workers would wait for it forever and are stopped", name,
              _failed (report, &room));
}

/* The preflight before a restart may refuse that. */
static bool _has_any_begun (const struct roster *roster)
{
    EACH_RANK (rank, roster)
        if (rank->place && rank->place->life.number >= 0)
            return true;
    return false;
}

static void _refused (const struct narrator *n)
{
    char nodes[1024],
        action[1088] = "One cause for all nodes is likely, such as a wrong path or a firewall. Fix it,";

    if (preflight_text_alike (n->roster) == 0)
        snprintf (action, sizeof (action), "Leave bad nodes out (--exclude=%s), add spares,",
                  preflight_text_nodes (n->roster, nodes, sizeof (nodes)));
    _say (n, ERROR, "the preflight has refused the %s (exit code %d). %s or use --tf-preflight=warn",
          _has_any_begun (n->roster) ? "restart" : "step, and no program was started",
          EXIT_REPORT_REFUSED_CODE, action);
}

/* A cluster without a ps has lost a task. */
static void _task_failed (const struct narrator *n, const struct fact *fact, const char *name)
{
    const struct end *end = &fact->rank->end;
    char when[32] = "are stopped", saved[64];
    struct failed room;

    if (fact->seconds > 0)
        snprintf (when, sizeof (when), "will be stopped in %d s", fact->seconds);
    if (ends_has_saved (end))
        _say (n, NOTE, "%s %s. The other tasks %s", name,
              end_text_saved (&end->report, saved, sizeof (saved)), when);
    else
        _say (n, ERROR, "%s %s. The other tasks cannot continue without it and %s", name,
              _failed (&end->report, &room), when);
}

static void _over (const struct narrator *n, const struct fact *fact)
{
    const struct rank *rank = fact->rank;
    char name[RANK_NAME_SIZE];

    restart_lines_flush (n->lines);
    if (fact->cause == FINISH_REFUSED)
        _refused (n);
    if (fact->cause != FINISH_PS_FAILED && fact->cause != FINISH_TASK_FAILED)
        return;
    rank_name (rank, name);
    if (fact->cause == FINISH_PS_FAILED && !end_was_asked (&rank->end))
        _ps_failed (n, rank, name);
    else if (fact->cause == FINISH_TASK_FAILED && (rank->end.report.kind != EXIT_REPORT_HUNG || fact->moves))
        _task_failed (n, fact, name);
}

static void _grace (const struct narrator *n, const struct fact *fact)
{
    char names[RANK_NAME_SIZE + 64];

    if (fact->count > 0)
        _say (n, NOTE, "the training has %s. Waiting up to %d s for %s", fact->failed ? "failed" : "finished",
              fact->seconds, _names (fact, 1, names, sizeof (names)));
}

static void _killed (const struct narrator *n, enum tone tone, const struct fact *fact)
{
    char names[1024];

    if (fact->count > 0)
        _say (n, tone,
              "%s did not exit within %d s of SIGTERM and %s killed. --tf-grace=SECONDS gives stopped tasks "
              "more time",
              _names (fact, RANK_NAMES_MOST, names, sizeof (names)), fact->seconds,
              fact->count > 1 ? "were" : "was");
}

/* Losses. */

static void _lost (const struct narrator *n, const struct fact *fact)
{
    static const char *const obstacle[] = {
        [FACT_NO_OBSTACLE] = "",
        [FACT_NO_SPARE] = "; no spare is free",
        [FACT_NO_RESTART] = "; no restart is left for a spare",
    };
    char names[1024];

    if (fact->count == 0)
        return;
    _say (n, ERROR,
          "these tasks are treated as lost, because there is no connection to their supervisors: %s%s%s",
          _names (fact, RANK_NAMES_MOST, names, sizeof (names)), obstacle[fact->obstacle],
          !fact->given_up              ? ""
          : _has_any_begun (n->roster) ? "; the restart of all tasks is given up"
                                       : "; no task was started");
}

/* With spares. */
static void _tell_unheard (const struct narrator *n, const struct fact *fact)
{
    char names[1024];

    _say (n, NOTE, "no answer for %d s from %s. A free spare replaces a task after %d s without an answer",
          fact->seconds, _names (fact, RANK_NAMES_MOST, names, sizeof (names)),
          (int)(silence_verdict_ms (n->config->lost_after) / SECOND_MS));
}

static void _tell_heard (const struct narrator *n, const struct fact *fact)
{
    char names[1024];

    _say (n, NOTE, "%s answer%s again", _names (fact, RANK_NAMES_MOST, names, sizeof (names)),
          fact->count == 1 ? "s" : "");
}

/* A spare has another place. */
static void _places (const struct narrator *n)
{
    if (!n->config->json)
        console_table (cluster_table (n->roster, step_choice (n->step)), n->config->show);
}

static void _replaced (const struct narrator *n, const struct fact *fact)
{
    char names[1024], name[RANK_NAME_SIZE], item[2 * RANK_NAME_SIZE], then[96], because[64];
    struct list_text list = { names, sizeof (names), ", ", RANK_NAMES_MOST, 0, 0 };

    switch (fact->because) {
        case FACT_IS_LOST: snprintf (because, sizeof (because), "unreachable for %d s", fact->seconds); break;
        case FACT_IS_STUCK: snprintf (because, sizeof (because), "cannot be restarted where it is"); break;
        case FACT_FAILS_AGAIN:
            snprintf (because, sizeof (because), "failed first three times without progress");
            break;
        case FACT_IS_SUSPECT: return; /* the line of its node says so */
    }
    for (int i = 0; i < fact->count; i++) {
        const struct rank *lost = fact->ranks[i].rank, *spare = lost->replaced_by;

        snprintf (item, sizeof (item), "%s is now rank %d on %s", rank_name (lost, name), spare->number,
                  spare->node);
        list_text_add (&list, item);
    }
    snprintf (then, sizeof (then), "Restarting all tasks in %d s", fact->pause);
    _say (n, NOTE, "%s, and replaced: %s. %s (restarts left without progress: %d)", because,
          list_text_end (&list), fact->joined ? "It is restarted with the other tasks" : then, fact->left);
}

/* The preflight. */

static void _suspect (const struct narrator *n, const struct rank *rank)
{
    int alike = preflight_text_alike (n->roster);
    char reason[PREFLIGHT_TEXT_SIZE], result[1024];

    preflight_text_reason (rank, n->config, reason, sizeof (reason));
    if (alike == 0)
        _say (n, NOTE, "%s did not pass the preflight: %s. Result: %s", rank->node, reason,
              preflight_text_result (n->roster, rank, n->config->preflight.warn, result, sizeof (result)));
    else if (rank == preflight_text_first (n->roster))
        _say (n, NOTE, "preflight: all %d nodes: %s", alike, reason);
}

static void _unreached (const struct narrator *n, const struct rank *rank)
{
    const struct rank *other = rank->check.unreached;

    _say (n, NOTE,
          "preflight: %s and %s do not reach each other%s. Check firewalls and routes between these two",
          rank->node, other->node,
          rank->check.best && other->check.best ? ", and both reach other nodes" : "");
}

/* Hangs. */

/* What is known of the first one: ", stopped by a signal, since 14:02:11, "step 1200"" */
static const char *_describe_hang (const struct rank *rank, char *buf, size_t size)
{
    const struct signs *signs = &rank->watch.signs;
    char since[32] = "", status[SIGNS_MAX_STATUS + 8] = "", at[16];

    if (signs->source == SIGNS_LOG || signs->source == SIGNS_MESSAGES)
        snprintf (since, sizeof (since), ", since %s", wall_clock_print (rank->watch.since, at, sizeof (at)));
    if (signs->status[0])
        snprintf (status, sizeof (status), ", \"%s\"", signs->status);
    snprintf (buf, size, "%s%s%s", signs->stopped ? ", stopped by a signal" : "", since, status);
    return buf;
}

/* " (auto: at most 62.0 s before)" */
static const char *_learnt (const struct narrator *n, const struct fact *fact, char *buf, size_t size)
{
    if (n->config->watch.learns && fact->learnt.slowest_ms > 0)
        snprintf (buf, size, " (auto: at most %.1f s before)", (double)fact->learnt.slowest_ms / 1000);
    else
        snprintf (buf, size, "%s", n->config->watch.learns ? " (auto: only one activity before)" : "");
    return buf;
}

static void _hang (const struct narrator *n, const struct fact *fact)
{
    char name[RANK_NAME_SIZE], detail[256], others[96] = "", moving[64] = "", at[16], learnt[96];

    if (fact->count == 0)
        return;
    if (fact->others)
        snprintf (others, sizeof (others), "; %d other%s since %s", fact->others,
                  fact->others == 1 ? "" : "s", wall_clock_print (fact->since, at, sizeof (at)));
    if (fact->moving)
        snprintf (moving, sizeof (moving), "; %d other%s", fact->moving,
                  fact->moving == 1 ? " is active" : "s are active");
    _say (n, fact->restarts ? NOTE : ERROR, "no activity for %d s%s: %s%s%s%s", fact->seconds,
          _learnt (n, fact, learnt, sizeof (learnt)), rank_name (fact->ranks[0].rank, name),
          _describe_hang (fact->ranks[0].rank, detail, sizeof (detail)), others, moving);
}

static void _unwatched (const struct narrator *n, const struct fact *fact)
{
    char last[NAME_MAX + 64] = "", name[NAME_MAX];

    if (fact->rank)
        snprintf (last, sizeof (last), " (last growth: %s, %d s ago)",
                  logdir_task_file (name, sizeof (name), fact->rank->role, fact->rank->index, LOGDIR_OUTPUT),
                  fact->seconds);
    _say (n, NOTE,
          "--tf-watchdog: no heartbeat and no growing log in %d s%s. Hang detection is off until there is "
          "one",
          n->config->watch.first, last);
}

static void _unanswered (const struct narrator *n, const struct unanswered *u)
{
    char text[4096], name[RANK_NAME_SIZE], item[2 * RANK_NAME_SIZE];
    struct list_text list = { text, sizeof (text), "; ", UNANSWERED_NAMED, 0, 0 };

    for (int i = 0; i < u->count; i++) {
        const struct unanswered_attempt *a = &u->attempt[i < UNANSWERED_NAMED ? i : 0];
        struct address_text room;

        snprintf (item, sizeof (item), "from %s to %s, %s", a->from->node, rank_name (a->to, name),
                  address_print_port (&a->address.address, a->address.port, &room));
        list_text_add (&list, item);
    }
    _say (n, NOTE,
          "no answer to connections for a minute: %s. Check whether these nodes can reach each other, for "
          "example with --tf-preflight",
          list_text_end (&list));
}

/* Where the tasks that hung did, by the stacks in their logs. */
static void _stacks (const struct narrator *n, enum tone tone)
{
    char text[END_TEXT_FAILURE_SIZE];

    if (end_text_stacks (n->roster, text, sizeof (text)))
        _say (n, tone, "hung in: %s", text);
}

static void _traceback (const struct narrator *n, const struct fact *fact)
{
    char text[END_TEXT_FAILURE_SIZE], name[RANK_NAME_SIZE], failed[RANK_NAME_SIZE];

    if (!fact->rank->log_dir)
        return;
    end_text_traceback (fact->rank, text, sizeof (text));
    rank_name (fact->rank, name);
    if (fact->count > 0 && traceback_is_of_connection (fact->ranks[0].rank))
        _say (n, NOTE, "%s lost a connection; %s printed a traceback %s",
              rank_name (fact->ranks[0].rank, failed), name, text);
    else if (fact->count > 0)
        _say (n, NOTE, "before %s failed, %s printed a traceback %s", rank_name (fact->ranks[0].rank, failed),
              name, text);
    else
        _say (n, NOTE, "%s printed a traceback %s. It has not exited since", name, text);
}

/* The end. */

/* All tasks have ended; spares would not have started. */
static bool _none_has_started (const struct roster *roster)
{
    EACH_RANK (rank, roster)
        if (rank->place
            && (rank->lost || rank->end.report.kind != EXIT_REPORT_UNSTARTED || rank_restarts (rank) > 0))
            return false;
    return true;
}

static int _replacements (const struct roster *roster)
{
    int count = 0;

    EACH_RANK (rank, roster)
        count += rank->replaced_by && rank->because != FACT_IS_SUSPECT;
    return count;
}

static void _notify_end (const struct narrator *n, const struct fact *fact)
{
    if (rendezvous_config_notifies (n->config))
        show_json_notify (n->step, show_json_end (n->roster, n->config, fact), true);
}

/* Of other steps there is nothing to tell, as of one in which a task was restarted while others worked. */
static bool _has_ledger (const struct ledger *ledger)
{
    return ledger->says || (ledger->restarts > 0 && ledger->ms[LEDGER_PAUSING] > 0);
}

/* Of a step of some seconds it is noise. */
#define LEDGER_SAID_MS 60000

/* master.log has it in any case. */
static void _tell_ledger (const struct narrator *n, const struct ledger *ledger, bool say)
{
    char text[LEDGER_TEXT_SIZE];

    say = say && (n->config->show || ledger_total (ledger) >= LEDGER_SAID_MS);
    if (_has_ledger (ledger))
        _say (n, say ? NOTE : LOG, "time report: %s", ledger_text (ledger, text, sizeof (text)));
}

/* Of a job that was requeued, with the runs before. */
static void _tell_runs (const struct narrator *n, const struct past_runs *runs)
{
    char text[LEDGER_TEXT_SIZE];

    if (runs)
        _say (n, NOTE, "all %d runs of the job: %s", runs->runs,
              ledger_text_runs (runs, text, sizeof (text)));
}

/* The last line of master.log if Slurm kills srun, and this process. */
static void _asked_to_end (const struct narrator *n, const struct fact *fact)
{
    char signal[32], last[48] = "";

    if (fact->step > 0)
        snprintf (last, sizeof (last), ". The last training step was %d", fact->step);
    _say (n, LOG, "the tasks were asked to end (%s)%s",
          signal_name (fact->asked_signal, signal, sizeof (signal)), last);
}

/* " was cancelled", if the first failure is an end that was asked for; or NULL. */
static const char *_how_asked (const struct roster *roster)
{
    if (!ends_are_cancelled (roster->rank, roster->tasks))
        return NULL;
    return ends_first_to_fail (roster->rank, roster->tasks)->end.asked_signal == SIGINT ? " was interrupted"
                                                                                        : " was cancelled";
}

/* The job goes on in another run, or does not (job/requeue.h). */

static void _say_no_requeue (const struct narrator *n, const struct fact *fact)
{
    static const char *const why[] = {
        [SLURM_JOB_GOES_ON] = NULL,
        [SLURM_JOB_SILENT] = "Slurm does not answer (scontrol show job). spank_tf asks again",
        [SLURM_JOB_NO_SCRIPT] = "the job will not be requeued, because it has no batch script. Use sbatch",
        [SLURM_JOB_FORBIDS] =
            "the job will not be requeued, because Slurm may not do that. Add --requeue to sbatch",
        [SLURM_JOB_ENDLESS] =
            "the job will not be requeued, because it has no time limit. Add --time to sbatch",
    };

    /* The site's value is for jobs that can. */
    if (!n->config->requeue_wished)
        return;
    if (why[fact->obstacle_of_job])
        _say (n, NOTE, "--tf-requeue: %s", why[fact->obstacle_of_job]);
    else
        _say (n, NOTE,
              "--tf-requeue=%d: the job will not be requeued, because it ends in %d s already. Raise --time, "
              "or lower --tf-requeue",
              n->config->requeue, fact->seconds);
}

static void _say_save (const struct narrator *n, const struct fact *fact)
{
    _say (n, NOTE,
          "the job ends in %d s, so the tasks are asked to save (SIGTERM), and the job is then requeued "
          "(--tf-requeue)",
          fact->seconds);
}

/* ", training step 1,200" */
static const char *_at_step (int step, char *buf, size_t size)
{
    struct amount_text room;

    buf[0] = '\0';
    if (step > 0)
        snprintf (buf, size, ", training step %s", amount_number (step, &room));
    return buf;
}

static void _say_requeued (const struct narrator *n, const struct fact *fact)
{
    char nodes[1024], out[1100] = "", at[64];
    struct list_text list = { nodes, sizeof (nodes), ", ", RANK_NAMES_MOST, 0, 0 };

    for (int i = 0; i < fact->count; i++)
        list_text_add (&list, fact->ranks[i].rank->node);
    if (fact->count > 0)
        snprintf (out, sizeof (out), " without %s, where tasks were lost or failed three times",
                  list_text_end (&list));
    _say (n, NOTE, "the tasks have saved in run %d of the job%s. The job is requeued%s", fact->runs->runs,
          _at_step (fact->step, at, sizeof (at)), out);
}

static void _say_verdict (const struct narrator *n, const struct fact *fact)
{
    struct amount_text reached, before;
    char name[RANK_NAME_SIZE], log[END_TEXT_FAILURE_SIZE];
    struct failed room;

    switch (fact->requeue) {
        case REQUEUE_NOT_ASKED: break;
        case REQUEUE_GOES_ON: _say_requeued (n, fact); break;
        case REQUEUE_ASKED:
            _say (n, NOTE,
                  "the job is not requeued by spank-tf, because Slurm asked the tasks to end before "
                  "--tf-requeue=%d did",
                  n->config->requeue);
            break;
        case REQUEUE_FAILED:
            end_text_log (fact->rank, log, sizeof (log));
            _say (n, ERROR, "the job is not requeued, because %s %s after the tasks were asked to save%s",
                  rank_name (fact->rank, name),
                  fact->rank->lost ? "was lost" : _failed (&fact->rank->end.report, &room), log);
            break;
        case REQUEUE_STUCK:
            _say (n, ERROR,
                  "the job is not requeued, because this run reached training step %s, and the run before "
                  "reached %s. Does the program load its checkpoint?",
                  amount_number (fact->step, &reached), amount_number (fact->step_before, &before));
            break;
        case REQUEUE_SHORT:
            _say (n, ERROR,
                  "the job is not requeued, because this run took only %s. Without messages a run must take "
                  "%s, ten starts of its programs",
                  amount_duration (fact->seconds * SECOND_MS, &reached),
                  amount_duration (fact->wanted * SECOND_MS, &before));
            break;
    }
}

/* srun has ended, and prints nothing any more: master.log gets what is known. */
static void _cut (const struct narrator *n, const struct fact *fact)
{
    char line[128], *table = end_text_table (n->roster, false);
    const char *asked = _how_asked (n->roster);

    /* spank-tf itself has asked them. */
    if (fact->requeue == REQUEUE_FAILED)
        asked = ": srun ended before its tasks, so the job is not requeued";
    snprintf (line, sizeof (line), "spank_tf: %s%s\n", step_name (n->step),
              asked ? asked : ": srun ended before its tasks");
    console_note (line);
    _killed (n, LOG, fact);
    if (table)
        console_note (table);
    free (table);
    _tell_ledger (n, fact->ledger, false);
    _tell_runs (n, fact->runs);
    _notify_end (n, fact);
}

/* srun has killed what still ran so long after the first end. */
static void _waited (const struct narrator *n, const struct fact *fact)
{
    char names[1024];
    struct list_text list = { names, sizeof (names), ", ", RANK_NAMES_MOST, 0, 0 };

    EACH_RANK (rank, n->roster)
        if (rank->cut)
            rank_names_add (&list, rank);
    _say (n, ERROR, "srun killed the remaining tasks %d s after the first one ended (--wait): %s",
          fact->waited, list_text_end (&list));
}

/* How, the first failure, and where the logs are, which the failure's line and the JSON say, too. */
static void _ended (const struct narrator *n, const struct fact *fact)
{
    const struct roster *roster = n->roster;
    const struct rendezvous_config *c = n->config;
    const char *failure = NULL;
    char text[END_TEXT_FAILURE_SIZE];
    const struct rank *first = ends_first_to_fail (roster->rank, roster->tasks);
    /* Tasks that were asked to save end as that asks them. */
    bool saves = fact->requeue >= REQUEUE_GOES_ON;
    const char *cancelled = saves ? NULL : _how_asked (roster);
    bool none = _none_has_started (roster);
    bool saved = first && ends_has_saved (&first->end);
    bool alone = c->ask_alone && !cancelled && alone_is_likely (roster->rank, roster->tasks);
    int replaced = _replacements (roster);

    restart_lines_flush (n->lines);
    if (none)
        console_drop ();
    else
        console_release ();
    _killed (n, NOTE, fact);
    _notify_end (n, fact);
    if (c->json)
        console_table (show_json_end (roster, c, fact), c->show);
    else
        /* A table of what has been cancelled alarms; master.log has it. */
        console_table (end_text_table (roster, alone), c->show && !cancelled);
    if (cancelled)
        console_say ("spank_tf: %s%s", step_name (n->step), cancelled);
    else if (fact->cause == FINISH_REFUSED
             || (saves && (saved || ends_are_cancelled (roster->rank, roster->tasks))))
        failure = NULL; /* what there is to say has been printed */
    else if (fact->waited > 0 && first && first->cut)
        _waited (n, fact);
    else if ((failure = end_text_failure (roster, text, sizeof (text))) && saved)
        _say (n, NOTE, "%s", failure);
    else if (failure)
        _say (n, ERROR, "%s%s", none ? "no task could start its program; " : "", failure);
    else if (replaced > 0 && !saves)
        _say (n, NOTE,
              "the training has finished. %d task%s replaced; srun may still return a non-zero code because "
              "of the lost node",
              replaced, replaced == 1 ? " was" : "s were");
    if (failure)
        _stacks (n, ERROR);
    if (alone)
        _say (n, NOTE,
              "no task listened on its assigned port, so each may have trained a model of its own. See "
              "spank-tf-messages(7)");
    if (c->show && !c->json && c->watch.learns && fact->learnt.slowest_ms > 0)
        _say (n, NOTE,
              "--tf-watchdog=auto learned SECONDS %d and FIRST %d; the longest time without activity was "
              "%.1f s",
              fact->learnt.seconds, fact->learnt.first, (double)fact->learnt.slowest_ms / 1000);
    _tell_ledger (n, fact->ledger, true);
    _tell_runs (n, fact->runs);
    if (!c->json && end_text_log_dirs (roster, text, sizeof (text)) > (failure ? 1 : 0))
        _say (n, NOTE, "logs are in %s", text);
}

void narrator_tell (struct step *step, struct restart_lines *lines, const struct fact *fact)
{
    const struct narrator narrator = { step, step_roster (step), step_config (step), lines }, *n = &narrator;
    char text[256];

    switch (fact->kind) {
        case FACT_PLACES: _places (n); break;
        case FACT_ASKS_SLURM: break;
        case FACT_REPORTED: _reported (fact); break;
        case FACT_DECIDED: restart_lines_add (n->lines, fact); break;
        case FACT_BEGINS: restart_lines_starts (n->lines, fact->rank); break;
        case FACT_AGAIN:
            _stacks (n, NOTE);
            _say (n, NOTE, "all tasks restarted%s", ledger_text_restart (fact, text, sizeof (text)));
            break;
        case FACT_FAILED_BESIDE: _failed_beside (n, fact); break;
        case FACT_MISSED: _missed (n, fact); break;
        case FACT_OVER: _over (n, fact); break;
        case FACT_GRACE: _grace (n, fact); break;
        case FACT_KILLED: _killed (n, NOTE, fact); break;
        case FACT_LOST: _lost (n, fact); break;
        case FACT_UNHEARD: _tell_unheard (n, fact); break;
        case FACT_HEARD: _tell_heard (n, fact); break;
        case FACT_REPLACED: _replaced (n, fact); break;
        case FACT_SUSPECT: _suspect (n, fact->rank); break;
        case FACT_UNREACHED: _unreached (n, fact->rank); break;
        case FACT_HANG: _hang (n, fact); break;
        case FACT_UNWATCHED: _unwatched (n, fact); break;
        case FACT_ASKED: _asked_to_end (n, fact); break;
        case FACT_TRACEBACK: _traceback (n, fact); break;
        case FACT_UNANSWERED: _unanswered (n, fact->unanswered); break;
        case FACT_HEARTBEAT: break; /* only programs are told */
        case FACT_NO_REQUEUE: _say_no_requeue (n, fact); break;
        case FACT_SAVE: _say_save (n, fact); break;
        case FACT_REQUEUE: _say_verdict (n, fact); break;
        case FACT_CUT: _cut (n, fact); break;
        case FACT_ENDED: _ended (n, fact); break;
    }
    /* That of several ranks comes with their line. */
    if (fact->kind != FACT_DECIDED)
        show_json_tell (n->step, fact);
}
