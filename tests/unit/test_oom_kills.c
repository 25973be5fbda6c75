/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The files are those of this kernel, below a directory of the test.
 */
#include "config.h"

#include "unit.h"

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

/* The count for this text of /proc/self/cgroup. */
static int count (const char *text)
{
    write_file (below ("cgroup"), text);
    return oom_kills (below ("cgroup"), top);
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
    assert_int_equal (oom_kills (below ("nothing"), top), -1);
}

TEST (a_file_without_a_count_is_ignored)
{
    static const char *const row[] = { "", "oom_kill\n", "oom_kill x\n", "oom_group_kill 4\n" };

    for (size_t i = 0; i < COUNT (row); i++) {
        write_file (below (V2 "/memory.events"), row[i]);
        assert_int_equal (count ("0::/job_2/step_0/user/task_0\n"), -1);
    }
}
