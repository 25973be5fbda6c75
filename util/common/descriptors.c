/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "descriptors.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "number.h"

#define HIGH_DESCRIPTOR 200

/* Since Linux 6.3, which has a sysctl that makes it mandatory. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

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

int descriptors_write (int fd, const void *bytes, size_t length)
{
    const char *rest = bytes;

    while (length > 0) {
        ssize_t n = write (fd, rest, length);

        if (n < 0 && errno != EINTR)
            return -1;
        if (n > 0) {
            rest += n;
            length -= (size_t)n;
        }
    }
    return 0;
}

int descriptors_memory_file (const char *name, const void *bytes, size_t length)
{
    int fd = memfd_create (name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL), saved;

    if (fd < 0 && errno == EINVAL)
        fd = memfd_create (name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || descriptors_write (fd, bytes, length) == 0)
        return fd;
    saved = errno;
    close (fd);
    errno = saved;
    return -1;
}

bool descriptors_first_line (int fd, char *buf, size_t size)
{
    ssize_t length = pread (fd, buf, size - 1, 0);

    buf[length > 0 ? length : 0] = '\0';
    buf[strcspn (buf, "\n")] = '\0';
    return *buf;
}
