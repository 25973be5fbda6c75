/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "descriptors.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "number.h"

#define HIGH_DESCRIPTOR 200

/* close_range(2) needs Linux 5.9, and glibc 2.34 for a wrapper. False if the kernel lacks it. */
static bool _close_range (int first)
{
#ifdef SYS_close_range
    return syscall (SYS_close_range, first, UINT_MAX, 0) == 0;
#else
    (void)first;
    return false;
#endif
}

static void _close_each (int first)
{
    DIR *dir = opendir ("/proc/self/fd");
    struct dirent *entry;

    while (dir && (entry = readdir (dir))) {
        int fd;

        if (number_parse (&fd, entry->d_name, first, INT_MAX) == 0 && fd != dirfd (dir))
            close (fd);
    }
    if (dir)
        closedir (dir);
}

void descriptors_close_above (int last)
{
    if (!_close_range (last + 1))
        _close_each (last + 1);
}

int descriptors_leave_open (int fd)
{
    int high = fcntl (fd, F_DUPFD, HIGH_DESCRIPTOR);

    if (high < 0)
        return fcntl (fd, F_SETFD, 0) < 0 ? -1 : fd;
    close (fd);
    return high;
}
