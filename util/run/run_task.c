/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "run_task.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/environment.h"
#include "launch/launcher.h"
#include "launch/task.h"
#include "launch/task_abort.h"
#include "launcher.h"
#include "protocol/contact.h"
#include "protocol/fork_request.h"

#define RUN_TASK_WORD "--task="

void run_task_word (char word[RUN_TASK_SIZE], const struct slurm_facts *facts)
{
    snprintf (word, RUN_TASK_SIZE,
              RUN_TASK_WORD "kill-wait=%d,signals-only-children=%d,component=", facts->kill_wait,
              facts->signals_only_children);
}

/* -1 if the word is not tf-run's. */
static int _read_word (const char *word, struct task_of_slurm *slurm)
{
    /* NOLINTNEXTLINE(cert-err34-c): so many digits do not overflow. */
    return sscanf (word, RUN_TASK_WORD "kill-wait=%9d,signals-only-children=%1d,component=%9d",
                   &slurm->kill_wait, &slurm->forwards, &slurm->component)
                   == 3
               ? 0
               : -1;
}

/* The path of "./train", in the working directory. */
static const char *_in_working_directory (const char *name, char room[PATH_MAX])
{
    char directory[PATH_MAX];

    return getcwd (directory, sizeof (directory))
                   && snprintf (room, PATH_MAX, "%s/%s", directory, name) < PATH_MAX
               ? room
               : name;
}

/* As slurmstepd searches a program. Returns room, or the name if it is not found. */
static const char *_search (const char *name, char room[PATH_MAX])
{
    const char *path = getenv ("PATH");
    struct stat st;

    if (*name == '.')
        return _in_working_directory (name, room);
    for (const char *dir = path; *name != '/' && dir; dir = strchr (dir, ':')) {
        dir += *dir == ':';
        if (snprintf (room, PATH_MAX, "%.*s/%s", (int)strcspn (dir, ":"), dir, name) < PATH_MAX && *dir != ':'
            && *dir && stat (room, &st) == 0 && !S_ISDIR (st.st_mode))
            return room;
    }
    return name;
}

/* That a script names in its first line, or NULL if this is not a script. */
static const char *_interpreter (const char *path, char room[PATH_MAX])
{
    int fd = open (path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read (fd, room, PATH_MAX - 1);

    if (fd >= 0)
        close (fd);
    room[length < 0 ? 0 : length] = '\0';
    room[strcspn (room, "\n")] = '\0';
    return strncmp (room, "#!", 2) == 0 ? room + 2 : NULL;
}

/* The text and the exit codes are slurmstepd's. */
static void __attribute__ ((noreturn)) _become_program (char *argv[])
{
    char room[PATH_MAX];
    const char *interpreter;
    int why;

    argv[0] = strdup (_search (argv[0], room));
    if (argv[0])
        execv (argv[0], argv);
    why = errno;
    interpreter = argv[0] && why == ENOENT ? _interpreter (argv[0], room) : NULL;
    dprintf (STDERR_FILENO, "tf-run: error: execve(): %s%s%s: %s\n", interpreter ? "bad interpreter(" : "",
             interpreter ? interpreter
             : argv[0]   ? argv[0]
                         : "",
             interpreter ? ")" : "", strerror (why));
    _exit (why);
}

void run_task (int argc, char *argv[])
{
    const char *contact = getenv (CONTACT_VARIABLE);
    struct task_of_slurm slurm = { .slurmstepd = getppid () };

    if (argc < 2 || strncmp (argv[1], RUN_TASK_WORD, sizeof (RUN_TASK_WORD) - 1) != 0)
        return;
    if (argc < 3 || !contact || _read_word (argv[1], &slurm) < 0) {
        dprintf (STDERR_FILENO, "tf-run: error: --task is for the srun that tf-run starts\n");
        _exit (1);
    }
    /* As the plugin's tasks: the supervisor knows by this name that a life has not executed its program. */
    prctl (PR_SET_NAME, FORK_LIFE_NAME);
    launcher_use_own_programs ();
    task_register (&slurm, contact);
    task_begin ();
    _become_program (argv + 2);
}
