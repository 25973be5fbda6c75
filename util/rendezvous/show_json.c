/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "show_json.h"

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cluster_table.h"
#include "common/logdir.h"
#include "common/printable.h"
#include "console.h"
#include "job/ledger.h"
#include "notify.h"
#include "preflight_text.h"
#include "wall_clock.h"
#include "job/ends.h"
#include "job/place.h"

/* Milliseconds as seconds: as many digits as a number needs, so 0.3 is not 0.29999999999999999. */
#define SECONDS_DIGITS 15

/*
 * Add a text if there is one. JSON cannot have every file name and every name of an interface: a
 * text that is not UTF-8 is left out.
 */
static void _add_text (json_t *object, const char *key, const char *text)
{
    if (text && text[0])
        json_object_set_new (object, key, json_string (text));
}

/* How many tasks each role has. */
static json_t *_roles (const struct roster *roster)
{
    json_t *roles = json_object ();

    EACH_RANK (rank, roster) {
        const char *role = rank_role (rank);
        json_int_t before = json_integer_value (json_object_get (roles, role));

        if (!rank->replaced_by)
            json_object_set_new (roles, role, json_integer (before + 1));
    }
    return roles;
}

/* What all events have. The number of the job is the beginning of the step's. */
static json_t *_object (const char *event, const struct roster *roster,
                        const struct rendezvous_config *config, int left)
{
    json_t *object = json_pack (
        "{s:s, s:s, s:I, s:s, s:I, s:i, s:i, s:o, s:i, s:i}", "spank_tf", PACKAGE_VERSION, "event", event,
        "job", (json_int_t)strtoul (roster->step.number, NULL, 10), "step", roster->step.number, "time",
        (json_int_t)time (NULL), "ranks", roster->tasks, "nodes", cluster_table_nodes (roster), "roles",
        _roles (roster), "max_restarts", config->restart.times, "restarts_left", left);

    _add_text (object, "array", config->array);
    _add_text (object, "user", config->user);
    _add_text (object, "job_name", config->job_name);
    _add_text (object, "partition", config->partition);
    _add_text (object, "cluster", config->cluster);
    _add_text (object, "srun_host", config->srun_host);
    return object;
}

/* Who has its place, and whose place it has. */
static void _add_places (json_t *task, const struct rank *rank)
{
    if (rank->replaced_by)
        json_object_set_new (task, "replaced_by", json_integer (rank->replaced_by->number));
    if (rank->replaces)
        json_object_set_new (task, "replaces", json_integer (rank->replaces->number));
}

/* A node has registered its name, which may be any bytes. */
static json_t *_node (const struct rank *rank)
{
    char name[REGISTRATION_MAX_NODE + 1];

    snprintf (name, sizeof (name), "%s", rank->node);
    printable_make_line (name);
    return json_string (name);
}

static json_t *_task (const struct rank *rank)
{
    json_t *task = json_pack ("{s:i, s:s, s:i, s:o}", "rank", rank->number, "role", rank_role (rank), "index",
                              rank_index (rank), "node", _node (rank));

    _add_places (task, rank);
    return task;
}

static json_t *_started (const struct rank *rank)
{
    json_t *task = _task (rank);
    char file[NAME_MAX], path[PATH_MAX + NAME_MAX];
    struct address_text room;

    _add_text (task, "address", address_print (&rank->address, &room));
    json_object_set_new (task, "port", json_integer (rank->port));
    _add_text (task, "interface", rank->chosen_interface);
    if (rank->log_dir) {
        snprintf (path, sizeof (path), "%s/%s", rank->log_dir,
                  logdir_task_file (file, sizeof (file), rank->role, rank->index, LOGDIR_OUTPUT));
        _add_text (task, "log", path);
    }
    return task;
}

