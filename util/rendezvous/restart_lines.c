/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "restart_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/signal_name.h"
#include "console.h"
#include "rank_names.h"
#include "show_json.h"
#include "wall_clock.h"

#define WAIT_MS 2000
/* At most this many different ends, such as "signal 9, exit 42", are in a line. */
#define MOST_ENDS 4

/* What is still to be said about some ranks. */
struct line {
    struct fact fact;           /* of the first one, with the `ranks` in the order of their ends */
    char *text;                 /* what is decided */
};

struct restart_lines {
    struct step *step;
    int count;
    struct line line[];         /* in the order of the first ends; a rank is in one */
};

struct restart_lines *restart_lines_create (struct step *step)
{
    size_t tasks = (size_t)step_roster (step)->tasks;
    struct restart_lines *l = calloc (1, sizeof (*l) + tasks * sizeof (l->line[0]));

    if (!l)
        return NULL;
    l->step = step;
    return l;
}

static void _remove_line (struct restart_lines *l, struct line *line)
{
    fact_clear (&line->fact);
    free (line->text);
    l->count--;
    memmove (line, line + 1, (size_t)(l->line + l->count - line) * sizeof (*line));
}

void restart_lines_destroy (struct restart_lines *l)
{
    while (l && l->count > 0)
        _remove_line (l, l->line);
    free (l);
}

/* What is decided, as a text. */

static void _all (struct errtext *text, const struct rendezvous_config *c, const struct fact *fact)
{
    struct errtext others = { "" };

    if (restart_rule_saved (&fact->report))
        errtext_set (&others, " The other tasks have %d s to exit.", c->stop_grace);
    errtext_set (text, ".%s Restarting all tasks in %d s (restarts left without progress: %d)", others.text,
                 fact->pause, fact->left);
}

static void _final (struct errtext *text, const struct rendezvous_config *c, const struct exit_report *report)
{
    struct restart_rule any = c->restart;
    struct exit_report_text how;

    any.any = true;
    exit_report_describe (&(struct exit_report){ .kind = report->kind, .number = report->number },
                          EXIT_REPORT_SENTENCE, &how);
    if (restart_rule_covers (&any, report))
        errtext_set (text, ". Not restarted: %s is restarted only with --tf-restart=%d,any", how.text,
                     any.times);
    else
        errtext_set (text, ". Not restarted: %s is always final", how.text);
}

/* The reason comes from a node, and a file's name in it may have any bytes. */
static void _cannot (struct errtext *text, const struct fact *fact)
{
    const char *reason = "its supervisor cannot restart it";
    char name[RANK_NAME_SIZE];
    struct errtext another;
    struct quoted q;

    if (fact->rank->why)
        reason = text_quoted (&q, fact->rank->why, strlen (fact->rank->why));
    else if (fact->unable && fact->unable != fact->rank) {
        errtext_set (&another, "%s cannot be restarted, and tasks of the cluster restart only together",
                     rank_name (fact->unable, name));
        reason = another.text;
    }
    errtext_set (text, ". Not restarted: %s%s", reason,
                 fact->given_up ? "; the restart of all tasks is given up" : "");
}

static void _asked (struct errtext *text, const struct fact *fact)
{
    char name[32], at[32] = "";
    time_t when = (time_t)fact->asked_at;
    struct tm tm;

    if (when > 0 && localtime_r (&when, &tm))
        strftime (at, sizeof (at), " at %H:%M:%S", &tm);
    errtext_set (text, ". Not restarted: the step was asked to end (%s%s)",
                 signal_name (fact->asked_signal, name, sizeof (name)), at);
}

static void _used_up (struct errtext *text, const struct rendezvous_config *c, const struct fact *fact)
{
    char last[64] = "";

    if (fact->step > 0)
        snprintf (last, sizeof (last), " (last training step: %d)", fact->step);
    if (fact->row >= c->restart.times)
        errtext_set (text, ". Not restarted: %d restart%s without progress%s", fact->row,
                     fact->row == 1 ? "" : "s in a row", last);
    else
        errtext_set (text, ". Not restarted: the step has had its %d restarts%s",
                     restart_rule_total (&c->restart), last);
}

static void _set_text (struct errtext *text, const struct rendezvous_config *c, const struct fact *fact)
{
    switch (fact->decision) {
        case DECISION_NONE: break;
        case DECISION_ONE:
            errtext_set (text, "%d s (restarts left without progress: %d)", fact->pause, fact->left);
            break;
        case DECISION_ALL: _all (text, c, fact); break;
        case DECISION_FINAL: _final (text, c, &fact->report); break;
        case DECISION_USED_UP: _used_up (text, c, fact); break;
        case DECISION_CANNOT: _cannot (text, fact); break;
        case DECISION_ASKED: _asked (text, fact); break;
        case DECISION_LATE:
            errtext_set (text, ". Not restarted: its pause is longer than what is left of "
                               "eval_grace=");
            break;
    }
}

/* Lines. */

/* Has a rank before this one the same end? */
static bool _is_known_end (const struct fact *fact, int i)
{
    const struct exit_report *end = &fact->ranks[i].report;

    for (const struct fact_rank *other = fact->ranks; other < &fact->ranks[i]; other++)
        if (other->report.kind == end->kind && other->report.number == end->number
            && other->report.out_of_memory == end->out_of_memory)
            return true;
    return false;
}

