/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "logdir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "beside.h"

/* The tasks that share the directory create it at the same time, so it may exist by now. */
static int _mkdir (const char *path)
{
    return mkdir (path, 0777) < 0 && errno != EEXIST ? -1 : 0;
}

/*
 * Ignore errors here: mkdir () of an existing parent may fail with EACCES, and if a parent is
 * missing, mkdir () of the directory itself fails.
 */
static void _make_parents (char *path)
{
    for (char *slash = strchr (path + 1, '/'); slash; slash = strchr (slash + 1, '/')) {
        *slash = '\0';
        (void)!_mkdir (path);
        *slash = '/';
    }
}

/* Another user could have made it to lead this one's output to a place of his choice. */
static int _check_owner (const char *what, const struct stat *st, struct errtext *err)
{
    if (st->st_uid == geteuid () || st->st_uid == 0)
        return 0;
    return errtext_set (err, "the %s belongs to user %u; it must be yours or root's", what,
                        (unsigned int)st->st_uid);
}

/*
 * The last part of the path may be a symbolic link, as from a home directory to a larger disk. It
 * is checked before it is followed; where every user can replace it meanwhile, in a directory with
 * the sticky bit, the kernel follows no link of another user (fs.protected_symlinks).
 */
static int _check_link (const char *path, struct errtext *err)
{
    struct stat st;

    if (lstat (path, &st) < 0)
        return errtext_set (err, "%s", strerror (errno));
    return S_ISLNK (st.st_mode) ? _check_owner ("symbolic link", &st, err) : 0;
}

/* The caller needs no permission to read the directory. */
static int _open (const char *path, struct errtext *err)
{
    int fd = open (path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct stat st;

    if (fd >= 0 && fstat (fd, &st) == 0 && faccessat (fd, ".", W_OK | X_OK, 0) == 0) {
        if (_check_owner ("directory", &st, err) == 0)
            return fd;
    } else
        errtext_set (err, "%s", strerror (errno));
    if (fd >= 0)
        close (fd);
    return -1;
}

int logdir_make (struct logdir *dir, struct errtext *err)
{
    char path[PATH_MAX];
    struct errtext why;
    size_t length;

    snprintf (path, sizeof (path), "%s", dir->path);
    /* "link/" would be the directory, and not the link. */
    for (length = strlen (path); length > 1 && path[length - 1] == '/'; length--)
        path[length - 1] = '\0';
    _make_parents (path);
    if (_mkdir (path) < 0)
        return errtext_set (err, "%s: %s", path, strerror (errno));
    if (_check_link (path, &why) < 0 || (dir->fd = _open (path, &why)) < 0)
        return errtext_set (err, "%s: %s", path, why.text);
    return 0;
}

static int _check_file (int fd, struct errtext *err)
{
    struct stat st;

    if (fstat (fd, &st) < 0)
        return errtext_set (err, "%s", strerror (errno));
    if (!S_ISREG (st.st_mode))
        return errtext_set (err, "it is not a regular file");
    if (st.st_nlink > 1)
        return errtext_set (err, "the file has another name too (a hard link)");
    return _check_owner ("file", &st, err);
}

/* Truncate it only when it is the right file. */
static int _begin_log (int fd, bool append, struct errtext *err)
{
    if (_check_file (fd, err) < 0)
        return -1;
    if ((!append && ftruncate (fd, 0) < 0) || fcntl (fd, F_SETFL, O_APPEND) < 0)
        return errtext_set (err, "%s", strerror (errno));
    return 0;
}

/* With O_NOFOLLOW and O_NONBLOCK open () fails in two more ways. */
static const char *_open_error (void)
{
    switch (errno) {
        case ELOOP: return "it is a symbolic link";
        case ENXIO: /* a FIFO without a reader */ return "it is not a regular file";
        default: return strerror (errno);
    }
}

int logdir_open (const struct logdir *dir, bool append, const char *name, struct errtext *err)
{
    int fd = openat (dir->fd, name,
                     O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC, 0666);
    struct errtext why;

    if (fd < 0)
        return errtext_set (err, "%s/%s: %s", dir->path, name, _open_error ());
    if (_begin_log (fd, append, &why) == 0)
        return fd;
    close (fd);
    return errtext_set (err, "%s/%s: %s", dir->path, name, why.text);
}

/* If the file cannot be read, its last line is assumed to be complete. The descriptor is closed. */
static bool _ends_within_line (int fd, off_t size)
{
    char last = '\n';

    if (fd < 0)
        return false;
    (void)!pread (fd, &last, 1, size - 1);
    close (fd);
    return last != '\n';
}

void logdir_begin_step (const struct logdir *dir, int fd, const char *name, const char *step)
{
    struct stat st;
    int again;

    if (fstat (fd, &st) < 0 || st.st_size == 0)
        return;
    again = openat (dir->fd, name, O_RDONLY | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    dprintf (fd, "%s" LOGDIR_STEP_LINE "%s\n", _ends_within_line (again, st.st_size) ? "\n" : "", step);
}

void logdir_begin_life (int fd, const char *step, int life, const char *at)
{
    struct stat st;
    char path[32];
    bool within = false;

    snprintf (path, sizeof (path), "/proc/self/fd/%d", fd);
    if (fstat (fd, &st) == 0 && st.st_size > 0)
        within = _ends_within_line (open (path, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC), st.st_size);
    dprintf (fd, "%s" LOGDIR_STEP_LINE "%s, restart %d, %s\n", within ? "\n" : "", step, life, at);
}

static const char *_task_file (char *name, size_t size, const char *role, int index, const char *ending)
{
    const char *own = beside_name (role);
    size_t length = strlen (own);
    bool digit = length > 0 && own[length - 1] >= '0' && own[length - 1] <= '9';

    snprintf (name, size, "%s%s%d%s", own, digit ? "-" : "", index, ending);
    return name;
}

const char *logdir_task_file (char *name, size_t size, const char *role, int index)
{
    return _task_file (name, size, role, index, ".log");
}

const char *logdir_error_file (char *name, size_t size, const char *role, int index)
{
    return _task_file (name, size, role, index, ".error.json");
}

void logdir_close (struct logdir *dir)
{
    close (dir->fd);
}
