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

/*
 * A second implementation of the table in stop_policy.h. Each row is evaluated over all exit
 * reports so far, independently of the policy's state. Roles are denoted by their first letters; a
 * site's own role is "t", and an auxiliary task "+".
 */

static int count (const struct history *history, const char *letters)
{
    int tasks = 0;

    for (int rank = 0; rank < history->tasks; rank++)
        tasks += strchr (letters, history->role[rank][0]) != NULL;
    return tasks;
}

/* True if the cluster has tasks with these roles and all of them have ended. */
static bool gone (const struct history *history, const char *letters)
{
    int tasks = 0;

    for (int i = 0; i < history->ends; i++)
        tasks += strchr (letters, history->role[history->rank[i]][0]) != NULL;
    return tasks > 0 && tasks == count (history, letters);
}

static bool first_gone (const struct history *history, char letter)
{
    for (int rank = 0; rank < history->tasks; rank++)
        if (history->role[rank][0] == letter)
            return has_ended (history, rank);
    return false;
}

/* The last end is a failure of one of these roles. */
static bool fails (const struct history *history, const char *letters)
{
    struct exit_report ending = history->ending[history->ends - 1];

    return strchr (letters, history->role[history->rank[history->ends - 1]][0])
           && ending.kind != EXIT_REPORT_STOPPED && !(ending.kind == EXIT_REPORT_EXIT && ending.number == 0);
}

static bool ps_fails (const struct history *history)
{
    return fails (history, "p");
}

static bool task_fails (const struct history *history)
{
    return fails (history, "cmwt");
}

static bool chief_gone (const struct history *history)
{
    if (count (history, "c"))
        return first_gone (history, 'c');
    return count (history, "m") ? first_gone (history, 'm') : first_gone (history, 'w');
}

static bool workers_gone (const struct history *history)
{
    return gone (history, "w");
}

static bool all_workers_gone (const struct history *history)
{
    return gone (history, "wcm");
}

static bool others_gone (const struct history *history)
{
    return count (history, "cmpwt") ? gone (history, "cmpwt") : gone (history, "e");
}

static bool never (const struct history *history)
{
    (void)history;
    return false;
}

static bool chief_and_ps (const struct history *history)
{
    return count (history, "cm") && count (history, "p");
}

static bool ps_without_chief (const struct history *history)
{
    return !count (history, "cm") && count (history, "p");
}

static bool no_ps (const struct history *history)
{
    return !count (history, "p");
}

static bool any_cluster (const struct history *history)
{
    (void)history;
    return true;
}

/*
 * If a ps fails, the chief and the workers are stopped too, so at_once includes them. `late` are stopped
 * after the failure of another task.
 */
static const struct rule {
    enum stop_when when;
    bool (*applies) (const struct history *history);
    bool (*over) (const struct history *history);
    enum stop_policy_cause cause;
    bool (*or_over) (const struct history *history);
    enum stop_policy_cause other_cause;
    const char *at_once, *after_grace, *late;
} rule[] = {
    { STOP_WHEN_AUTO, chief_and_ps, chief_gone, STOP_POLICY_CHIEF_ENDED, ps_fails, STOP_POLICY_PS_FAILED,
      "pwcm", "et", "" },
    { STOP_WHEN_AUTO, ps_without_chief, workers_gone, STOP_POLICY_WORKERS_ENDED, ps_fails,
      STOP_POLICY_PS_FAILED, "pw", "et", "" },
    { STOP_WHEN_AUTO, no_ps, others_gone, STOP_POLICY_OTHERS_ENDED, task_fails, STOP_POLICY_TASK_FAILED, "",
      "e", "cmwt" },
    { STOP_WHEN_CHIEF, any_cluster, chief_gone, STOP_POLICY_CHIEF_ENDED, never, STOP_POLICY_NOT_OVER,
      "cmpwet", "", "" },
    { STOP_WHEN_WORKERS, any_cluster, all_workers_gone, STOP_POLICY_WORKERS_ENDED, never,
      STOP_POLICY_NOT_OVER, "pet", "", "" },
    { STOP_WHEN_NEVER, any_cluster, never, STOP_POLICY_NOT_OVER, never, STOP_POLICY_NOT_OVER, "", "", "" },
};

