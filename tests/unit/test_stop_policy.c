/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/rules.h"
#include "job/stop_policy.h"
#include "rendezvous/roster.h"

#define SITE_ROLE "tester"
#define MAX_TASKS 8

/* A cluster, and the exit reports of its ranks so far, in order. */
struct history {
    enum stop_when when;
    const char *role[MAX_TASKS];
    int tasks;
    int ends;
    int rank[MAX_TASKS];
    struct exit_report ending[MAX_TASKS];
};

/* What the policy decides. */
struct outcome {
    enum stop_policy_cause cause;
    int rank;                           /* -1: none */
    enum stop_policy_order order[MAX_TASKS];
};

static bool has_ended (const struct history *history, int rank)
{
    for (int i = 0; i < history->ends; i++)
        if (history->rank[i] == rank)
            return true;
    return false;
}

/* Printing. */

/* Append the ranks with this order, as in "; stop 1 2". */
static bool add_ordered (struct line *line, const struct outcome *outcome, int tasks,
                         enum stop_policy_order order, const char *name)
{
    bool any = false;

    for (int rank = 0; rank < tasks; rank++)
        if (outcome->order[rank] == order) {
            line_add (line, any ? " %s%d" : "; %s %d", any ? "" : name, rank);
            any = true;
        }
    return any;
}

static struct line outcome_line (const struct outcome *outcome, int tasks)
{
    struct line line = { "" };
    bool any = false;

    switch (outcome->cause) {
        case STOP_POLICY_NOT_OVER: line_add (&line, "goes on"); break;
        case STOP_POLICY_CHIEF_ENDED: line_add (&line, "over (rank %d ended)", outcome->rank); break;
        case STOP_POLICY_PS_FAILED:
        case STOP_POLICY_TASK_FAILED: line_add (&line, "over (rank %d failed)", outcome->rank); break;
        case STOP_POLICY_WORKERS_ENDED: line_add (&line, "over (workers ended)"); break;
        case STOP_POLICY_OTHERS_ENDED: line_add (&line, "over (others ended)"); break;
    }
    any |= add_ordered (&line, outcome, tasks, STOP_POLICY_STOP, "stop");
    any |= add_ordered (&line, outcome, tasks, STOP_POLICY_STOP_AFTER_GRACE, "grace");
    any |= add_ordered (&line, outcome, tasks, STOP_POLICY_STOP_AFTER_FAILURE, "late");
    any |= add_ordered (&line, outcome, tasks, STOP_POLICY_STOP_LAST, "last");
    if (outcome->cause != STOP_POLICY_NOT_OVER && !any)
        line_add (&line, "; stop none");
    return line;
}

static struct line history_line (const struct history *history)
{
    struct line line = { "" };
    struct exit_report_text room;

    line_add (&line, "%s | ", choice_word (option_table[OPTION_STOP].words, history->when));
    for (int rank = 0; rank < history->tasks; rank++)
        line_add (&line, "%s%s", rank ? "," : "", history->role[rank]);
    line_add (&line, " | ");
    for (int i = 0; i < history->ends; i++)
        line_add (&line, "%s%d %s", i ? ", " : "", history->rank[i],
                  exit_report_print (&history->ending[i], &room));
    return line;
}

/* Running a policy. */

/* These ranks run. */
static struct stop_policy *create (struct rank *rank, enum stop_when when, const char *const *role, int tasks)
{
    memset (rank, 0, (size_t)tasks * sizeof (*rank));
    for (int i = 0; i < tasks; i++)
        roster_set_role (&rank[i], role[i]);
    return stop_policy_create (when, rank, tasks);
}

/* One of them has ended. */
static bool end (struct stop_policy *policy, struct rank *rank, const struct exit_report *report)
{
    rank->state = RANK_ENDED;
    rank->end.report = *report;
    return stop_policy_ended (policy, rank);
}

