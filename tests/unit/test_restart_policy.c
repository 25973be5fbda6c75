/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/tasklist.h"
#include "job/rank.h"
#include "rendezvous/roster.h"

#define MAX_TASKS 8
#define LONGEST_PAUSE 10

/* Printing. */

/* Append the ranks for which this is so, as in "alone 1 2". */
static void add_ranks (struct line *line, const char *name, const bool *is_so, int tasks)
{
    bool any = false;

    line_add (line, "%s", name);
    for (int rank = 0; rank < tasks; rank++)
        if (is_so[rank]) {
            line_add (line, " %d", rank);
            any = true;
        }
    if (!any)
        line_add (line, " none");
}

static void add_kinds (struct line *line, const struct rank *rank, int tasks)
{
    bool alone[MAX_TASKS], all[MAX_TASKS];

    for (int i = 0; i < tasks; i++) {
        alone[i] = rank[i].restart.alone;
        all[i] = !alone[i];
    }
    add_ranks (line, "alone", alone, tasks);
    add_ranks (line, "; all", all, tasks);
}

static void add_state (struct line *line, const struct restart_policy *policy, const struct rank *rank,
                       int tasks)
{
    bool keeps[MAX_TASKS];

    for (int i = 0; i < tasks; i++)
        keeps[i] = restart_policy_keeps (policy, &rank[i]);
    line_add (line, "; left %d; pause %d", restart_policy_left (policy), restart_policy_pause (policy));
    add_ranks (line, "; keeps", keeps, tasks);
}

/* The golden file. */

/* "3", "3,any" or "3,total=5" */
static struct restart_rule read_config (const char *text)
{
    char *end;
    int times = (int)strtol (text, &end, 10);

    int total = 0;

    if (strncmp (end, ",total=", 7) == 0)
        total = (int)strtol (end + 7, &end, 10);
    assert_true (end > text && (*end == '\0' || strcmp (end, ",any") == 0));
    return (struct restart_rule){ times, *end == ',', LONGEST_PAUSE, total };
}

/* All ranks. */
static void be_over (struct restart_policy *policy, struct rank *rank, int tasks,
                     enum restart_policy_decision why)
{
    for (int i = 0; i < tasks; i++)
        restart_policy_over (policy, &rank[i], why);
}

/*
 * "1 exit 3", "1 cannot", "1 over", "1 late", "1 by 2", "over", "asked", "later",
 * "progress [of the former life]".
 */
static enum restart_policy_decision happen (struct restart_policy *policy, struct rank *rank, int tasks,
                                            const char *event)
{
    struct exit_report report;
    char *what;
    int number = (int)strtol (event, &what, 10);

    if (strcmp (event, "over") == 0 || strcmp (event, "asked") == 0) {
        be_over (policy, rank, tasks, *event == 'o' ? RESTART_POLICY_NONE : RESTART_POLICY_ASKED);
        return RESTART_POLICY_NONE;
    }
    if (strcmp (event, "later") == 0) {
        restart_policy_event_over (policy);
        return RESTART_POLICY_NONE;
    }
    if (strncmp (event, "progress", 8) == 0) {
        restart_policy_progress (policy, event[8] != '\0');
        return RESTART_POLICY_NONE;
    }
    assert_true (what > event && *what == ' ' && number >= 0 && number < tasks);
    rank += number;
    if (strcmp (what, " over") == 0 || strcmp (what, " late") == 0) {
        restart_policy_over (policy, rank, what[1] == 'o' ? RESTART_POLICY_NONE : RESTART_POLICY_LATE);
        return RESTART_POLICY_NONE;
    }
    if (strcmp (what, " cannot") == 0) {
        restart_policy_cannot (policy, rank);
        restart_policy_cannot (policy, rank);       /* twice is once */
        return RESTART_POLICY_NONE;
    }
    if (strncmp (what, " by ", 4) == 0) {
        struct rank *spare = rank - number + strtol (what + 4, NULL, 10);

        assert_true (restart_policy_can_replace (policy, rank, false));
        restart_policy_replace (policy, rank, spare, false);
        spare->kind = rank->kind;
        rank->kind = RULES_SPARE;
        return RESTART_POLICY_NONE;
    }
    assert_int_equal (exit_report_parse (&report, what + 1), 0);
    return restart_policy_ended (policy, rank, &report);
}

static void add_events (struct line *line, struct restart_policy *policy, struct rank *rank, int tasks,
                        char *events)
{
    static const char *const name[] = {
        [RESTART_POLICY_NONE] = "none",     [RESTART_POLICY_ONE] = "one",
        [RESTART_POLICY_ALL] = "all",       [RESTART_POLICY_USED_UP] = "used up",
        [RESTART_POLICY_CANNOT] = "cannot", [RESTART_POLICY_FINAL] = "final",
        [RESTART_POLICY_ASKED] = "asked",   [RESTART_POLICY_LATE] = "late",
    };

    for (char *event; (event = strsep (&events, ","));)
        line_add (line, "%s%s", line->text[0] ? ", " : "",
                  name[happen (policy, rank, tasks, event + strspn (event, " "))]);
}

static void check_line (char *rest, int number)
{
    struct restart_rule config = read_config (golden_field (&rest));
    const char *role[MAX_TASKS], *expected;
    struct rank rank[MAX_TASKS] = { { 0 } };
    struct restart_policy *policy;
    struct tasklist *list;
    struct line line = { "" };
    char *events;
    int tasks;

    assert_int_equal (tasklist_parse (&list, golden_field (&rest), NULL), 0);
    tasks = tasklist_named (list);
    assert_between (tasks, 1, MAX_TASKS);
    assert_int_equal (tasklist_assign (list, role, tasks, "", "", NULL), 0);
    for (int i = 0; i < tasks; i++)
        roster_set_role (&rank[i], role[i]);
    assert_non_null (policy = restart_policy_create (&config, rank, tasks));
    events = golden_field (&rest);
    expected = golden_field (&rest);
    assert_null (rest);
    if (*events) {
        add_events (&line, policy, rank, tasks, events);
        add_state (&line, policy, rank, tasks);
    } else
        add_kinds (&line, rank, tasks);
    if (strcmp (line.text, expected) != 0)
        fail_msg ("restart_policy.golden, line %d: %s; expected: %s", number, line.text, expected);
    restart_policy_destroy (policy);
    tasklist_destroy (list);
}

TEST (the_policy_agrees_with_the_golden_file)
{
    assert_true (check_golden_file (GOLDEN, check_line) > 90);
}

TEST (destroying_null_is_allowed_and_keeps_errno)
{
    errno = EBADMSG;
    restart_policy_destroy (NULL);
    assert_int_equal (errno, EBADMSG);
}