static const struct rule *find_rule (const struct history *history)
{
    for (size_t i = 0; i < COUNT (rule); i++)
        if (rule[i].when == history->when && rule[i].applies (history))
            return &rule[i];
    fail_msg ("no rule for %s", history_line (history).text);
    return NULL;
}

/* An auxiliary task is stopped when no task has grace any more. */
static enum stop_policy_order order_beside (const struct history *history, const struct rule *r)
{
    for (int rank = 0; rank < history->tasks; rank++)
        if ((strchr (r->after_grace, history->role[rank][0]) || strchr (r->late, history->role[rank][0]))
            && !has_ended (history, rank))
            return STOP_POLICY_STOP_LAST;
    return STOP_POLICY_STOP;
}

static struct outcome expect (const struct history *history)
{
    const struct rule *r = find_rule (history);
    struct history so_far = *history;
    struct outcome outcome = { .cause = STOP_POLICY_NOT_OVER, .rank = -1 };

    for (so_far.ends = 1; so_far.ends <= history->ends && outcome.cause == STOP_POLICY_NOT_OVER;
         so_far.ends++) {
        if (r->over (&so_far))
            outcome.cause = r->cause;
        else if (r->or_over (&so_far))
            outcome.cause = r->other_cause;
        if (outcome.cause == STOP_POLICY_PS_FAILED || outcome.cause == STOP_POLICY_TASK_FAILED
            || outcome.cause == STOP_POLICY_CHIEF_ENDED)
            outcome.rank = history->rank[so_far.ends - 1];
    }
    for (int rank = 0; rank < history->tasks; rank++) {
        char letter = history->role[rank][0];

        if (outcome.cause == STOP_POLICY_NOT_OVER || has_ended (history, rank))
            outcome.order[rank] = STOP_POLICY_LEAVE;
        else if (letter == '+')
            outcome.order[rank] = order_beside (history, r);
        else if (strchr (r->at_once, letter))
            outcome.order[rank] = STOP_POLICY_STOP;
        else if (strchr (r->after_grace, letter))
            outcome.order[rank] = STOP_POLICY_STOP_AFTER_GRACE;
        else if (strchr (r->late, letter))
            outcome.order[rank] = STOP_POLICY_STOP_AFTER_FAILURE;
    }
    return outcome;
}

/* All histories of a cluster. */

static bool same (const struct outcome *a, const struct outcome *b, int tasks)
{
    bool orders = true;

    for (int rank = 0; rank < tasks; rank++)
        orders = orders && a->order[rank] == b->order[rank];
    return orders && a->cause == b->cause && a->rank == b->rank;
}

/* True if `now` is a valid result one exit report after `before`. */
static bool follows (const struct history *history, const struct outcome *before, const struct outcome *now)
{
    for (int rank = 0; rank < history->tasks; rank++) {
        if (now->order[rank] != STOP_POLICY_LEAVE
            && (now->cause == STOP_POLICY_NOT_OVER || has_ended (history, rank)))
            return false;
        if (before->order[rank] != STOP_POLICY_LEAVE && !has_ended (history, rank)
            && now->order[rank] != before->order[rank]
            && !(before->order[rank] == STOP_POLICY_STOP_LAST && now->order[rank] == STOP_POLICY_STOP))
            return false;
    }
    return before->cause == STOP_POLICY_NOT_OVER
           || (now->cause == before->cause && now->rank == before->rank);
}

/* Other than after the failure of a task. */
static bool has_orders (const struct outcome *outcome, int tasks)
{
    for (int rank = 0; rank < tasks && outcome->cause != STOP_POLICY_TASK_FAILED; rank++)
        if (outcome->order[rank] != STOP_POLICY_LEAVE)
            return true;
    return false;
}

