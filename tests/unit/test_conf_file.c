/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How Slurm's files are read, by what cgroup.conf says; test_check.c has slurm.conf and plugstack.conf.
 */
#include "config.h"

#include "unit.h"

#include <sys/stat.h>
#include <unistd.h>

#include "launch/cgroup_conf.h"

static int result_for (const char *text)
{
    struct errtext err = { "" };
    int result = cgroup_conf_signals_all (file_with (text), &err);

    assert_string_equal (err.text, "");
    return result;
}

TEST (a_line_may_be_long)
{
    char text[20000];

    snprintf (text, sizeof (text), "CgroupMountpoint=/%0*d SignalChildrenProcesses=yes\n", 16000, 0);
    assert_int_equal (result_for (text), 1);
}

/* Slurm goes on with its defaults. */
TEST (a_file_that_does_not_exist_is_no)
{
    assert_int_equal (cgroup_conf_signals_all ("/nowhere/cgroup.conf", NULL), 0);
}

/* The error for a file that exists, which an ordinary user reads. */
static void check_error (const char *file, const char *named, const char *why)
{
    struct errtext err = { "" };
    char expected[128];
    pid_t pid;

    snprintf (expected, sizeof (expected), "%s: %s", named, why);
    if ((pid = fork ()) == 0) {
        if (getuid () == 0 && setuid (65534) < 0)
            _exit (2);
        _exit (cgroup_conf_signals_all (file, &err) != -1 || strcmp (err.text, expected) != 0);
    }
    assert_int_equal (end_of (pid), 0);
}

TEST (an_included_file_counts)
{
    const char *directory = new_directory ();
    char path[128], text[256];

    snprintf (path, sizeof (path), "%s/more.conf", directory);
    snprintf (text, sizeof (text), "SignalChildrenProcesses=no\n include %s # more\n", path);
    check_error (file_with (text), path, "No such file or directory");
    assert_int_equal (rename (file_with ("SignalChildrenProcesses=yes\n"), path), 0);
    assert_int_equal (result_for (text), 1);
}

TEST (a_file_that_cannot_be_read_is_an_error)
{
    const char *path = file_with ("SignalChildrenProcesses=yes\n");

    assert_int_equal (chmod (path, 0), 0);
    check_error (path, path, "Permission denied");
    check_error ("/tmp", "/tmp", "Is a directory");
    assert_int_equal (chmod (path, 0600), 0);
}
