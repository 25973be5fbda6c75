/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "restart_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/list_text.h"
#include "common/signal_name.h"
#include "console.h"
#include "events.h"
#include "rank_names.h"
#include "show_json.h"
#include "wall_clock.h"

#define WAIT_MS 2000
/* At most this many different ends, such as "signal 9, exit 42", are in a line. */
#define MOST_ENDS 4

/* Something that is still to be said about a rank. */
struct entry {
    struct fact fact;
    char *text;                 /* what is decided; the same for all that share a line */
};

struct restart_lines {
    struct step *step;
    const struct rendezvous_config *config;
    int count;
    struct entry entry[];       /* in the order of the ends, at most one for each rank */
};

struct restart_lines *restart_lines_create (struct step *step)
{
    size_t tasks = (size_t)step_roster (step)->tasks;
    struct restart_lines *l = calloc (1, sizeof (*l) + tasks * sizeof (l->entry[0]));

    if (!l)
        return NULL;
    l->step = step;
    l->config = step_config (step);
    return l;
}

void restart_lines_destroy (struct restart_lines *l)
{
    for (int i = 0; l && i < l->count; i++)
        free (l->entry[i].text);
    free (l);
}

/* What is decided, as a text. */

static void _all (struct errtext *text, const struct restart_lines *l, const struct fact *fact)
{
    struct errtext others;

    if (restart_rule_saved (&fact->report))
        errtext_set (&others, "the others have %d s to end, too, and all are", l->config->stop_grace);
    else
        errtext_set (&others, "all tasks are stopped, and");
    errtext_set (text, "; %s restarted after %d s (restarts left: %d in a row)", others.text, fact->pause,
                 fact->left);
}

static void _final (struct errtext *text, const struct restart_lines *l, const struct exit_report *report)
{
    struct restart_rule any = l->config->restart;
    struct exit_report_text how;

    any.any = true;
    exit_report_describe (&(struct exit_report){ .kind = report->kind, .number = report->number }, &how);
    if (restart_rule_covers (&any, report))
        errtext_set (text, "; not restarted: %s needs --tf-restart=%d,any", how.text, any.times);
    else
        errtext_set (text, "; not restarted: %s is always final", how.text);
}

/* The reason comes from a node, and a file's name in it may have any bytes. */
static void _cannot (struct errtext *text, const struct restart_lines *l, const struct fact *fact)
{
    const char *reason = "its supervisor cannot restart it";
    char name[RANK_NAME_SIZE];
    struct errtext another;
    struct quoted q;

    if (fact->cannot)
        reason = text_quoted (&q, fact->cannot, strlen (fact->cannot));
    else if (fact->unable && fact->unable != fact->rank) {
        errtext_set (&another, "%s cannot be restarted, and tasks of the cluster restart only together",
                     rank_name (step_roster (l->step), fact->unable, name, sizeof (name)));
        reason = another.text;
    }
    errtext_set (text, "; not restarted: %s%s", reason,
                 fact->given_up ? "; the restart of all tasks is given up" : "");
}

static void _asked (struct errtext *text, const struct fact *fact)
{
    char name[32], at[32] = "";
    time_t when = (time_t)fact->asked_at;
    struct tm tm;

    if (when > 0 && localtime_r (&when, &tm))
        strftime (at, sizeof (at), " at %H:%M:%S", &tm);
    errtext_set (text, "; not restarted: the step was asked to end (%s%s)",
                 signal_name (fact->asked_signal, name, sizeof (name)), at);
}

static void _used_up (struct errtext *text, const struct restart_lines *l, const struct fact *fact)
{
    char last[64] = "";

    if (fact->step > 0)
        snprintf (last, sizeof (last), " (step %d was the last)", fact->step);
    if (fact->row >= l->config->restart.times)
        errtext_set (text, "; not restarted: %d restart%s without progress%s", fact->row,
                     fact->row == 1 ? "" : "s in a row", last);
    else
        errtext_set (text, "; not restarted: the step has had its %d restarts%s",
                     restart_rule_total (&l->config->restart), last);
}

