/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "node_check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/errtext.h"
#include "common/number.h"
#include "common/preflight.h"
#include "link_check.h"
#include "protocol/check.h"
#include "program_check.h"

#define BLOCK 65536

/* Files. */

static int _write_and_read (int fd, struct errtext *err)
{
    static char written[BLOCK], read_back[BLOCK];
    ssize_t n;

    for (size_t i = 0; i < BLOCK; i++)
        written[i] = (char)(i * 31 + i / 256);
    if ((n = write (fd, written, BLOCK)) != BLOCK || fsync (fd) < 0)
        return errtext_set (err, "cannot write: %s", n >= 0 && n != BLOCK ? "it is full" : strerror (errno));
    if (pread (fd, read_back, BLOCK, 0) != BLOCK)
        return errtext_set (err, "cannot read what was written: %s", strerror (errno));
    return memcmp (written, read_back, BLOCK) == 0 ? 0
                                                   : errtext_set (err, "reads other bytes than were written");
}

/* A job may run in a directory that it cannot write to, or that it only reads. */
static bool _is_no_fault (int error)
{
    return error == EACCES || error == EPERM || error == EROFS;
}

static int _check_directory (const char *path, bool needed, struct errtext *err)
{
    char name[128], host[65] = "";
    struct errtext why;
    int dir, fd, rc;

    gethostname (host, sizeof (host) - 1);
    snprintf (name, sizeof (name), ".spank_tf-preflight-%.64s-%d", host, (int)getpid ());
    if ((dir = open (path, O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0)
        return !needed && _is_no_fault (errno) ? 0 : errtext_set (err, "%.512s: %s", path, strerror (errno));
    fd = openat (dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return !needed && _is_no_fault (errno)
                   ? 0
                   : errtext_set (err, "%.512s: cannot make a file: %s", path, strerror (errno));
    /* This process may be killed at any time. */
    unlinkat (dir, name, 0);
    rc = _write_and_read (fd, &why);
    if (close (fd) < 0 && rc == 0)
        rc = errtext_set (&why, "cannot write: %s", strerror (errno));
    close (dir);
    return rc < 0 ? errtext_set (err, "%.512s: %s", path, why.text) : 0;
}

static int _check_files (const char *log_dir, struct errtext *err)
{
    char here[PATH_MAX];

    if (!getcwd (here, sizeof (here)))
        snprintf (here, sizeof (here), ".");
    if (_check_directory (here, false, err) < 0)
        return -1;
    return *log_dir ? _check_directory (log_dir, true, err) : 0;
}

/* GPUs. */

/* So many are promised: names or numbers. Parts of GPUs (MIG) have no device of their own. */
static int _count_promised (const char *visible)
{
    int count = visible && *visible ? 1 : 0;

    if (!visible || strncmp (visible, "MIG", 3) == 0 || strcmp (visible, "-1") == 0
        || strcmp (visible, "NoDevFiles") == 0)
        return 0;
    for (const char *comma = visible; (comma = strchr (comma, ',')); comma++)
        count++;
    return count;
}

struct opened {
    int devices; /* that can be opened */
    int error; /* of the last one that cannot, other than that another job has it */
    char name[NAME_MAX + 1]; /* ... or "" */
};

/* Open those whose name is the prefix and a number. */
static void _open_devices (const char *directory, const char *prefix, struct opened *opened)
{
    DIR *dir = opendir (directory);
    struct dirent *entry;
    int number, fd;

    while (dir && (entry = readdir (dir))) {
        if (strncmp (entry->d_name, prefix, strlen (prefix)) != 0
            || number_parse (&number, entry->d_name + strlen (prefix), 0, INT_MAX) < 0)
            continue;
        if ((fd = openat (dirfd (dir), entry->d_name, O_RDWR | O_CLOEXEC | O_NOCTTY)) >= 0) {
            opened->devices++;
            close (fd);
        } else if (errno != EPERM && errno != EACCES) {
            opened->error = errno;
            snprintf (opened->name, sizeof (opened->name), "%s", entry->d_name);
        }
    }
    if (dir)
        closedir (dir);
}

static int _check_kind (const char *variable, const char *directory, const char *prefix, struct errtext *err)
{
    int promised = _count_promised (getenv (variable));
    struct opened opened = { .devices = 0 };

    if (promised == 0)
        return 0;
    _open_devices (directory, prefix, &opened);
    if (opened.devices >= promised)
        return 0;
    return errtext_set (err, "%d of the %d GPUs of %s can be opened in %s%s%s%s%s", opened.devices, promised,
                        variable, directory, *opened.name ? "; " : "", opened.name, *opened.name ? ": " : "",
                        *opened.name ? strerror (opened.error) : "");
}

/* Where gres.conf does not say whose they are, Slurm sets the variables of both makers. */
static int _check_gpus (struct errtext *err)
{
    bool cuda = _count_promised (getenv ("CUDA_VISIBLE_DEVICES")) > 0,
         rocr = _count_promised (getenv ("ROCR_VISIBLE_DEVICES")) > 0;
    struct errtext other;

    /* Then the variables are the user's own. */
    if (!getenv ("SLURM_STEP_GPUS") && !getenv ("SLURM_JOB_GPUS") && !getenv ("SLURM_GPUS_ON_NODE"))
        return 0;
    if (cuda && _check_kind ("CUDA_VISIBLE_DEVICES", "/dev", "nvidia", err) == 0)
        return 0;
    if (rocr && _check_kind ("ROCR_VISIBLE_DEVICES", "/dev/dri", "renderD", cuda ? &other : err) == 0)
        return 0;
    return cuda || rocr ? -1 : 0;
}

/* All. */

static void _say_item (const char *item)
{
    printf ("item %s\n", item);
    fflush (stdout);
}

static int _say_bad (const struct errtext *err)
{
    printf ("bad %s\n", err->text);
    fflush (stdout);
    return 1;
}

static int _check_node (const char *value, const char *log_dir)
{
    struct preflight_rule rule;
    struct errtext err;

    if (preflight_parse (&rule, value, &err) < 0)
        return _say_bad (&err);
    if (rule.items & PREFLIGHT_FILES) {
        _say_item ("files");
        if (_check_files (log_dir, &err) < 0)
            return _say_bad (&err);
    }
    if (rule.items & PREFLIGHT_GPUS) {
        _say_item ("gpus");
        if (_check_gpus (&err) < 0)
            return _say_bad (&err);
    }
    if (rule.items & PREFLIGHT_PROGRAM) {
        char program[PATH_MAX];

        _say_item ("program");
        snprintf (program, sizeof (program), "%.*s", rule.length, rule.program);
        if (program_check (program, &err) < 0)
            return _say_bad (&err);
    }
    return 0;
}

static int _check_the_link (const char *address, const char *port, const char *role)
{
    char *tokens = getenv (CHECK_TOKENS), *blank = tokens ? strchr (tokens, ' ') : NULL;
    struct link_peer peer = { .serves = strcmp (role, "serve") == 0 };
    struct errtext err;
    int rate;

    _say_item ("link");
    if (!blank || address_parse (&peer.address, address) < 0
        || number_parse (&peer.port, port, 1, 65535) < 0) {
        errtext_set (&err, "it was not told the other node");
        return _say_bad (&err);
    }
    *blank = '\0';
    peer.token = tokens;
    peer.server_token = blank + 1;
    if ((rate = link_check (&peer, CHECK_LINK_SECONDS * 1000, &err)) < 0)
        return _say_bad (&err);
    if (rate > 0)
        printf ("rate %d\n", rate);
    return 0;
}

int node_check_main (int argc, char *argv[])
{
    prctl (PR_SET_NAME, "tf-preflight");
    if (argc == 5 && strcmp (argv[2], "node") == 0)
        return _check_node (argv[3], argv[4]);
    if (argc == 6 && strcmp (argv[2], "link") == 0)
        return _check_the_link (argv[3], argv[4], argv[5]);
    return 2;
}