static struct outcome observe (const struct history *history)
{
    struct rank rank[MAX_TASKS];
    struct stop_policy *policy = create (rank, history->when, history->role, history->tasks);
    const struct rank *cause;
    struct outcome outcome;
    bool was_over = false, is_over = false;

    assert_non_null (policy);
    for (int i = 0; i < history->ends; i++, was_over = is_over) {
        bool over_by_it = end (policy, &rank[history->rank[i]], &history->ending[i]);

        is_over = stop_policy_cause (policy) != STOP_POLICY_NOT_OVER;
        if (over_by_it != (is_over && !was_over))
            fail_msg ("%s: the job was over at another report", history_line (history).text);
    }
    outcome.cause = stop_policy_cause (policy);
    cause = stop_policy_cause_rank (policy);
    outcome.rank = cause ? (int)(cause - rank) : -1;
    for (int i = 0; i < history->tasks; i++)
        outcome.order[i] = stop_policy_order (policy, &rank[i]);
    stop_policy_destroy (policy);
    return outcome;
}

static bool supervises (const struct history *history)
{
    struct rank rank[MAX_TASKS];
    struct stop_policy *policy = create (rank, history->when, history->role, history->tasks);
    bool answer;

    assert_non_null (policy);
    answer = stop_policy_supervises (policy);
    stop_policy_destroy (policy);
    return answer;
}

/* The ranks that only serve, as in "; serve 1 2". */
static void add_serving (struct line *line, const struct history *history)
{
    struct rank rank[MAX_TASKS];
    struct stop_policy *policy = create (rank, history->when, history->role, history->tasks);
    bool any = false;

    assert_non_null (policy);
    for (int i = 0; i < history->tasks; i++)
        if (stop_policy_serves (policy, &rank[i])) {
            line_add (line, any ? " %d" : "; serve %d", i);
            any = true;
        }
    stop_policy_destroy (policy);
}

/* The golden file. */

static void read_roles (struct history *history, const struct tasklist *list)
{
    history->tasks = tasklist_named (list);
    assert_between (history->tasks, 1, MAX_TASKS);
    assert_int_equal (tasklist_assign (list, history->role, history->tasks, "", "", NULL), 0);
}

/* "1 exit 0, 0 signal 9" */
static void read_ends (struct history *history, char *text)
{
    for (char *end; (end = strsep (&text, ",")) && *end; history->ends++) {
        char *ending;
        int rank = (int)strtol (end, &ending, 10);

        assert_true (ending > end && *ending == ' ' && rank >= 0 && rank < history->tasks
                     && !has_ended (history, rank));
        history->rank[history->ends] = rank;
        assert_int_equal (exit_report_parse (&history->ending[history->ends], ending + 1), 0);
    }
}

static void check_line (char *rest, int number)
{
    struct history history = { .ends = 0 };
    struct tasklist *list;
    struct outcome outcome;
    struct line line = { "" };
    const char *expected;
    int when = choice_parse (option_table[OPTION_STOP].words, golden_field (&rest), NULL);

    assert_true (when >= 0);
    history.when = (enum stop_when)when;
    assert_int_equal (tasklist_parse (&list, golden_field (&rest), NULL), 0);
    read_roles (&history, list);
    read_ends (&history, golden_field (&rest));
    expected = golden_field (&rest);
    assert_null (rest);
    outcome = observe (&history);
    if (history.ends)
        line = outcome_line (&outcome, history.tasks);
    else {
        line_add (&line, "%s", supervises (&history) ? "supervised" : "not supervised");
        add_serving (&line, &history);
    }
    if (strcmp (line.text, expected) != 0)
        fail_msg ("stop_policy.golden, line %d: %s; expected: %s", number, line.text, expected);
    tasklist_destroy (list);
}

TEST (the_policies_agree_with_the_golden_file)
{
    assert_true (check_golden_file (GOLDEN, check_line) > 80);
}

