/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "step_tasks.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/number.h"

/* Of an environment: Slurm's variables are in front. */
#define ENVIRONMENT_MOST (256 * 1024)

/* The name that spank_tf_watchdog.py gives its file, with the number of its signal. */
#define STACKS_FILE "/memfd:spank_tf_stacks_"

/* The bytes of a file of /proc, and a NUL. Returns how many. */
static size_t _read_proc (pid_t pid, const char *name, char *buf, size_t size)
{
    char path[64];
    size_t used = 0;
    ssize_t n = 1;
    int fd;

    snprintf (path, sizeof (path), "/proc/%d/%s", (int)pid, name);
    if ((fd = open (path, O_RDONLY | O_CLOEXEC)) >= 0) {
        while (used < size - 1 && (n = read (fd, buf + used, size - 1 - used)) > 0)
            used += (size_t)n;
        close (fd);
    }
    buf[used] = '\0';
    return used;
}

static const char *_variable (const char *environment, size_t length, const char *name)
{
    size_t size = strlen (name);

    for (const char *at = environment; at < environment + length; at += strlen (at) + 1)
        if (strncmp (at, name, size) == 0 && at[size] == '=')
            return at + size + 1;
    return NULL;
}

static bool _has_variable (const char *environment, size_t length, const char *name, const char *value)
{
    const char *found = _variable (environment, length, name);

    return found && strcmp (found, value) == 0;
}

/* Is it one of the step's tasks, or a descendant? */
static bool _take_names (struct step_task *task, const char *job, const char *step)
{
    static char environment[ENVIRONMENT_MOST];
    size_t length = _read_proc (task->pid, "environ", environment, sizeof (environment));
    const char *role = _variable (environment, length, "SLURM_TF_ROLE");
    const char *index = _variable (environment, length, "SLURM_TF_INDEX");

    if (!role || !index || number_parse (&task->index, index, 0, INT_MAX) < 0
        || !_has_variable (environment, length, "SLURM_JOB_ID", job)
        || !_has_variable (environment, length, "SLURM_STEP_ID", step))
        return false;
    return snprintf (task->role, sizeof (task->role), "%s", role) < (int)sizeof (task->role);
}

/* The start is the 22nd field of /proc/PID/stat, the 20th after the name. */
static void _take_start (struct step_task *task)
{
    char text[1024], *at;

    _read_proc (task->pid, "stat", text, sizeof (text));
    at = strrchr (text, ')');
    for (int i = 0; i < 20 && at; i++)
        at = strchr (at + 1, ' ');
    task->start = at ? strtoull (at + 1, NULL, 10) : ULLONG_MAX;
}

/* What a link in /proc/PID points to, or "". */
static void _read_link (pid_t pid, const char *name, char *buf, size_t size)
{
    char path[300];
    ssize_t length;

    snprintf (path, sizeof (path), "/proc/%d/%s", (int)pid, name);
    length = readlink (path, buf, size - 1);
    buf[length > 0 ? length : 0] = '\0';
}

static bool _take_program (struct step_task *task)
{
    char path[PATH_MAX];

    _read_link (task->pid, "exe", path, sizeof (path));
    snprintf (task->program, sizeof (task->program), "%.60s", basename (path));
    return strncmp (task->program, "python", 6) == 0;
}

static bool _take_descriptor (struct step_task *task, const char *name)
{
    char link[64], target[128], number[64];

    snprintf (link, sizeof (link), "fd/%.50s", name);
    _read_link (task->pid, link, target, sizeof (target));
    if (strncmp (target, STACKS_FILE, sizeof (STACKS_FILE) - 1) != 0)
        return false;
    snprintf (number, sizeof (number), "%.*s", (int)strcspn (target + sizeof (STACKS_FILE) - 1, " "),
              target + sizeof (STACKS_FILE) - 1);
    return number_parse (&task->signal, number, SIGRTMIN, SIGRTMAX) == 0
           && number_parse (&task->fd, name, 0, INT_MAX) == 0;
}

static bool _answers (struct step_task *task)
{
    char path[64];
    struct dirent *entry;
    bool answers = false;
    DIR *dir;

    snprintf (path, sizeof (path), "/proc/%d/fd", (int)task->pid);
    if (!(dir = opendir (path)))
        return false;
    while (!answers && (entry = readdir (dir)))
        answers = _take_descriptor (task, entry->d_name);
    closedir (dir);
    return answers;
}

static void _take_kind (struct step_task *task)
{
    bool python = _take_program (task);

    _take_start (task);
    task->kind = _answers (task) ? STEP_TASK_ANSWERS : python ? STEP_TASK_PYTHON : STEP_TASK_OTHER;
}

/* Processes that a task has forked have the same descriptors: the oldest is the one that trains. */
static bool _is_better (const struct step_task *one, const struct step_task *other)
{
    if (one->kind != other->kind)
        return one->kind > other->kind;
    return one->start < other->start || (one->start == other->start && one->pid < other->pid);
}

static int _add_process (struct step_task **list, int count, const struct step_task *task)
{
    struct step_task *more;

    for (int i = 0; i < count; i++) {
        if (strcmp ((*list)[i].role, task->role) != 0 || (*list)[i].index != task->index)
            continue;
        if (_is_better (task, &(*list)[i]))
            (*list)[i] = *task;
        return count;
    }
    if (!(more = reallocarray (*list, (size_t)count + 1, sizeof (*more))))
        return -1;
    *list = more;
    more[count] = *task;
    return count + 1;
}

static bool _is_own (DIR *proc, const char *name)
{
    struct stat st;

    return isdigit ((unsigned char)name[0]) && fstatat (dirfd (proc), name, &st, 0) == 0
           && st.st_uid == geteuid ();
}

int step_tasks_find (struct step_task **list, const char *job, const char *step)
{
    DIR *proc = opendir ("/proc");
    struct dirent *entry;
    int count = 0;

    *list = NULL;
    if (!proc)
        return -1;
    while (count >= 0 && (entry = readdir (proc))) {
        struct step_task task = { .fd = -1 };
        int pid;

        if (!_is_own (proc, entry->d_name) || number_parse (&pid, entry->d_name, 1, INT_MAX) < 0)
            continue;
        task.pid = pid;
        if (!_take_names (&task, job, step))
            continue;
        _take_kind (&task);
        count = _add_process (list, count, &task);
    }
    closedir (proc);
    return count;
}
