/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "likeness.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "proc.h"

/* Another plugin may have brought the task into a container; a new life would be outside of it. */
static int _check_namespaces (pid_t pid, struct errtext *err)
{
    static const char *const name[] = {
        "ns/cgroup", "ns/ipc", "ns/mnt", "ns/net", "ns/pid", "ns/user", "ns/uts",
    };
    struct stat its, own;

    for (size_t i = 0; i < sizeof (name) / sizeof (name[0]); i++)
        /* A kernel may lack a namespace. */
        if (stat (proc_path (pid, "%s", name[i]).text, &its) == 0
            && stat (proc_path (getpid (), "%s", name[i]).text, &own) == 0
            && (its.st_dev != own.st_dev || its.st_ino != own.st_ino))
            return errtext_set (err, "it is in a container (%s)", name[i]);
    if (stat (proc_path (pid, "root").text, &its) < 0 || stat ("/", &own) < 0)
        return errtext_set (err, "its root directory: %s", strerror (errno));
    if (its.st_dev != own.st_dev || its.st_ino != own.st_ino)
        return errtext_set (err, "it is in a container (root)");
    return 0;
}

/* The lines of /proc/PID/status that say which rights a process has. */
static bool _tells_rights (const char *line)
{
    static const char *const name[] = { "Uid:", "Gid:", "Groups:", "Cap", "NoNewPrivs:", "Seccomp:" };

    for (size_t i = 0; i < sizeof (name) / sizeof (name[0]); i++)
        if (strncmp (line, name[i], strlen (name[i])) == 0)
            return true;
    return false;
}

static char *_next_right (FILE *f, char *line, int size)
{
    while (f && fgets (line, size, f))
        if (_tells_rights (line))
            return line;
    return NULL;
}

/* A new life has the rights of this process, so the first one must have the same. */
static int _check_rights (pid_t pid, struct errtext *err)
{
    char its[4096], own[4096];
    FILE *f = fopen (proc_path (pid, "status").text, "re"), *self = fopen ("/proc/self/status", "re");
    int rc = f && self ? 0 : errtext_set (err, "its rights: %s", strerror (errno));

    while (rc == 0 && _next_right (self, own, sizeof (own)))
        if (!_next_right (f, its, sizeof (its)) || strcmp (its, own) != 0)
            rc = errtext_set (err, "its rights were changed (%.*s)", (int)strcspn (own, ":"), own);
    if (f)
        fclose (f);
    if (self)
        fclose (self);
    return rc;
}

int likeness_check (pid_t pid, struct errtext *err)
{
    return _check_namespaces (pid, err) < 0 ? -1 : _check_rights (pid, err);
}

/* True if the file would give rights to a process that executes it. */
static bool _gives_rights (const char *exe, const struct stat *st, struct errtext *err)
{
    bool setid = st->st_mode & S_ISUID || (st->st_mode & S_ISGID && st->st_mode & S_IXGRP);
    bool capable = getxattr (exe, "security.capability", NULL, 0) > 0;
    struct statvfs fs;

    if ((!setid && !capable) || (statvfs (exe, &fs) == 0 && fs.f_flag & ST_NOSUID))
        return false;
    errtext_set (err, "its program %s, which a restart cannot preserve",
                 setid ? "is setuid or setgid" : "has capabilities");
    return true;
}

/*
 * Linux does not give a traced program the rights that its file would give it. It hides a process
 * whose program the user may execute, but not read: that may be such a file.
 */
bool likeness_lacks_rights (pid_t pid, struct errtext *err)
{
    struct proc_path exe = proc_path (pid, "exe");
    struct stat st;

    if (stat (exe.text, &st) == 0)
        return _gives_rights (exe.text, &st, err);
    errtext_set (err, "its program is not readable, and may be setuid, which a restart cannot "
                 "preserve");
    return true;
}