static void _set_text (struct errtext *text, const struct restart_lines *l, const struct fact *fact)
{
    switch (fact->decision) {
        case DECISION_NONE: break;
        case DECISION_ONE:
            errtext_set (text, "restarted after %d s (restarts left: %d in a row)", fact->pause, fact->left);
            break;
        case DECISION_ALL: _all (text, l, fact); break;
        case DECISION_FINAL: _final (text, l, &fact->report); break;
        case DECISION_USED_UP: _used_up (text, l, fact); break;
        case DECISION_CANNOT: _cannot (text, l, fact); break;
        case DECISION_ASKED: _asked (text, fact); break;
        case DECISION_LATE:
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
    char at[16];

    if (entry->fact.decision == DECISION_ONE)
        joint = tasks > 1 ? "; they are " : "; it is ";
    console_say ("%sspank_tf: %s: %s %s ended at %s, %s%s%s",
                 entry->fact.decision == DECISION_CANNOT ? "error: " : "", step_name (l->step), names,
                 tasks > 1 ? "have" : "has", wall_clock_print (entry->fact.at, at, sizeof (at)), ends, joint,
                 entry->text);
}

static bool _is_shared (const struct entry *a, const struct entry *b)
{
    return a->fact.decision == b->fact.decision && strcmp (a->text, b->text) == 0;
}

/* Has an entry of the same line, before this one, the same end? */
static bool _is_known_end (const struct restart_lines *l, int first, int i)
{
    const struct exit_report *end = &l->entry[i].fact.report;

    for (int k = first; k < i; k++) {
        const struct exit_report *other = &l->entry[k].fact.report;

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

/* The same for programs, if it is a restart: one fact, of all these ranks. */
static void _publish (const struct restart_lines *l, int first)
{
    struct fact fact = l->entry[first].fact;

    if (fact.decision != DECISION_ONE && fact.decision != DECISION_ALL)
        return;
    for (int i = first; i < l->count; i++)
        if (_is_shared (&l->entry[first], &l->entry[i]) && fact_name (&fact, l->entry[i].fact.rank, l->count))
            fact.ranks[fact.count - 1].report = l->entry[i].fact.report;
    events_tell (l->step, &fact);
    fact_clear (&fact);
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
        list_text_add (&named, rank_name (step_roster (l->step), l->entry[i].fact.rank, name, sizeof (name)));
        if (!_is_known_end (l, first, i))
            list_text_add (&how, exit_report_describe (&l->entry[i].fact.report, &room));
    }
    _print (l, &l->entry[first], (int)(named.named + named.more), list_text_end (&named),
            list_text_end (&how));
    _publish (l, first);
    for (int i = l->count - 1; i > first; i--)
        if (_is_shared (&l->entry[first], &l->entry[i]))
            _remove (l, i);
    _remove (l, first);
}

static int _find (const struct restart_lines *l, const struct rank *rank)
{
    for (int i = 0; i < l->count; i++)
        if (l->entry[i].fact.rank == rank)
            return i;
    return -1;
}

/* Print all lines whose first entry is of this kind, and has waited by now; NEVER: or not. */
static void _print_lines (struct restart_lines *l, bool (*is_due) (const struct entry *entry), int64_t now)
{
    for (int i = 0; i < l->count;)
        if (is_due (&l->entry[i]) && now - WAIT_MS >= l->entry[i].fact.at)
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

        if (entry->fact.decision != DECISION_ONE || !entry->fact.rank->place
            || !entry->fact.rank->place->duty.member || !(copy = strdup (all->text)))
            continue;
        free (entry->text);
        entry->text = copy;
        entry->fact.decision = DECISION_ALL;
        entry->fact.pause = all->fact.pause;
        entry->fact.left = all->fact.left;
    }
}

static bool _stops_all (const struct entry *entry)
{
    return entry->fact.decision == DECISION_ALL;
}

static bool _stops_none (const struct entry *entry)
{
    return !_stops_all (entry);
}

void restart_lines_add (struct restart_lines *l, const struct fact *fact)
{
    struct errtext text;
    char *copy;
    int old = _find (l, fact->rank);

    /* Why it cannot begin again stays true when it is let go. */
    if (fact->decision == DECISION_NONE && old >= 0 && l->entry[old].fact.decision == DECISION_CANNOT)
        return;
    if (old >= 0)
        _remove (l, old);
    if (fact->decision == DECISION_NONE)
        return;
    _set_text (&text, l, fact);
    if (!(copy = strdup (text.text)))
        return;
    l->entry[l->count] = (struct entry){ *fact, copy };
    l->entry[l->count].fact.cannot = NULL;
    if (fact->decision == DECISION_ALL)
        _join_all (l, &l->entry[l->count]);
    l->count++;
    if (fact->decision != DECISION_ALL)
        return;
    /* Before it, what was decided earlier, and may have used another restart. */
    _print_lines (l, _stops_none, NEVER);
    _print_lines (l, _stops_all, NEVER);
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

static bool _is_any (const struct entry *entry __attribute__ ((unused)))
{
    return true;
}

void restart_lines_check (struct restart_lines *l, int64_t now)
{
    _print_lines (l, _is_any, now);
}

static bool _is_entry_settled (const struct entry *entry)
{
    return entry->fact.decision != DECISION_ONE;
}

void restart_lines_flush (struct restart_lines *l)
{
    _print_lines (l, _is_entry_settled, NEVER);
}

int64_t restart_lines_due (const struct restart_lines *l)
{
    return l->count > 0 ? l->entry[0].fact.at + WAIT_MS : NEVER;
}
