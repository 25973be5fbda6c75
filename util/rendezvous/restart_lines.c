/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "restart_lines.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/list_text.h"
#include "console.h"
#include "events.h"
#include "rank_names.h"

#define WAIT_MS 2000
/* At most this many different ends, such as "signal 9, exit 42", are in a line. */
#define MOST_ENDS 4

/* Something that is still to be said about a rank. */
struct entry {
    const struct rank *rank;
    enum restart_policy_decision decision;
    struct exit_report end;
    char *text;                 /* what is decided; the same for all that share a line */
    int pause, left;            /* of the restart, if there is one */
    struct deadline due;
};

struct restart_lines {
    struct step *step;
    const struct restarts *restarts;
    const struct restart_policy *policy;
    int grace;
    int count;
    struct entry entry[];       /* in the order of the ends, at most one for each rank */
};

struct restart_lines *restart_lines_create (struct step *step, const struct restarts *restarts, int grace,
                                            int tasks)
{
    struct restart_lines *l = calloc (1, sizeof (*l) + (size_t)tasks * sizeof (l->entry[0]));

    if (!l)
        return NULL;
    l->step = step;
    l->restarts = restarts;
    l->policy = restarts_policy (restarts);
    l->grace = grace;
    return l;
}

void restart_lines_destroy (struct restart_lines *l)
{
    for (int i = 0; l && i < l->count; i++)
        free (l->entry[i].text);
    free (l);
}

/* What is decided, as a text. */

static void _all (struct errtext *text, const struct restart_lines *l, const struct exit_report *report)
{
    struct errtext others;

    if (restart_rule_saved (report))
        errtext_set (&others, "the others have %d s to end, too, and all are", l->grace);
    else
        errtext_set (&others, "all tasks are stopped, and");
    errtext_set (text, "; %s restarted after %d s (restarts left: %d)", others.text,
                 restart_policy_pause (l->policy), restart_policy_left (l->policy));
}

static void _final (struct errtext *text, const struct restart_lines *l, const struct exit_report *report)
{
    struct restart_rule any = *restart_policy_rule (l->policy);
    struct exit_report_text how;

    any.any = true;
    exit_report_describe (&(struct exit_report){ .kind = report->kind, .number = report->number }, &how);
    if (restart_rule_covers (&any, report))
        errtext_set (text, "; not restarted: %s needs --tf-restart=%d,any", how.text, any.times);
    else
        errtext_set (text, "; not restarted: %s is always final", how.text);
}

/* The reason comes from a node, and a file's name in it may have any bytes. */
static void _cannot (struct errtext *text, const struct restart_lines *l, const struct rank *rank,
                     const char *reason)
{
    bool given_up = restarts_gathers (l->restarts, rank);
    const struct rank *unable = restart_policy_unable (l->policy);
    char name[RANK_NAME_SIZE];
    struct errtext another;
    struct quoted q;

    if (reason)
        reason = text_quoted (&q, reason, strlen (reason));
    else if (unable && unable != rank && rank->restart.together) {
        errtext_set (&another, "%s cannot be restarted, and tasks of the cluster restart only together",
                     rank_name (step_roster (l->step), unable, name, sizeof (name)));
        reason = another.text;
    } else
        reason = "its supervisor was disconnected for some minutes, or cannot restart it";
    errtext_set (text, "; not restarted: %s%s", reason,
                 given_up ? "; the restart of all tasks is given up" : "");
}

static void _asked (struct errtext *text, const struct restart_lines *l)
{
    static const struct {
        int number;
        const char *name;
    } known[] = {
        { SIGTERM, "SIGTERM" }, { SIGINT, "SIGINT" },   { SIGHUP, "SIGHUP" },
        { SIGQUIT, "SIGQUIT" }, { SIGUSR1, "SIGUSR1" }, { SIGUSR2, "SIGUSR2" },
    };
    char name[32], at[32] = "";
    int64_t seconds;
    int number = restarts_asked_signal (l->restarts, &seconds);
    time_t when = (time_t)seconds;
    struct tm tm;

    snprintf (name, sizeof (name), "signal %d", number);
    for (size_t i = 0; i < sizeof (known) / sizeof (known[0]); i++)
        if (known[i].number == number)
            snprintf (name, sizeof (name), "%s", known[i].name);
    if (seconds > 0 && localtime_r (&when, &tm))
        strftime (at, sizeof (at), " at %H:%M:%S", &tm);
    errtext_set (text, "; not restarted: the step was asked to end (%s%s)", name, at);
}