TEST (the_policy_handles_a_large_step)
{
    enum { TASKS = 200000 };
    struct rank *rank = calloc (TASKS, sizeof (*rank));
    const struct exit_report success = { .kind = EXIT_REPORT_EXIT };
    struct stop_policy *policy;

    assert_non_null (rank);
    for (int i = 0; i < TASKS; i++)
        roster_set_role (&rank[i], i < 10 ? "ps" : "worker");
    policy = stop_policy_create (STOP_WHEN_AUTO, rank, TASKS);
    assert_non_null (policy);
    assert_true (stop_policy_supervises (policy));
    for (int i = TASKS - 1; i > 10; i--) {
        assert_false (end (policy, &rank[i], &success));
        assert_int_equal (stop_policy_order (policy, &rank[0]), STOP_POLICY_LEAVE);
        assert_int_equal (stop_policy_cause (policy), STOP_POLICY_NOT_OVER);
    }
    assert_true (end (policy, &rank[10], &success));
    assert_int_equal (stop_policy_cause (policy), STOP_POLICY_WORKERS_ENDED);
    for (int i = 0; i < TASKS; i++)
        assert_int_equal (stop_policy_order (policy, &rank[i]),
                          i < 10 ? STOP_POLICY_STOP : STOP_POLICY_LEAVE);
    stop_policy_destroy (policy);
    free (rank);
}

TEST (a_task_beside_the_cluster_waits_for_an_evaluator_that_was_lost)
{
    static const char *const role[] = { "worker", "evaluator", "+data" };
    const struct exit_report success = { .kind = EXIT_REPORT_EXIT };
    struct rank rank[3];
    struct stop_policy *policy = create (rank, STOP_WHEN_AUTO, role, 3);

    assert_non_null (policy);
    rank[1].state = RANK_LOST;
    assert_false (stop_policy_ended (policy, &rank[1]));
    assert_true (end (policy, &rank[0], &success));
    assert_int_equal (stop_policy_order (policy, &rank[2]), STOP_POLICY_STOP);
    rank[1].state = RANK_RUNS;
    assert_int_equal (stop_policy_order (policy, &rank[2]), STOP_POLICY_STOP_LAST);
    end (policy, &rank[1], &success);
    assert_int_equal (stop_policy_order (policy, &rank[2]), STOP_POLICY_STOP);
    stop_policy_destroy (policy);
}

TEST (destroying_null_is_allowed_and_keeps_errno)
{
    static const char *const role[] = { "worker" };
    struct rank rank[1];

    errno = EBADMSG;
    stop_policy_destroy (NULL);
    stop_policy_destroy (create (rank, STOP_WHEN_AUTO, role, 1));
    assert_int_equal (errno, EBADMSG);
}

/* The watchdog's verdict comes before the end of any task. */
TEST (a_hang_ends_the_job_under_auto_also_with_a_ps)
{
    static const char *const role[] = { "chief", "ps", "worker", "evaluator" };
    static const struct {
        enum stop_when when;
        bool over;
    } row[] = {
        { STOP_WHEN_AUTO, true },
        { STOP_WHEN_CHIEF, false },
        { STOP_WHEN_WORKERS, false },
        { STOP_WHEN_NEVER, false },
    };
    struct rank rank[4];

    for (size_t i = 0; i < COUNT (row); i++) {
        struct stop_policy *policy = create (rank, row[i].when, role, 4);

        assert_int_equal (stop_policy_hangs (policy, &rank[2]), row[i].over);
        assert_false (stop_policy_hangs (policy, &rank[0]));
        if (row[i].over) {
            assert_int_equal (stop_policy_cause (policy), STOP_POLICY_TASK_FAILED);
            assert_ptr_equal (stop_policy_cause_rank (policy), &rank[2]);
            assert_int_equal (stop_policy_order (policy, &rank[0]), STOP_POLICY_STOP_AFTER_FAILURE);
            assert_int_equal (stop_policy_order (policy, &rank[1]), STOP_POLICY_STOP);
            assert_int_equal (stop_policy_order (policy, &rank[3]), STOP_POLICY_STOP_AFTER_GRACE);
        }
        stop_policy_destroy (policy);
    }
}