/* For programs it is an event, if it is a restart. */
static void _print_line (struct restart_lines *l, struct line *line)
{
    const struct fact *fact = &line->fact;
    char names[1024], ends[128], at[16];
    struct list_text named = { names, sizeof (names), ", ", RANK_NAMES_MOST, 0, 0 };
    struct list_text how = { ends, sizeof (ends), ", ", MOST_ENDS, 0, 0 };
    struct exit_report_text room;
    const char *joint = "";

    for (int i = 0; i < fact->count; i++) {
        rank_names_add (&named, fact->ranks[i].rank);
        if (!_is_known_end (fact, i))
            list_text_add (&how, exit_report_describe (&fact->ranks[i].report, EXIT_REPORT_SENTENCE, &room));
    }
    if (fact->decision == DECISION_ONE)
        joint = fact->count > 1 ? ". Restarting them in " : ". Restarting it in ";
    console_say ("%sspank_tf: %s: %s ended at %s, %s%s%s", fact->decision == DECISION_CANNOT ? "error: " : "",
                 step_name (l->step), list_text_end (&named), wall_clock_print (fact->at, at, sizeof (at)),
                 list_text_end (&how), joint, line->text);
    if (fact->decision == DECISION_ONE || fact->decision == DECISION_ALL)
        show_json_tell (l->step, fact);
    _remove_line (l, line);
}

/* Which of its ranks that is; their number if it is none. */
static int _position (const struct fact *fact, const struct rank *rank)
{
    int i = 0;

    /* gcc -fanalyzer is wrong: a fact of several ranks has them. */
    while (i < fact->count && fact->ranks[i].rank != rank)
        i++;
    return i;
}

static struct line *_find (struct restart_lines *l, const struct rank *rank)
{
    for (struct line *line = l->line; line < l->line + l->count; line++)
        if (_position (&line->fact, rank) < line->fact.count)
            return line;
    return NULL;
}

static void _remove_rank (struct restart_lines *l, struct line *line, const struct rank *rank)
{
    struct fact *fact = &line->fact;
    int i = _position (fact, rank);

    fact->count--;
    memmove (&fact->ranks[i], &fact->ranks[i + 1], (size_t)(fact->count - i) * sizeof (fact->ranks[0]));
    if (fact->count == 0)
        _remove_line (l, line);
}

static void _append (const struct restart_lines *l, struct line *line, const struct rank *rank,
                     const struct exit_report *report)
{
    if (fact_name (&line->fact, rank, step_roster (l->step)->tasks))
        line->fact.ranks[line->fact.count - 1].report = *report;
}

/* What has failed before the failure that stops all is restarted with it. */
static void _take_members (struct restart_lines *l, struct line *all)
{
    for (struct line *line = l->line; line < l->line + l->count; line++)
        for (int i = 0; line->fact.decision == DECISION_ONE && i < line->fact.count; i++) {
            const struct fact_rank *r = &line->fact.ranks[i];

            if (!r->rank->place || !r->rank->place->duty.member)
                continue;
            if (all->fact.count == 0)
                all->fact.at = line->fact.at;
            _append (l, all, r->rank, &r->report);
        }
    for (int i = 0; i < all->fact.count; i++)
        _remove_rank (l, _find (l, all->fact.ranks[i].rank), all->fact.ranks[i].rank);
}

/* A new line for what is decided, or the one that says the same; NULL: there is no memory. */
static struct line *_line_for (struct restart_lines *l, const struct fact *fact)
{
    struct line new = { .fact = *fact };
    struct errtext text;

    _set_text (&text, step_config (l->step), fact);
    for (struct line *line = l->line; line < l->line + l->count; line++)
        if (line->fact.decision == fact->decision && strcmp (line->text, text.text) == 0)
            return line;
    if (!(new.text = strdup (text.text)))
        return NULL;
    if (fact->decision == DECISION_ALL)
        _take_members (l, &new);
    l->line[l->count] = new;
    return &l->line[l->count++];
    /* gcc -fanalyzer is wrong: the line keeps its text. */
}

#define ONLY(decision) (1U << (decision))
#define ALL_BUT(decision) (~ONLY (decision))

/* Print all lines with one of these decisions whose first end was so long ago; NEVER: at any time. */
static void _print_lines (struct restart_lines *l, unsigned int decisions, int64_t now)
{
    for (struct line *line = l->line; line < l->line + l->count;)
        if (decisions & ONLY (line->fact.decision) && now - WAIT_MS >= line->fact.at)
            _print_line (l, line);
        else
            line++;
}

void restart_lines_add (struct restart_lines *l, const struct fact *fact)
{
    struct line *line = _find (l, fact->rank);

    /* Why it cannot begin again stays true when it is let go. */
    if (fact->decision == DECISION_NONE && line && line->fact.decision == DECISION_CANNOT)
        return;
    if (line)
        _remove_rank (l, line, fact->rank);
    if (fact->decision == DECISION_NONE || !(line = _line_for (l, fact)))
        return;
    _append (l, line, fact->rank, &fact->report);
    if (line->fact.count == 0)
        _remove_line (l, line);
    if (fact->decision != DECISION_ALL)
        return;
    /* Before it, what was decided earlier, and may have used another restart. */
    _print_lines (l, ALL_BUT (DECISION_ALL), NEVER);
    _print_lines (l, ONLY (DECISION_ALL), NEVER);
}

void restart_lines_starts (struct restart_lines *l, const struct rank *rank)
{
    struct line *line = _find (l, rank);

    if (line)
        _print_line (l, line);
}

void restart_lines_check (struct restart_lines *l, int64_t now)
{
    _print_lines (l, ~0U, now);
}

void restart_lines_flush (struct restart_lines *l)
{
    _print_lines (l, ALL_BUT (DECISION_ONE), NEVER);
}

int64_t restart_lines_due (const struct restart_lines *l)
{
    return l->count > 0 ? l->line[0].fact.at + WAIT_MS : NEVER;
}
