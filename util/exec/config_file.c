/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "config_file.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/descriptors.h"

#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

/* A TF_CONFIG is shorter, because it is an environment variable. */
#define MAX_FILE (1024 * 1024l)

/* Other processes may create and remove the file between our attempts. */
#define MAX_TRIES 8

#define NOT_A_CONFIG "the file exists and is not a TF_CONFIG"
#define OF_ANOTHER_TASK \
    "another task of this step has this file; with {rank} in the path each " \
    "task has its own"

/* In memory. */

/* With the PID instead of "self", because a child may have closed its copy. */
static int _print_path (struct config_file_path *path, int fd)
{
    char process[16];
    ssize_t n = readlink ("/proc/self", process, sizeof (process));

    if (n < 0)
        return -1;
    snprintf (path->text, sizeof (path->text), "/proc/%.*s/fd/%d", (int)n, process, fd);
    return 0;
}

int config_file_keep (struct config_file_path *path, const char *text, struct errtext *err)
{
    int fd = descriptors_memory_file ("tf-config", text, strlen (text)), kept;

    if (fd >= 0 && fchmod (fd, S_IRUSR | S_IWUSR) == 0 && fcntl (fd, F_ADD_SEALS, SEALS) == 0
        && (kept = descriptors_leave_open (fd)) >= 0 && _print_path (path, kept) == 0)
        return 0;
    return errtext_set (err,
                        "cannot create a file in memory for TF_CONFIG: %s; "
                        "--config-file=PATH writes it to PATH",
                        strerror (errno));
}

/* On disk. */

/* The content, to be freed. NULL and err, also if the file is not a regular one or is too long. */
static char *_read (int fd, struct errtext *err)
{
    struct stat st;
    char *text;
    ssize_t n;

    if (fstat (fd, &st) < 0 || !S_ISREG (st.st_mode) || st.st_size > MAX_FILE) {
        errtext_set (err, NOT_A_CONFIG);
        return NULL;
    }
    if (!(text = malloc ((size_t)st.st_size + 1)) || (n = pread (fd, text, (size_t)st.st_size, 0)) < 0) {
        errtext_set (err, "%s", strerror (errno));
        free (text);
        return NULL;
    }
    text[n] = '\0';
    return text;
}

/* The part of the cluster that all tasks see: only an evaluator's own TF_CONFIG has evaluators. */
static json_t *_common (const json_t *config)
{
    json_t *cluster = json_copy (json_object_get (config, "cluster"));

    json_object_del (cluster, "evaluator");
    return cluster;
}

static bool _same_step (const json_t *one, const json_t *other)
{
    json_t *cluster = _common (one), *other_cluster = _common (other);
    bool same = json_equal (cluster, other_cluster);

    json_decref (cluster);
    json_decref (other_cluster);
    return same;
}

/* -1 and err if `new` must not replace `old`. */
static int _check_replaceable (const json_t *old, const json_t *new, struct errtext *err)
{
    if (!json_is_object (json_object_get (old, "cluster")) || !json_is_object (json_object_get (old, "task")))
        return errtext_set (err, NOT_A_CONFIG);
    if (_same_step (old, new) && !json_equal (json_object_get (old, "task"), json_object_get (new, "task")))
        return errtext_set (err, OF_ANOTHER_TASK);
    return 0;
}

static int _check_old (int fd, const char *text, struct errtext *err)
{
    json_t *old, *new;
    char *old_text = _read (fd, err);
    int rc;

    if (!old_text)
        return -1;
    old = json_loads (old_text, 0, NULL);
    new = json_loads (text, 0, NULL);
    rc = _check_replaceable (old, new, err);
    json_decref (old);
    json_decref (new);
    free (old_text);
    return rc;
}

/* True if the open file is still the one at `path`. */
static bool _is_at (int fd, const char *path)
{
    struct stat a, b;

    return fstat (fd, &a) == 0 && lstat (path, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/*
 * Replace the file at `path`, which is open as `fd`, by `new`. The lock makes sure that only one of
 * several tasks replaces the file of an earlier step; if the filesystem has no locks, go on
 * without. Returns 1; 0 if another file is at `path` by now; -1 and err.
 */
static int _replace_old (int fd, const char *new, const char *path, const char *text, struct errtext *err)
{
    if (_check_old (fd, text, err) < 0)
        return -1;
    if (flock (fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        return errtext_set (err, OF_ANOTHER_TASK);
    if (!_is_at (fd, path))
        return 0;
    if (rename (new, path) < 0)
        return errtext_set (err, "%s", strerror (errno));
    return 1;
}

/* Replace whatever is at `path`. Returns 1; 0 if it has changed meanwhile; -1 and err. */
static int _replace (const char *new, const char *path, const char *text, struct errtext *err)
{
    int fd = open (path, O_RDWR | O_CLOEXEC | O_NOFOLLOW), rc;

    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0 && (errno == ELOOP || errno == EISDIR))
        return errtext_set (err, NOT_A_CONFIG);
    if (fd < 0)
        return errtext_set (err, "%s", strerror (errno));
    rc = _replace_old (fd, new, path, text, err);
    close (fd);
    return rc;
}

/* rename () that does not replace a file. NFS only has link () for that. -1 and errno. */
static int _rename_new (const char *from, const char *to)
{
    if (renameat2 (AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return 0;
    if ((errno != EINVAL && errno != ENOSYS) || link (from, to) < 0)
        return -1;
    unlink (from);
    return 0;
}

static int _move (const char *new, const char *path, const char *text, struct errtext *err)
{
    int rc = 0;

    for (int tries = 0; tries < MAX_TRIES && rc == 0; tries++) {
        if (_rename_new (new, path) == 0)
            return 0;
        if (errno != EEXIST)
            return errtext_set (err, "%s", strerror (errno));
        rc = _replace (new, path, text, err);
    }
    if (rc == 0)
        return errtext_set (err, OF_ANOTHER_TASK);
    return rc < 0 ? -1 : 0;
}

/* Create an empty file in the same directory. *name is to be freed. -1 and err. */
static int _create_beside (char **name, const char *path, struct errtext *err)
{
    int fd;

    if (asprintf (name, "%s.XXXXXX", path) < 0)
        return errtext_set (err, "%s", strerror (ENOMEM));
    if ((fd = mkostemp (*name, O_CLOEXEC)) < 0) {
        errtext_set (err, "%s", strerror (errno));
        free (*name);
    }
    return fd;
}

int config_file_write (const char *path, const char *text, struct errtext *err)
{
    char *new;
    int fd = _create_beside (&new, path, err), rc = 0;

    if (fd < 0)
        return -1;
    if (descriptors_write (fd, text, strlen (text)) < 0)
        rc = errtext_set (err, "%s", strerror (errno));
    if (close (fd) < 0 && rc == 0)
        rc = errtext_set (err, "%s", strerror (errno));
    if (rc == 0)
        rc = _move (new, path, text, err);
    if (rc < 0)
        unlink (new);
    free (new);
    return rc;
}
