/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A neighbour of ours in plugstack.conf, with an option, --other=VALUE, and a task_init of its own.
 * There it sets OTHER_PLUGIN to show that it ran, and OTHER_CALLBACKS to the number of times that
 * slurmstepd has called back for its option. By its argument it also
 *
 *     hide=DIR    enters a mount namespace, as a container's plugin does; DIR is empty there
 *     network     enters a network namespace
 *     unset       keeps from the ranks what our srun exported for them, so that they are launched
 *                 as by an srun that starts no rendezvous
 *     prepend     puts "env PREPENDED=yes" before the task's program, which Slurm 23.11 and later
 *                 let a plugin do
 *     once=DIR    lets each rank through once, as pyxis does, whose container is marked as stopped when the
 *                 node's last task has started: DIR notes the ranks, and a second time is a failure
 *     helper=DIR  leaves a process that lives on, as pyxis does, whose container may need one for its root
 *                 file system: DIR gets a file with its process ID, whose name is the task's rank
 *     await=DIR   waits until DIR has a file whose name is the task's rank, as for the image of a
 *                 container, and fails if something is in it
 *     overwrite   sets a role, as pyxis does with what the node's first task has got
 *     dumpable    lets other processes of the user read the memory of the task's, as fs.suid_dumpable=1 does
 *     old_kernel  lets a task's setsockopt () know no SO_PASSRIGHTS, as it is before Linux 6.16
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <slurm/slurm.h>
#include <slurm/spank.h>

SPANK_PLUGIN (other_plugin, 1)

int slurm_spank_init (spank_t spank, int argc, char *argv[]);
int slurm_spank_init_post_opt (spank_t spank, int argc, char *argv[]);
int slurm_spank_task_init_privileged (spank_t spank, int argc, char *argv[]);
int slurm_spank_task_init (spank_t spank, int argc, char *argv[]);

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

static int callbacks;

static int _count_callback (int val, const char *value, int remote)
{
    (void)val;
    (void)value;
    callbacks += remote != 0;
    return 0;
}

int slurm_spank_init (spank_t spank, int argc, char *argv[])
{
    static char name[] = "other", value[] = "VALUE", usage[] = "for another plugin";
    struct spank_option option = { name, value, usage, 1, 0, _count_callback };

    (void)argc;
    (void)argv;
    return spank_option_register (spank, &option) == ESPANK_SUCCESS ? 0 : -1;
}

static const char *_argument (int argc, char *argv[], const char *name)
{
    size_t len = strlen (name);

    for (int i = 0; i < argc; i++)
        if (strncmp (argv[i], name, len) == 0)
            return argv[i] + len;
    return NULL;
}

static int _map (const char *path, unsigned int id)
{
    int fd = open (path, O_WRONLY | O_CLOEXEC);
    int rc = fd < 0 || dprintf (fd, "%u %u 1", id, id) < 0 ? -1 : 0;

    if (fd >= 0)
        close (fd);
    return rc;
}

/* As the user, who has a mount namespace only within a user namespace. */
static int _enter (const char *hidden)
{
    uid_t uid = getuid ();

    if (unshare (CLONE_NEWUSER | CLONE_NEWNS) < 0)
        return -1;
    /* Of a process that was root, /proc is root's. */
    prctl (PR_SET_DUMPABLE, 1);
    if (_map ("/proc/self/uid_map", uid) < 0)
        return -1;
    return mount ("none", hidden, "tmpfs", 0, NULL);
}

int slurm_spank_init_post_opt (spank_t spank, int argc, char *argv[])
{
    (void)spank;
    if (spank_context () == S_CTX_LOCAL && _argument (argc, argv, "unset"))
        unsetenv ("SLURM_TF_RENDEZVOUS");
    return 0;
}

static int _prepend (spank_t spank)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0)
    const char *argv[] = { "env", "PREPENDED=yes" };

    return spank_prepend_task_argv (spank, 2, argv) == ESPANK_SUCCESS ? 0 : -1;
#else
    (void)spank;
    return -1;
#endif
}

static int _set (spank_t spank, const char *name, const char *value)
{
    return spank_setenv (spank, name, value, 1) == ESPANK_SUCCESS ? 0 : -1;
}

