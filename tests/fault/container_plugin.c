/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A neighbour of ours in plugstack.conf that puts tasks into a container, in the callbacks and in the
 * order of NVIDIA's pyxis 0.24.0 with enroot's usual hooks. Its option has the name of pyxis',
 * --container-image=IMAGE. In task_init
 *
 *     the node's first task starts the container: a process with a user and a mount namespace, in which
 *         the directory of the argument hide=DIR is empty, and which stops itself
 *     each task gets the environment of that process, which has the SLURM_ variables of the first task,
 *         and enters its namespaces and its directory
 *     the last task lets that process end, and marks the container as stopped: it stays as a dead child
 *         of the first task, and a task that comes later is refused
 *
 * The image "torch" sets PYTORCH_VERSION and, as enroot's hook does, MASTER_ADDR, MASTER_PORT and
 * WORLD_SIZE; then the tasks get RANK and LOCAL_RANK. "missing" cannot be started; "slow" takes SLOW_S.
 * A container that would get a step's tokens is not started.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <slurm/slurm.h>
#include <slurm/spank.h>

SPANK_PLUGIN (container_plugin, 1)

int slurm_spank_init (spank_t spank, int argc, char *argv[]);
int slurm_spank_user_init (spank_t spank, int argc, char *argv[]);
int slurm_spank_task_init (spank_t spank, int argc, char *argv[]);

/* Longer than any time that tf-supervise waits for an answer of a process on its node. */
#define SLOW_S 35

#define MOST_VARIABLES 512

/* Of slurmstepd and all its tasks. */
struct container {
    sem_t lock;
    unsigned int init_tasks, started_tasks;
    pid_t pid;                  /* -1: it has been stopped, or could not be started */
};

static struct container *container;
static char image[64];          /* empty: the tasks are in no container */

static int _image_option (int val, const char *value, int remote)
{
    (void)val;
    (void)remote;
    snprintf (image, sizeof (image), "%s", value);
    return 0;
}

int slurm_spank_init (spank_t spank, int argc, char *argv[])
{
    static char name[] = "container-image", value[] = "IMAGE", usage[] = "the container of the tasks";
    struct spank_option option = { name, value, usage, 1, 0, _image_option };

    (void)argc;
    (void)argv;
    return spank_option_register (spank, &option) == ESPANK_SUCCESS ? 0 : -1;
}