/* How a life has ended; NULL: the supervisor is lost. */
static void _add_report (json_t *task, const struct exit_report *report)
{
    static const char *const how[] = {
        [EXIT_REPORT_EXIT] = "exit",
        [EXIT_REPORT_SIGNAL] = "signal",
        [EXIT_REPORT_UNSTARTED] = "not started",
        [EXIT_REPORT_STOPPED] = "stopped",
        [EXIT_REPORT_HUNG] = "hung",
    };

    _add_text (task, "end", report ? how[report->kind] : "lost");
    if (report && report->kind != EXIT_REPORT_STOPPED && report->kind != EXIT_REPORT_HUNG)
        json_object_set_new (task, "number", json_integer (report->number));
    if (report && report->out_of_memory)
        json_object_set_new (task, "out_of_memory", json_true ());
    if (report && report->killed)
        json_object_set_new (task, "killed_after", json_integer (report->killed_after));
}

static json_t *_task_end (const struct rank *rank)
{
    json_t *task = _task (rank);

    _add_report (task, rank_was_lost (rank) ? NULL : &rank->end.report);
    if (rank->end.failure) {
        _add_text (task, "cause", cause_word[rank->end.failure->cause.kind]);
        _add_text (task, "cause_detail", rank->end.failure->cause.detail);
    }
    if (rank->traceback.text[0]) {
        _add_text (task, "traceback", rank->traceback.text);
        json_object_set_new (task, "traceback_time", json_integer (wall_clock (rank->traceback.at)));
    }
    json_object_set_new (task, "restarts", json_integer (rank_restarts (rank)));
    if (rank->address_use != ADDRESS_UNKNOWN)
        json_object_set_new (task, "address_used", json_boolean (rank->address_use == ADDRESS_USED));
    json_object_set_new (task, "time", json_integer (wall_clock (rank->end.at)));
    json_object_set_new (task, "elapsed", json_integer (rank->end.elapsed_ms / 1000));
    return task;
}

/* One line, to be freed, with all these tasks; or NULL. The object and the array are released. */
static char *_line (json_t *object, json_t *task, int tasks)
{
    bool complete = json_array_size (task) == (size_t)tasks;
    /* It takes the array in any case. */
    bool added = json_object_set_new (object, "tasks", task) == 0;
    char *text = NULL, *line = NULL;

    if (complete && added)
        text = json_dumps (object, JSON_COMPACT | JSON_REAL_PRECISION (SECONDS_DIGITS));
    if (text && asprintf (&line, "%s\n", text) < 0)
        line = NULL;
    free (text);
    json_decref (object);
    return line;
}

char *show_json_start (const struct roster *roster, const struct network_choice *choice,
                       const struct rendezvous_config *config)
{
    json_t *object = _object ("start", roster, config, config->restart.times), *tasks = json_array ();

    _add_text (object, "network", choice->network);
    EACH_RANK (rank, roster)
        json_array_append_new (tasks, _started (rank));
    return _line (object, tasks, roster->tasks);
}

static char *_restart_object (const struct roster *roster, const struct fact *fact,
                              const struct rendezvous_config *config)
{
    json_t *object = _object ("restart", roster, config, fact->left), *tasks = json_array ();
    bool replaced = fact->kind == FACT_REPLACED;

    json_object_set_new (object, "all", json_boolean (replaced || fact->decision == DECISION_ALL));
    json_object_set_new (object, "pause", json_integer (fact->pause));
    for (int i = 0; i < fact->count; i++) {
        json_t *task = _task (fact->ranks[i].rank);
        bool lost = replaced && fact->because == FACT_IS_LOST;

        _add_report (task, lost ? NULL : &fact->ranks[i].report);
        json_array_append_new (tasks, task);
    }
    return _line (object, tasks, fact->count);
}

/* A rank that had ended before is only missed at the barrier; NULL if all had. */
static char *_lost_object (const struct roster *roster, const struct fact *fact,
                           const struct rendezvous_config *config)
{
    json_t *object, *tasks = json_array ();
    int count = 0;

    for (int i = 0; i < fact->count; i++)
        if (fact->ranks[i].rank->lost) {
            json_array_append_new (tasks, _task_end (fact->ranks[i].rank));
            count++;
        }
    object = count > 0 ? _object ("lost", roster, config, fact->left) : NULL;
    return _line (object, tasks, count);
}

