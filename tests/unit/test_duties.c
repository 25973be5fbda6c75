/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What each place is to the step: duties.golden has the table.
 */
#include "config.h"

#include "unit.h"

#include "common/option_table.h"
#include "common/tasklist.h"
#include "job/duties.h"
#include "rendezvous/roster.h"

#define MAX_TASKS 8

/* Append the places for which this is so, as in "; member 1 2". */
static void add_places (struct line *line, const struct job *job, const char *name, size_t offset)
{
    bool any = false;

    EACH_PLACE (p, job)
        if (*(const bool *)((const char *)&p->duty + offset)) {
            line_add (line, "%s%s %d", any ? "" : "; ", any ? "" : name, p->rank->number);
            any = true;
        }
}

static void add_duties (struct line *line, const struct job *job)
{
    static const char *const aim[] = {
        [FINISH_NOT] = "none",
        [FINISH_CHIEF] = "chief",
        [FINISH_WORKERS] = "workers",
        [FINISH_OTHERS] = "others",
    };

    line_add (line, "aim %s%s", aim[job->aim], duties_need_supervisors (job) ? "; supervised" : "");
    add_places (line, job, "works", offsetof (struct duty, works));
    add_places (line, job, "member", offsetof (struct duty, member));
    add_places (line, job, "alone", offsetof (struct duty, alone));
    add_places (line, job, "awaited", offsetof (struct duty, awaited));
    add_places (line, job, "fatal", offsetof (struct duty, fatal));
    add_places (line, job, "serves", offsetof (struct duty, serves));
    add_places (line, job, "graced", offsetof (struct duty, graced));
}

static void check_line (char *rest, int number)
{
    struct rendezvous_config config = { .stop = (enum stop_when)choice_parse (option_table[OPTION_STOP].words,
                                                                              golden_field (&rest), NULL) };
    struct rank rank[MAX_TASKS] = { { 0 } };
    struct roster roster = { .rank = rank };
    const char *role[MAX_TASKS], *expected;
    struct line line = { "" };
    struct tasklist *list;
    struct job job;

    assert_int_equal (tasklist_parse (&list, golden_field (&rest), NULL), 0);
    expected = golden_field (&rest);
    assert_null (rest);
    roster.tasks = list->named;
    assert_between (roster.tasks, 1, MAX_TASKS);
    assert_int_equal (tasklist_assign (list, role, roster.tasks, "", "", NULL), 0);
    for (int i = 0; i < roster.tasks; i++) {
        rank[i].number = i;
        rank[i].role = role[i];
    }
    assert_int_equal (roster_set_places (&roster), 0);
    job = (struct job){
        .config = &config, .rank = rank, .tasks = roster.tasks, .place = roster.place, .places = roster.places
    };
    duties_set (&job);
    add_duties (&line, &job);
    if (strcmp (line.text, expected) != 0)
        fail_msg ("duties.golden, line %d: %s; expected: %s", number, line.text, expected);
    free (roster.place);
    tasklist_destroy (list);
}

TEST (duties_agree_with_the_golden_file)
{
    assert_true (check_golden_file (GOLDEN, check_line) > 30);
}
