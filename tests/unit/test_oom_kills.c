/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The files are those of this kernel, below a directory of the test.
 */
#include "config.h"

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervise/oom_kills.h"

#define V1 "memory/slurm/uid_1/job_2/step_0/task_0"
#define V2 "job_2/step_0/user/task_0"

static const char *top;

static const char *below (const char *name)
{
    return path_in (top, name);
}

static void make_directories (const char *path)
{
    char command[512];

    snprintf (command, sizeof (command), "mkdir -p '%s'", below (path));
    assert_int_equal (system (command), 0);
}

static int create (void **state)
{
    (void)state;
    top = new_directory ();
    make_directories (V1);
    make_directories (V2);
    write_file (below (V1 "/memory.oom_control"), "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
    write_file (below (V2 "/memory.events"), "low 0\nhigh 0\nmax 8\noom 6\noom_kill 5\noom_group_kill 1\n");
    return 0;
}

ALL_TESTS (create, NULL)

static struct oom_counts counts (const char *text)
{
    write_file (below ("cgroup"), text);
    return oom_kills (below ("cgroup"), top, below ("vmstat"));
}

/* The count for this text of /proc/self/cgroup. */
static int count (const char *text)
{
    return counts (text).kills;
}

TEST (the_count_is_that_of_the_memory_cgroup)
{
    assert_int_equal (count ("8:pids:/\n4:memory:/slurm/uid_1/job_2/step_0/task_0\n0::/\n"), 3);
    assert_int_equal (count ("4:cpu,memory,pids:/slurm/uid_1/job_2/step_0/task_0"), 3);
    assert_int_equal (count ("0::/job_2/step_0/user/task_0\n"), 5);
    /* A machine with both: the memory controller is in cgroup v1, or in v2. */
    assert_int_equal (count ("4:memory:/slurm/uid_1/job_2/step_0/task_0\n"
                             "0::/job_2/step_0/user/task_0\n"),
                      3);
    assert_int_equal (count ("6:freezer:/slurm\n0::/job_2/step_0/user/task_0\n"), 5);
}

TEST (a_count_that_cannot_be_read_is_not_known)
{
    /* clang-format off */
    static const char *const row[] = {
        "", "\n", "4", "4:memory", ":", "::", "0::", "0::/another\n", "4:memory:/another\n",
        "4:memoryless:/slurm/uid_1/job_2/step_0/task_0\n",
        "4:mem:/slurm/uid_1/job_2/step_0/task_0\n", "4:cpu,pids:/\n",
    };
    /* clang-format on */

    for (size_t i = 0; i < COUNT (row); i++)
        assert_int_equal (count (row[i]), -1);
    assert_int_equal (oom_kills (below ("nothing"), top, below ("vmstat")).kills, -1);
}

TEST (a_file_without_a_count_is_ignored)
{
    static const char *const row[] = { "", "oom_kill\n", "oom_kill x\n", "oom_group_kill 4\n" };

    for (size_t i = 0; i < COUNT (row); i++) {
        write_file (below (V2 "/memory.events"), row[i]);
        assert_int_equal (count ("0::/job_2/step_0/user/task_0\n"), -1);
    }
}

/* Whose limit it was. */

/* Write "TEXT NUMBER" into this file of the cgroup at a level, from the task's own up. */
static void set_count (const char *cgroup, int level, const char *file, const char *text, int number)
{
    char path[256], content[128];

    snprintf (path, sizeof (path), "%s", cgroup);
    while (level-- > 0)
        *strrchr (path, '/') = '\0';
    strcat (path, file);
    snprintf (content, sizeof (content), "%s%d\n", text, number);
    write_file (below (path), content);
}

#define LOCAL "/memory.events.local", "low 0\noom "
#define EVENTS "/memory.events", "oom 9\noom_kill "
#define FAILCNT "/memory.failcnt", ""

/* In cgroup v2, whose memory was short at these levels, from the task's own up: 4 of them. */
static enum exit_report_memory verdict_v2 (const int grown[4], int kills)
{
    struct oom_counts before, now;

    for (int level = 0; level < 4; level++)
        set_count (V2, level, LOCAL, level);
    set_count (V2, 0, EVENTS, 5);
    before = counts ("0::/job_2/step_0/user/task_0\n");
    for (int level = 0; level < 4; level++)
        set_count (V2, level, LOCAL, level + grown[level]);
    set_count (V2, 0, EVENTS, 5 + kills);
    now = counts ("0::/job_2/step_0/user/task_0\n");
    return oom_kills_verdict (&before, &now);
}

TEST (the_limit_is_that_of_the_level_at_which_memory_was_refused)
{
    static const struct {
        int grown[4], kills;
        enum exit_report_memory whose;
    } row[] = {
        { { 0, 0, 0, 0 }, 0, EXIT_REPORT_MEMORY_LEFT }, { { 0, 0, 0, 2 }, 0, EXIT_REPORT_MEMORY_LEFT },
        { { 0, 0, 0, 0 }, 1, EXIT_REPORT_MEMORY_NODE }, { { 3, 0, 0, 0 }, 1, EXIT_REPORT_MEMORY_TASK },
        { { 0, 1, 0, 0 }, 1, EXIT_REPORT_MEMORY_STEP }, { { 0, 0, 1, 0 }, 1, EXIT_REPORT_MEMORY_STEP },
        { { 0, 0, 0, 1 }, 2, EXIT_REPORT_MEMORY_JOB },  { { 0, 0, 1, 1 }, 1, EXIT_REPORT_MEMORY_UNKNOWN },
    };

    for (size_t i = 0; i < COUNT (row); i++)
        assert_int_equal (verdict_v2 (row[i].grown, row[i].kills), row[i].whose);
}

TEST (what_is_not_seen_of_the_levels_may_have_the_limit)
{
    static const int none[4] = { 0 }, job[4] = { [3] = 1 };

    /* A cgroup namespace: the root is not the machine's. */
    write_file (below ("memory.events.local"), "oom 0\n");
    assert_int_equal (verdict_v2 (none, 1), EXIT_REPORT_MEMORY_UNKNOWN);
    assert_int_equal (verdict_v2 (job, 1), EXIT_REPORT_MEMORY_JOB);
    unlink (below ("memory.events.local"));
    assert_int_equal (verdict_v2 (none, 1), EXIT_REPORT_MEMORY_NODE);
}

/* A kernel before 5.2. */
TEST (without_counts_of_the_levels_it_is_not_known_whose)
{
    static const struct oom_counts before = {
        .kills = 0, .v2 = true, .levels = 1, .level = { { .limit = -1 } }
    };
    struct oom_counts now = before;

    now.kills = 1;
    assert_int_equal (oom_kills_verdict (&before, &now), EXIT_REPORT_MEMORY_UNKNOWN);
    now.kills = -1;
    assert_int_equal (oom_kills_verdict (&before, &now), EXIT_REPORT_MEMORY_LEFT);
    assert_int_equal (oom_kills_verdict (&now, &before), EXIT_REPORT_MEMORY_LEFT);
}

static enum exit_report_memory verdict_v1 (const char *limit, int job, int stalls)
{
    static const char line[] = "4:memory:/slurm/uid_1/job_2/step_0/task_0\n";
    struct oom_counts before, now;

    write_file (below (V1 "/memory.stat"), limit);
    write_file (below ("vmstat"), "allocstall_normal 1\nallocstall_movable 2\n");
    for (int level = 0; level < 5; level++)
        set_count (V1, level, FAILCNT, 7);
    set_count (V1, 0, "/memory.oom_control", "oom_kill ", 3);
    before = counts (line);
    set_count (V1, 2, FAILCNT, 7 + job);
    set_count (V1, 0, "/memory.oom_control", "oom_kill ", 4);
    set_count ("vmstat", 0, "", "allocstall_normal 1\nallocstall_movable ", 2 + stalls);
    now = counts (line);
    return oom_kills_verdict (&before, &now);
}

TEST (in_cgroup_v1_it_is_certain_if_the_nodes_memory_was_not_short_or_without_a_limit)
{
    static const char some[] = "cache 0\nhierarchical_memory_limit 62914560\n";
    static const char none[] = "cache 0\nhierarchical_memory_limit 9223372036854771712\n";

    assert_int_equal (verdict_v1 (some, 1, 0), EXIT_REPORT_MEMORY_JOB);
    assert_int_equal (verdict_v1 (some, 1, 5), EXIT_REPORT_MEMORY_UNKNOWN);
    assert_int_equal (verdict_v1 (some, 0, 0), EXIT_REPORT_MEMORY_UNKNOWN);
    assert_int_equal (verdict_v1 (none, 0, 5), EXIT_REPORT_MEMORY_NODE);
    assert_int_equal (verdict_v1 ("", 1, 0), EXIT_REPORT_MEMORY_JOB);
}
