/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/private_mount.h"

TEST (a_directory_is_named_after_a_job_by_its_whole_number)
{
    static const struct {
        const char *root;
        bool expected;
    } row[] = {
        { "/local/containers/4711/.4711", true },
        { "/tmp/slurm.4711.0/tmp", true },
        { "/tmp/4711", true },
        { "/tmp/systemd-private-0123-slurmd.service-abc/tmp", true },
        { "/", false },
        { "/scratch/14711", false },
        { "/scratch/47110/x", false },
        { "/home/u4711", false },
        { "/scratch/47 11", false },
        { "", false },
    };

    for (size_t i = 0; i < COUNT (row); i++)
        if (private_mount_is_named (row[i].root, "4711") != row[i].expected)
            fail_msg ("%s", row[i].root);
    assert_false (private_mount_is_named ("/tmp/4711", ""));
}

static bool is_private (const char *path, const char *job)
{
    int fd = open (path, O_PATH | O_DIRECTORY);
    bool found;

    assert_true (fd >= 0);
    found = private_mount_has (fd, job);
    close (fd);
    return found;
}

TEST (the_mount_of_a_directory_tells)
{
    const char *top = new_directory (), *base = path_in (top, "4711"), *tmp = path_in (top, "tmp"),
               *logs = path_in (top, "tmp/logs");

    assert_int_equal (mkdir (base, 0755) | mkdir (tmp, 0755), 0);
    assert_int_equal (mkdir (path_in (top, "4711/logs"), 0755), 0);
    assert_false (is_private (tmp, "4711"));
    assert_false (private_mount_has (-1, "4711"));
    if (unshare (CLONE_NEWNS) < 0)
        SKIP ("only root may create a mount namespace");
    assert_int_equal (mount ("none", "/", "none", MS_REC | MS_PRIVATE, NULL), 0);
    assert_int_equal (mount (base, tmp, "none", MS_BIND, NULL), 0);
    assert_true (is_private (logs, "4711"));
    assert_false (is_private (logs, "471"));
    /* The directory itself, by its own name. */
    assert_false (is_private (base, "4711"));
    assert_int_equal (umount (tmp), 0);
}