static void _set_text (struct errtext *text, const struct restart_lines *l, const struct rank *rank,
                       const struct exit_report *report, enum restart_policy_decision decision,
                       const char *cannot)
{
    switch (decision) {
        case RESTART_POLICY_NONE: break;
        case RESTART_POLICY_ONE:
            errtext_set (text, "restarted after %d s (restarts left: %d)", restart_policy_pause (l->policy),
                         restart_policy_left (l->policy));
            break;
        case RESTART_POLICY_ALL: _all (text, l, report); break;
        case RESTART_POLICY_FINAL: _final (text, l, report); break;
        case RESTART_POLICY_USED_UP: errtext_set (text, "; no restart is left"); break;
        case RESTART_POLICY_CANNOT: _cannot (text, l, rank, cannot); break;
        case RESTART_POLICY_ASKED: _asked (text, l); break;
        case RESTART_POLICY_LATE:
            errtext_set (text, "; not restarted: its pause is longer than what is left of "
                               "eval_grace=");
            break;
    }
}

/* Lines. */

static void _print (const struct restart_lines *l, const struct entry *entry, int tasks, const char *names,
                    const char *ends)
{
    const char *joint = "";

    if (entry->decision == RESTART_POLICY_ONE)
        joint = tasks > 1 ? "; they are " : "; it is ";
    console_say ("%sspank_tf: %s: %s %s ended, %s%s%s",
                 entry->decision == RESTART_POLICY_CANNOT ? "error: " : "", step_name (l->step), names,
                 tasks > 1 ? "have" : "has", ends, joint, entry->text);
}

static bool _is_shared (const struct entry *a, const struct entry *b)
{
    return a->decision == b->decision && strcmp (a->text, b->text) == 0;
}

/* Has an entry of the same line, before this one, the same end? */
static bool _is_known_end (const struct restart_lines *l, int first, int i)
{
    const struct exit_report *end = &l->entry[i].end;

    for (int k = first; k < i; k++) {
        const struct exit_report *other = &l->entry[k].end;

        if (_is_shared (&l->entry[first], &l->entry[k]) && other->kind == end->kind
            && other->number == end->number && other->out_of_memory == end->out_of_memory)
            return true;
    }
    return false;
}

static void _remove (struct restart_lines *l, int i)
{
    free (l->entry[i].text);
    l->count--;
    memmove (&l->entry[i], &l->entry[i + 1], (size_t)(l->count - i) * sizeof (l->entry[0]));
}

/* The same for programs, if it is a restart. */
static void _tell (const struct restart_lines *l, int first)
{
    const struct entry *entry = &l->entry[first];
    struct show_json_restart *restart;

    if (entry->decision != RESTART_POLICY_ONE && entry->decision != RESTART_POLICY_ALL)
        return;
    if (!(restart = calloc (1, sizeof (*restart) + (size_t)l->count * sizeof (restart->failed[0]))))
        return;
    restart->all = entry->decision == RESTART_POLICY_ALL;
    restart->pause = entry->pause;
    restart->left = entry->left;
    for (int i = first; i < l->count; i++)
        if (_is_shared (entry, &l->entry[i])) {
            restart->failed[restart->count].rank = l->entry[i].rank;
            restart->failed[restart->count++].report = &l->entry[i].end;
        }
    events_restart (l->step, restart);
    free (restart);
}

