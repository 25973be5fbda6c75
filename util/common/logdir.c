/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "logdir.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "beside.h"

#define LOCK_TRIES 50
#define LOCK_PAUSE_MS 10

/* The tasks that share the directory create it at the same time, so it may exist by now. */
static int _mkdir (const char *path)
{
    return mkdir (path, 0777) < 0 && errno != EEXIST ? -1 : 0;
}

/*
 * mkdir () of a parent that exists may fail with EACCES, so an error counts only if the directory itself then
 * has no parent: the first of the last parents that could not be made is why, and `path` ends with it.
 */
static int _make (char *path)
{
    char *failed = NULL;
    int error = 0;

    for (char *slash = strchr (path + 1, '/'); slash; slash = strchr (slash + 1, '/')) {
        *slash = '\0';
        if (_mkdir (path) == 0)
            failed = NULL;
        else if (!failed) {
            failed = slash;
            error = errno;
        }
        *slash = '/';
    }
    if (_mkdir (path) == 0)
        return 0;
    if (errno == ENOENT && failed) {
        *failed = '\0';
        errno = error;
    }
    return -1;
}

/* The owner that a new file of this user gets in the directory: some file systems show another one. */
static int _owner_here (int dir, uid_t *owner)
{
    char name[128], host[65] = "";
    struct stat st;
    int fd, rc;

    gethostname (host, sizeof (host) - 1);
    snprintf (name, sizeof (name), ".spank_tf.%s.%x.%jx", host, (unsigned int)getpid (),
              (uintmax_t)time (NULL));
    fd = openat (dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    rc = fstat (fd, &st);
    unlinkat (dir, name, 0);
    close (fd);
    *owner = st.st_uid;
    return rc;
}

/* Another user could have made it to lead this one's output to a place of his choice. */
static int _check_owner (int dir, const char *what, const struct stat *st, struct errtext *err)
{
    uid_t owner;

    if (st->st_uid == geteuid () || st->st_uid == 0
        || (_owner_here (dir, &owner) == 0 && owner == st->st_uid))
        return 0;
    return errtext_set (err, "the %s belongs to user %u; it must be yours or root's", what,
                        (unsigned int)st->st_uid);
}

/* Where each user can create names: /tmp. Those who may write to another directory are trusted. */
static bool _is_for_all (int dir)
{
    struct stat st;

    return fstat (dir, &st) < 0 || (st.st_mode & S_IWOTH);
}

/*
 * The last part of the path may be a symbolic link, as from a home directory to a larger disk. It
 * is checked before it is followed; where every user can replace it meanwhile, in a directory with
 * the sticky bit, the kernel follows no link of another user (fs.protected_symlinks).
 */
static int _check_link (int parent, const char *name, struct errtext *err)
{
    struct stat st;

    if (fstatat (parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errtext_set (err, "%s", strerror (errno));
    if (!S_ISLNK (st.st_mode) || !_is_for_all (parent))
        return 0;
    return _check_owner (parent, "symbolic link", &st, err);
}

/*
 * Its owner may be another user, as of a group's directory, who can remove and rename the files there. He
 * gets none of the output, because each file is the caller's own. The caller need not be able to read it.
 */
static int _open (int parent, const char *name, struct errtext *err)
{
    int fd = openat (parent, name, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (fd >= 0 && faccessat (fd, ".", W_OK | X_OK, 0) == 0)
        return fd;
    errtext_set (err, "%s", strerror (errno));
    if (fd >= 0)
        close (fd);
    return -1;
}

/* The directory of an absolute path, and its last part, which is "." of "/". */
static int _open_parent (char *path, const char **name)
{
    char *slash = strrchr (path, '/');
    int fd;

    *name = slash[1] ? slash + 1 : ".";
    *slash = '\0';
    fd = open (slash == path ? "/" : path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    *slash = '/';
    return fd;
}

int logdir_make (struct logdir *dir, struct errtext *err)
{
    char path[PATH_MAX];
    const char *name;
    struct errtext why;
    size_t length;
    int parent;

    snprintf (path, sizeof (path), "%s", dir->path);
    /* "link/" would be the directory, and not the link. */
    for (length = strlen (path); length > 1 && path[length - 1] == '/'; length--)
        path[length - 1] = '\0';
    if (_make (path) < 0 || (parent = _open_parent (path, &name)) < 0)
        return errtext_set (err, "%s: %s", path, strerror (errno));
    dir->fd = _check_link (parent, name, &why) < 0 ? -1 : _open (parent, name, &why);
    close (parent);
    return dir->fd < 0 ? errtext_set (err, "%s: %s", path, why.text) : 0;
}

bool logdir_is_own (const struct logdir *dir)
{
    struct stat st;

    return fstat (dir->fd, &st) == 0 && (st.st_uid == geteuid () || st.st_uid == 0)
           && !(st.st_mode & S_IWOTH);
}

static int _check_file (int dir, int fd, struct errtext *err)
{
    struct stat st;

    if (fstat (fd, &st) < 0)
        return errtext_set (err, "%s", strerror (errno));
    if (!S_ISREG (st.st_mode))
        return errtext_set (err, "it is not a regular file");
    if (st.st_nlink > 1)
        return errtext_set (err, "the file has another name too (a hard link)");
    return _check_owner (dir, "file", &st, err);
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

/* Truncate it only when it is the right file. */
static int _begin_log (int dir, int fd, bool append, struct errtext *err)
{
    if (_check_file (dir, fd, err) < 0)
        return -1;
    if ((!append && ftruncate (fd, 0) < 0) || fcntl (fd, F_SETFL, O_APPEND) < 0)
        return errtext_set (err, "%s", strerror (errno));
    return 0;
}

static int _open_file (const struct logdir *dir, int access, bool append, const char *name,
                       struct errtext *err)
{
    int fd = openat (dir->fd, name,
                     access | O_CREAT | O_APPEND | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC, 0666);
    struct errtext why;

    if (fd < 0)
        return errtext_set (err, "%s/%s: %s", dir->path, name, _open_error ());
    if (_begin_log (dir->fd, fd, append, &why) == 0)
        return fd;
    close (fd);
    return errtext_set (err, "%s/%s: %s", dir->path, name, why.text);
}

int logdir_open (const struct logdir *dir, bool append, const char *name, struct errtext *err)
{
    return _open_file (dir, O_WRONLY, append, name, err);
}

/*
 * A step that has just ended keeps its lock for some milliseconds. True if another one has a lock for longer;
 * a file system without locks knows of none.
 */
static bool _is_locked (int fd, int lock)
{
    for (int i = 0; flock (fd, lock | LOCK_NB) < 0; i++) {
        if (errno != EWOULDBLOCK || i == LOCK_TRIES)
            return errno == EWOULDBLOCK;
        poll (NULL, 0, LOCK_PAUSE_MS);
    }
    return false;
}

/* With LOCK_SH NFS locks only what is open for reading. */
int logdir_open_first (const struct logdir *dir, bool append, const char *name, bool *used,
                       struct errtext *err)
{
    int fd = _open_file (dir, O_RDWR, true, name, err);

    if (fd < 0)
        return -1;
    *used = _is_locked (fd, LOCK_EX);
    if (!append && !*used && ftruncate (fd, 0) < 0) {
        errtext_set (err, "%s/%s: %s", dir->path, name, strerror (errno));
        close (fd);
        return -1;
    }
    _is_locked (fd, LOCK_SH);
    return fd;
}

/* "\n" if the file's last line is incomplete; one that cannot be read is assumed to be complete. */
static const char *_begin_line (int fd)
{
    char path[32], last = '\n';
    struct stat st;
    int again;

    snprintf (path, sizeof (path), "/proc/self/fd/%d", fd);
    again = open (path, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (again >= 0 && fstat (again, &st) == 0 && st.st_size > 0)
        (void)!pread (again, &last, 1, st.st_size - 1);
    if (again >= 0)
        close (again);
    return last == '\n' ? "" : "\n";
}

void logdir_begin (int fd, const char *step, int life, const char *at)
{
    struct stat st;

    if (life > 0)
        dprintf (fd, "%s" LOGDIR_STEP_LINE "%s, restart %d, %s\n", _begin_line (fd), step, life, at);
    else if (fstat (fd, &st) == 0 && st.st_size > 0)
        dprintf (fd, "%s" LOGDIR_STEP_LINE "%s\n", _begin_line (fd), step);
}

void logdir_ask_to_end (int fd, const char *step, const char *signal, const char *at, int last_step)
{
    char last[48] = "";

    if (last_step > 0)
        snprintf (last, sizeof (last), ". The last training step was %d", last_step);
    dprintf (fd, "%s" LOGDIR_STEP_LINE "%s" LOGDIR_ASKED "(%s) at %s%s\n", _begin_line (fd), step, signal, at,
             last);
}

const char *logdir_task_file (char *name, size_t size, const char *role, int index, const char *ending)
{
    const char *own = beside_name (role);
    size_t length = strlen (own);
    bool digit = length > 0 && own[length - 1] >= '0' && own[length - 1] <= '9';

    snprintf (name, size, "%s%s%d%s", own, digit ? "-" : "", index, ending);
    return name;
}

void logdir_close (struct logdir *dir)
{
    close (dir->fd);
}
