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