/* A new file in DIR, whose name is the task's rank. */
static int _note (spank_t spank, const char *dir)
{
    char rank[16], path[4096];

    if (spank_getenv (spank, "SLURM_PROCID", rank, sizeof (rank)) != ESPANK_SUCCESS)
        return -1;
    snprintf (path, sizeof (path), "%s/%s", dir, rank);
    return open (path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

static int _pass_once (spank_t spank, const char *dir)
{
    int fd = _note (spank, dir);

    if (fd >= 0)
        close (fd);
    return fd < 0 ? -1 : 0;
}

static int _await (spank_t spank, const char *dir)
{
    char rank[16], path[4096];
    struct stat st;

    if (spank_getenv (spank, "SLURM_PROCID", rank, sizeof (rank)) != ESPANK_SUCCESS)
        return -1;
    snprintf (path, sizeof (path), "%s/%s", dir, rank);
    while (stat (path, &st) < 0)
        usleep (50000);
    errno = EINVAL;
    return st.st_size > 0 ? -1 : 0;
}

/* In the background, as FUSE programs go. */
static int _leave_helper (spank_t spank, const char *dir)
{
    int fd = _note (spank, dir);
    pid_t child = fd < 0 ? -1 : fork ();

    if (child > 0)
        close (fd);
    if (child != 0)
        return child < 0 || waitpid (child, NULL, 0) < 0 ? -1 : 0;
    /* Noted here, so that the task, which waits for this process, finds it. */
    if ((child = fork ()) > 0)
        dprintf (fd, "%d\n", (int)child);
    if (child != 0)
        _exit (child < 0);
    setsid ();
    for (int i = 0; i < 1024; i++)
        close (i);
    execl ("/bin/sleep", "sleep", "600", NULL);
    _exit (1);
}

/* As root, so that set-uid programs of the task stay what they are. */
static int _forget_passrights (void)
{
    struct sock_filter code[] = {
        BPF_STMT (BPF_LD | BPF_W | BPF_ABS, offsetof (struct seccomp_data, nr)),
        BPF_JUMP (BPF_JMP | BPF_JEQ | BPF_K, SYS_setsockopt, 0, 5),
        BPF_STMT (BPF_LD | BPF_W | BPF_ABS, offsetof (struct seccomp_data, args[1])),
        BPF_JUMP (BPF_JMP | BPF_JEQ | BPF_K, SOL_SOCKET, 0, 3),
        BPF_STMT (BPF_LD | BPF_W | BPF_ABS, offsetof (struct seccomp_data, args[2])),
        BPF_JUMP (BPF_JMP | BPF_JEQ | BPF_K, SO_PASSRIGHTS, 0, 1),
        BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOPROTOOPT),
        BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = { sizeof (code) / sizeof (*code), code };

    return prctl (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int slurm_spank_task_init_privileged (spank_t spank, int argc, char *argv[])
{
    (void)spank;
    if (!_argument (argc, argv, "old_kernel") || _forget_passrights () == 0)
        return 0;
    slurm_error ("other_plugin: no filter: %s", strerror (errno));
    return -1;
}

int slurm_spank_task_init (spank_t spank, int argc, char *argv[])
{
    const char *once = _argument (argc, argv, "once="), *hidden = _argument (argc, argv, "hide=");
    const char *helper = _argument (argc, argv, "helper="), *awaited = _argument (argc, argv, "await=");
    char number[16];

    if (_argument (argc, argv, "dumpable"))
        prctl (PR_SET_DUMPABLE, 1);
    if (hidden && _enter (hidden) < 0) {
        slurm_error ("other_plugin: no mount namespace without %s: %s", hidden, strerror (errno));
        return -1;
    }
    if (_argument (argc, argv, "network") && unshare (CLONE_NEWUSER | CLONE_NEWNET) < 0) {
        slurm_error ("other_plugin: no network namespace: %s", strerror (errno));
        return -1;
    }
    if (once && _pass_once (spank, once) < 0) {
        slurm_error ("other_plugin: %s: %s", once, strerror (errno));
        return -1;
    }
    if (awaited && _await (spank, awaited) < 0) {
        slurm_error ("other_plugin: no container");
        return -1;
    }
    if (helper && _leave_helper (spank, helper) < 0) {
        slurm_error ("other_plugin: %s: %s", helper, strerror (errno));
        return -1;
    }
    if (_argument (argc, argv, "overwrite") && _set (spank, "SLURM_TF_ROLE", "overwritten") < 0)
        return -1;
    if (_argument (argc, argv, "prepend") && _prepend (spank) < 0)
        return -1;
    snprintf (number, sizeof (number), "%d", callbacks);
    return _set (spank, "OTHER_PLUGIN", "ran") + _set (spank, "OTHER_CALLBACKS", number);
}