static json_t *_json_seconds (int64_t ms)
{
    return json_real ((double)ms / 1000);
}

/* What --tf-watchdog=auto has learned; nothing without that. */
static void _add_learnt (json_t *object, const struct watchdog_learnt *learnt)
{
    if (learnt->slowest_ms > 0)
        json_object_set_new (object, "watchdog",
                             json_pack ("{s:i, s:i, s:o}", "seconds", learnt->seconds, "first", learnt->first,
                                        "slowest_s", _json_seconds (learnt->slowest_ms)));
}

static char *_hang_object (const struct roster *roster, const struct fact *fact,
                           const struct rendezvous_config *config)
{
    json_t *object = _object ("hang", roster, config, fact->left), *tasks = json_array ();

    json_object_set_new (object, "seconds", json_integer (fact->seconds));
    _add_learnt (object, &fact->learnt);
    for (int i = 0; i < fact->count; i++) {
        const struct watch_standing *watch = &fact->ranks[i].rank->watch;
        json_t *task = _task (fact->ranks[i].rank);

        json_object_set_new (task, "since", json_integer (wall_clock (watch->since)));
        _add_text (task, "status", watch->signs.status);
        if (watch->signs.stopped)
            json_object_set_new (task, "stopped", json_true ());
        json_array_append_new (tasks, task);
    }
    return _line (object, tasks, fact->count);
}

/* It names no rank. What no program has said is null. */
static char *_heartbeat_object (const struct roster *roster, const struct fact *fact,
                                const struct rendezvous_config *config)
{
    json_t *object = _object ("heartbeat", roster, config, fact->left);
    bool says = fact->step > 0;

    json_object_set_new (object, "last_step", says ? json_integer (fact->step) : json_null ());
    json_object_set_new (object, "age", says ? json_integer (fact->seconds) : json_null ());
    return _line (object, json_array (), 0);
}

static char *_suspect_object (const struct roster *roster, const struct fact *fact,
                              const struct rendezvous_config *config)
{
    json_t *object = _object ("suspect", roster, config, fact->left), *tasks = json_array ();
    const struct rank *rank = fact->rank;
    char reason[PREFLIGHT_TEXT_SIZE];
    int count = 0;

    json_object_set_new (object, "node", _node (rank));
    json_object_set_new (object, "item", json_string (preflight_text_item (rank)));
    /* The name of a program may be any bytes, too. */
    preflight_text_reason (rank, config, reason, sizeof (reason));
    printable_make_line (reason);
    _add_text (object, "reason", reason);
    if (preflight_text_alike (roster) > 0)
        json_object_set_new (object, "all_nodes", json_true ());
    EACH_RANK (r, roster)
        if (strcmp (r->node, rank->node) == 0) {
            json_array_append_new (tasks, _task (r));
            count++;
        }
    return _line (object, tasks, count);
}

/* NULL also if programs are not told of it. */
static char *_fact_object (const struct roster *roster, const struct fact *fact,
                           const struct rendezvous_config *config)
{
    switch (fact->kind) {
        case FACT_HEARTBEAT: return _heartbeat_object (roster, fact, config);
        case FACT_SUSPECT: return _suspect_object (roster, fact, config);
        case FACT_DECIDED:
        case FACT_REPLACED:
            /* The event of a bad node has the spares of its tasks. */
            return fact->count > 0 && fact->because != FACT_IS_SUSPECT
                       ? _restart_object (roster, fact, config)
                       : NULL;
        case FACT_LOST: return _lost_object (roster, fact, config);
        case FACT_HANG: return fact->count > 0 ? _hang_object (roster, fact, config) : NULL;
        default: return NULL;
    }
}

void show_json_notify (struct step *step, char *text, bool last)
{
    if (text && rendezvous_config_notifies (step_config (step)) && !console_is_muted ())
        notify_event (step_roster (step)->step.number, text, last);
    free (text);
}