/* The line of this entry and of all that share it. None of them is before it. */
static void _print_line (struct restart_lines *l, int first)
{
    char names[1024], ends[128], name[RANK_NAME_SIZE];
    struct list_text named = { names, sizeof (names), ", ", RANK_NAMES_MOST, 0, 0 };
    struct list_text how = { ends, sizeof (ends), ", ", MOST_ENDS, 0, 0 };
    struct exit_report_text room;

    for (int i = first; i < l->count; i++) {
        if (!_is_shared (&l->entry[first], &l->entry[i]))
            continue;
        list_text_add (&named, rank_name (step_roster (l->step), l->entry[i].rank, name, sizeof (name)));
        if (!_is_known_end (l, first, i))
            list_text_add (&how, exit_report_describe (&l->entry[i].end, &room));
    }
    _print (l, &l->entry[first], (int)(named.named + named.more), list_text_end (&named),
            list_text_end (&how));
    _tell (l, first);
    for (int i = l->count - 1; i > first; i--)
        if (_is_shared (&l->entry[first], &l->entry[i]))
            _remove (l, i);
    _remove (l, first);
}

static int _find (const struct restart_lines *l, const struct rank *rank)
{
    for (int i = 0; i < l->count; i++)
        if (l->entry[i].rank == rank)
            return i;
    return -1;
}

/* Print all lines whose first entry is of this kind. */
static void _print_lines (struct restart_lines *l, bool (*is_due) (const struct entry *entry))
{
    for (int i = 0; i < l->count;)
        if (is_due (&l->entry[i]))
            _print_line (l, i);
        else
            i++;
}

/* What has failed before the failure that stops all, and is to be restarted with it. */
static void _join_all (struct restart_lines *l, const struct entry *all)
{
    for (int i = 0; i < l->count; i++) {
        struct entry *entry = &l->entry[i];
        char *copy;

        if (entry->decision != RESTART_POLICY_ONE || !entry->rank->restart.together
            || !(copy = strdup (all->text)))
            continue;
        free (entry->text);
        entry->text = copy;
        entry->decision = RESTART_POLICY_ALL;
        entry->pause = all->pause;
        entry->left = all->left;
    }
}

static bool _stops_all (const struct entry *entry)
{
    return entry->decision == RESTART_POLICY_ALL;
}

static bool _stops_none (const struct entry *entry)
{
    return !_stops_all (entry);
}

void restart_lines_add (struct restart_lines *l, const struct rank *rank, const struct exit_report *report,
                        enum restart_policy_decision decision, const char *cannot)
{
    struct errtext text;
    char *copy;
    int old = _find (l, rank);

    if (old >= 0)
        _remove (l, old);
    if (decision == RESTART_POLICY_NONE)
        return;
    _set_text (&text, l, rank, report, decision, cannot);
    if (!(copy = strdup (text.text)))
        return;
    l->entry[l->count] = (struct entry){
        .rank = rank,
        .decision = decision,
        .end = *report,
        .text = copy,
        .pause = restart_policy_pause (l->policy),
        .left = restart_policy_left (l->policy),
        .due = deadline_in_ms (WAIT_MS),
    };
    if (decision == RESTART_POLICY_ALL)
        _join_all (l, &l->entry[l->count]);
    l->count++;
    if (decision != RESTART_POLICY_ALL)
        return;
    /* Before it, what was decided earlier, and may have used another restart. */
    _print_lines (l, _stops_none);
    _print_lines (l, _stops_all);
}

void restart_lines_starts (struct restart_lines *l, const struct rank *rank)
{
    int i = _find (l, rank);

    for (int first = 0; first <= i; first++)
        if (_is_shared (&l->entry[first], &l->entry[i])) {
            _print_line (l, first);
            return;
        }
}

static bool _has_waited (const struct entry *entry)
{
    return deadline_passed (entry->due);
}

void restart_lines_check (struct restart_lines *l)
{
    if (l)
        _print_lines (l, _has_waited);
}

static bool _is_settled (const struct entry *entry)
{
    return entry->decision != RESTART_POLICY_ONE;
}

void restart_lines_flush (struct restart_lines *l)
{
    if (l)
        _print_lines (l, _is_settled);
}

struct deadline restart_lines_next (const struct restart_lines *l)
{
    return l && l->count > 0 ? l->entry[0].due : deadline_never ();
}