int slurm_spank_user_init (spank_t spank, int argc, char *argv[])
{
    (void)spank;
    (void)argc;
    (void)argv;
    if (!*image)
        return 0;
    container = mmap (NULL, sizeof (*container), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (container == MAP_FAILED || sem_init (&container->lock, 1, 1) < 0)
        return -1;
    container->pid = -1;
    return 0;
}

static const char *_hidden (int argc, char *argv[])
{
    for (int i = 0; i < argc; i++)
        if (strncmp (argv[i], "hide=", 5) == 0)
            return argv[i] + 5;
    return "/mnt";
}

static int _write (const char *path, const char *text)
{
    int fd = open (path, O_WRONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : write (fd, text, strlen (text));

    if (fd >= 0)
        close (fd);
    return n == (ssize_t)strlen (text) ? 0 : -1;
}

/* As the user, who has a mount namespace only within a user namespace. */
static int _unshare (const char *hidden)
{
    uid_t uid = getuid ();
    gid_t gid = getgid ();
    char map[64];

    if (unshare (CLONE_NEWUSER | CLONE_NEWNS) < 0)
        return -1;
    /* Of a process that was root, /proc is root's. */
    prctl (PR_SET_DUMPABLE, 1);
    snprintf (map, sizeof (map), "%u %u 1", uid, uid);
    if (_write ("/proc/self/uid_map", map) < 0 || _write ("/proc/self/setgroups", "deny") < 0)
        return -1;
    snprintf (map, sizeof (map), "%u %u 1", gid, gid);
    return _write ("/proc/self/gid_map", map) < 0 ? -1 : mount ("none", hidden, "tmpfs", 0, NULL);
}

/* What enroot's hook 50-slurm-pmi.sh copies of what pyxis lets enroot have. */
static bool _goes_in (const char *variable)
{
    static const char *const denied[] = { "SLURM_PROCID=", "SLURM_LOCALID=", "SLURM_TASK_PID=" };

    for (size_t i = 0; i < sizeof (denied) / sizeof (*denied); i++)
        if (strncmp (variable, denied[i], strlen (denied[i])) == 0)
            return false;
    return strncmp (variable, "SLURM_", 6) == 0;
}

/* In its process. */
static void _become_container (char *const task[], const char *hidden)
{
    static char torch[][40] = { "PYTORCH_VERSION=2.6.0", "MASTER_ADDR=192.0.2.1", "MASTER_PORT=61000", "" };
    char *env[MOST_VARIABLES + 1] = { NULL };
    int n = 0;

    for (int i = 0; task[i] && n < MOST_VARIABLES - 4; i++) {
        if (_goes_in (task[i]))
            env[n++] = task[i];
        if (strncmp (task[i], "SLURM_NTASKS=", 13) == 0)
            snprintf (torch[3], sizeof (torch[3]), "WORLD_SIZE=%.20s", task[i] + 13);
    }
    for (int i = 0; strcmp (image, "torch") == 0 && i < 4; i++)
        env[n++] = torch[i];
    if (strcmp (image, "slow") == 0)
        sleep (SLOW_S);
    if (strcmp (image, "missing") != 0 && _unshare (hidden) == 0)
        execle ("/bin/sh", "sh", "-c", "kill -STOP $$; exit 0", NULL, env);
    _exit (1);
}

/* -1: it could not be started. */
static pid_t _start (spank_t spank, const char *hidden)
{
    char **env = NULL;
    int status = 0;
    pid_t pid;

    if (spank_get_item (spank, S_JOB_ENV, &env) != ESPANK_SUCCESS || !env)
        return -1;
    for (int i = 0; env[i]; i++)
        if (strncmp (env[i], "SLURM_TF_RENDEZVOUS=", strlen ("SLURM_TF_RENDEZVOUS=")) == 0) {
            slurm_error ("container_plugin: the container would get the step's tokens");
            return -1;
        }
    pid = fork ();
    if (pid == 0)
        _become_container (env, hidden);
    if (pid > 0 && waitpid (pid, &status, WUNTRACED) == pid && WIFSTOPPED (status))
        return pid;
    slurm_error ("container_plugin: the image \"%s\" cannot be started", image);
    return -1;
}

static pid_t _start_once (spank_t spank, const char *hidden)
{
    while (sem_wait (&container->lock) < 0 && errno == EINTR)
        ;
    if (container->init_tasks++ == 0)
        container->pid = _start (spank, hidden);
    sem_post (&container->lock);
    if (container->pid < 0)
        slurm_error ("container_plugin: container was not started successfully by another task");
    return container->pid;
}

static int _set (spank_t spank, const char *name, const char *value)
{
    return spank_setenv (spank, name, value, 1) == ESPANK_SUCCESS ? 0 : -1;
}

static int _copy (spank_t spank, const char *from, const char *to)
{
    char value[64];

    return spank_getenv (spank, from, value, sizeof (value)) == ESPANK_SUCCESS ? _set (spank, to, value) : -1;
}

static int _import (spank_t spank, pid_t pid)
{
    static char text[256 * 1024];
    char path[64], *equals, version[16];
    int fd;
    ssize_t len;

    snprintf (path, sizeof (path), "/proc/%d/environ", (int)pid);
    if ((fd = open (path, O_RDONLY | O_CLOEXEC)) < 0)
        return -1;
    len = read (fd, text, sizeof (text) - 1);
    close (fd);
    for (char *p = text; len > 0 && p < text + len; p = equals + strlen (equals) + 1) {
        if (!(equals = strchr (p, '=')))
            return -1;
        *equals++ = '\0';
        if (_set (spank, p, equals) < 0)
            return -1;
    }
    if (spank_getenv (spank, "PYTORCH_VERSION", version, sizeof (version)) != ESPANK_SUCCESS)
        return len > 0 ? 0 : -1;
    return _copy (spank, "SLURM_PROCID", "RANK") + _copy (spank, "SLURM_LOCALID", "LOCAL_RANK");
}

static int _namespace (pid_t pid, const char *name)
{
    char path[64];

    snprintf (path, sizeof (path), "/proc/%d/ns/%s", (int)pid, name);
    return open (path, O_RDONLY | O_CLOEXEC);
}

static int _enter (pid_t pid)
{
    char path[64], directory[4096] = "";
    int user = _namespace (pid, "user"), mnt = _namespace (pid, "mnt");

    snprintf (path, sizeof (path), "/proc/%d/cwd", (int)pid);
    if (readlink (path, directory, sizeof (directory) - 1) < 0 || user < 0 || mnt < 0)
        return -1;
    return setns (user, CLONE_NEWUSER) < 0 || setns (mnt, CLONE_NEWNS) < 0 || chdir (directory) < 0 ? -1 : 0;
}

static void _stop_once (unsigned int tasks)
{
    if (__sync_fetch_and_add (&container->started_tasks, 1) != tasks - 1)
        return;
    kill (container->pid, SIGCONT);
    container->pid = -1;
}

int slurm_spank_task_init (spank_t spank, int argc, char *argv[])
{
    uint32_t tasks = 0;
    pid_t pid;

    if (!container)
        return 0;
    if ((pid = _start_once (spank, _hidden (argc, argv))) < 0)
        return -1;
    if (_import (spank, pid) < 0 || _enter (pid) < 0) {
        slurm_error ("container_plugin: cannot enter the container: %s", strerror (errno));
        return -1;
    }
    spank_get_item (spank, S_JOB_LOCAL_TASK_COUNT, &tasks);
    _stop_once (tasks);
    return 0;
}