void show_json_tell (struct step *step, const struct fact *fact)
{
    const struct rendezvous_config *config = step_config (step);
    char *text = NULL;

    if (config->json || rendezvous_config_notifies (config))
        text = _fact_object (step_roster (step), fact, config);
    /* That of each minute is for the program alone. */
    if (text && config->json && config->show && fact->kind != FACT_HEARTBEAT)
        console_print (text);
    show_json_notify (step, text, false);
}

/* What cannot be known, because no program says its steps, is null; then `running_s` is not. */
static json_t *_ledger (const struct ledger *l)
{
    json_t *ledger = json_object ();
    bool says = l->says;
    const struct {
        const char *key;
        enum ledger_account account;
        bool known;
    } row[] = {
        { "launch_s", LEDGER_LAUNCH, true },     { "preflight_s", LEDGER_PREFLIGHT, true },
        { "progress_s", LEDGER_PROGRESS, says }, { "repeated_s", LEDGER_REPEATED, says },
        { "noticing_s", LEDGER_NOTICING, true }, { "pausing_s", LEDGER_PAUSING, true },
        { "starting_s", LEDGER_STARTING, says }, { "waiting_s", LEDGER_WAITING, says },
        { "running_s", LEDGER_STARTING, !says }, { "suspended_s", LEDGER_SUSPENDED, true },
    };

    for (size_t i = 0; i < sizeof (row) / sizeof (row[0]); i++)
        json_object_set_new (ledger, row[i].key,
                             row[i].known ? _json_seconds (l->ms[row[i].account]) : json_null ());
    json_object_set_new (ledger, "total_s", _json_seconds (ledger_total (l)));
    json_object_set_new (ledger, "repeated_steps", says ? json_integer (l->repeated_steps) : json_null ());
    json_object_set_new (ledger, "last_step", says ? json_integer (ledger_last_step (l)) : json_null ());
    json_object_set_new (ledger, "idle_spare_s", _json_seconds (l->idle_ms));
    json_object_set_new (ledger, "restarts", json_integer (l->restarts));
    json_object_set_new (ledger, "replaced", json_integer (l->replaced));
    return ledger;
}

/* Nothing if the tasks were not asked to save. */
static void _add_requeue (json_t *object, const struct fact *fact)
{
    static const char *const word[] = {
        [REQUEUE_NOT_ASKED] = NULL,  [REQUEUE_GOES_ON] = "requeued", [REQUEUE_ASKED] = "asked",
        [REQUEUE_FAILED] = "failed", [REQUEUE_STUCK] = "stuck",      [REQUEUE_SHORT] = "short",
    };

    _add_text (object, "requeue", word[fact->requeue]);
    if (fact->requeue != REQUEUE_NOT_ASKED)
        json_object_set_new (object, "run", json_integer (fact->runs ? fact->runs->runs : 1));
}

char *show_json_end (const struct roster *roster, const struct rendezvous_config *config,
                     const struct fact *fact)
{
    json_t *object = _object ("end", roster, config, fact->left), *tasks = json_array ();
    const struct rank *first = ends_first_to_fail (roster->rank, roster->tasks);

    json_object_set_new (
        object, "cancelled",
        json_boolean (fact->requeue < REQUEUE_GOES_ON && ends_are_cancelled (roster->rank, roster->tasks)));
    json_object_set_new (object, "succeeded",
                         json_boolean (!first && fact->kind != FACT_CUT && fact->requeue < REQUEUE_GOES_ON));
    json_object_set_new (object, "first_to_fail", first ? json_integer (first->number) : json_null ());
    _add_text (object, "log_dir", roster->rank[0].log_dir);
    _add_learnt (object, &fact->learnt);
    _add_requeue (object, fact);
    if (fact->ledger)
        json_object_set_new (object, "ledger", _ledger (fact->ledger));
    EACH_RANK (rank, roster)
        json_array_append_new (tasks, _task_end (rank));
    return _line (object, tasks, roster->tasks);
}