static void check_history (const struct history *history, const struct outcome *before,
                           const struct outcome *now)
{
    struct outcome expected = expect (history);

    if (!same (now, &expected, history->tasks))
        fail_msg ("%s: %s; expected: %s", history_line (history).text,
                  outcome_line (now, history->tasks).text, outcome_line (&expected, history->tasks).text);
    if (!follows (history, before, now))
        fail_msg ("%s: %s; before: %s", history_line (history).text, outcome_line (now, history->tasks).text,
                  outcome_line (before, history->tasks).text);
}

/*
 * Try each rank that is left as the next one to end: in each way by itself or, once the job is
 * over, by a signal or stopped. Returns true if any rank gets an order in any history.
 */
static bool walk (struct history *history, const struct outcome *before)
{
    static const struct exit_report ending[] = {
        { .kind = EXIT_REPORT_EXIT },
        { .kind = EXIT_REPORT_EXIT, .number = 3 },
        { .kind = EXIT_REPORT_SIGNAL, .number = 11 },
        { .kind = EXIT_REPORT_STOPPED },
    };
    bool over = before->cause != STOP_POLICY_NOT_OVER;
    bool ordered = has_orders (before, history->tasks);

    for (int rank = 0; rank < history->tasks; rank++)
        for (size_t i = over ? 2 : 0; i < (over ? 4 : 3) && !has_ended (history, rank); i++) {
            struct outcome now;

            history->rank[history->ends] = rank;
            history->ending[history->ends++] = ending[i];
            now = observe (history);
            check_history (history, before, &now);
            if (walk (history, &now))
                ordered = true;
            history->ends--;
        }
    return ordered;
}

static void check_cluster (struct history *history)
{
    for (const struct choice *c = option_table[OPTION_STOP].words; c->word; c++) {
        struct outcome start;

        history->when = (enum stop_when)c->meaning;
        start = observe (history);
        check_history (history, &start, &start);
        if (walk (history, &start) != supervises (history))
            fail_msg ("%s: %ssupervised", history_line (history).text, supervises (history) ? "" : "not ");
    }
}

/*
 * Check all clusters, or only those that TensorFlow accepts, and these without a task beside them:
 * with it they would take minutes under valgrind. Returns their number.
 */
static int check_clusters (int tasks, bool all)
{
    static const char *const role[] = { "chief", "master", "ps", "worker", "evaluator", SITE_ROLE, "+data" };
    size_t roles = COUNT (role) - !all;
    int clusters = 1, checked = 0;

    for (int i = 0; i < tasks; i++)
        clusters *= (int)roles;
    for (int cluster = 0; cluster < clusters; cluster++) {
        struct history history = { .tasks = tasks };
        struct rules_count count = { 0 };

        for (int rank = 0, rest = cluster; rank < tasks; rank++, rest /= (int)roles) {
            history.role[rank] = role[(size_t)rest % roles];
            rules_count (&count, history.role[rank], 1, 0);
        }
        if (!all && rules_check (&count, true, NULL) < 0)
            continue;
        check_cluster (&history);
        checked++;
    }
    return checked;
}

TEST (the_policies_agree_with_the_table_for_all_small_clusters)
{
    assert_int_equal (check_clusters (1, true), 7);
    assert_int_equal (check_clusters (2, true), 49);
    assert_int_equal (check_clusters (3, true), 343);
    assert_between (check_clusters (4, false), 400, 700);
}

TEST (the_policies_agree_with_the_table_for_two_larger_clusters)
{
    struct history all = {
        .tasks = 5,
        .role = { "worker", "ps", "evaluator", SITE_ROLE, "chief" },
    };
    struct history no_chief = {
        .tasks = 5,
        .role = { "evaluator", "ps", "worker", "ps", "worker" },
    };

    check_cluster (&all);
    check_cluster (&no_chief);
}

/* Other tests. */

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
