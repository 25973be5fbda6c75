/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "ask_srun.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/child.h"

/* In bytes; srun --help is 9 KB. */
#define MAX_TEXT ((size_t)1024 * 1024)

struct command {
    pid_t pid;
    int fd;             /* what it prints; -1: it could not be started */
};

static struct command _start_command (const char *const argv[], bool errors)
{
    struct command command = { -1, -1 };
    int end[2];

    if (pipe2 (end, O_CLOEXEC) < 0)
        return command;
    command.pid = child_fork ("tf-run", (int[]){ -1, end[1], errors ? end[1] : -1 }, 3);
    if (command.pid == 0) {
        setenv ("LC_ALL", "C", 1);
        execvp (argv[0], (char *const *)(uintptr_t)argv);
        _exit (127);
    }
    close (end[1]);
    if (command.pid > 0)
        command.fd = end[0];
    else
        close (end[0]);
    return command;
}

/*
 * All that it prints, to be freed. *status is how it ended. NULL if it could not be started, or prints too
 * much.
 */
static char *_finish (struct command *command, int *status)
{
    char *text = command->fd < 0 ? NULL : malloc (MAX_TEXT);
    size_t used = 0;
    ssize_t n = 1;

    while (text && n > 0 && used < MAX_TEXT - 1)
        if ((n = read (command->fd, text + used, MAX_TEXT - 1 - used)) > 0)
            used += (size_t)n;
        else if (n < 0 && errno == EINTR)
            n = 1;
    if (command->fd >= 0)
        close (command->fd);
    if (command->pid > 0)
        waitpid (command->pid, status, 0);
    if (text && n == 0) {
        text[used] = '\0';
        return text;
    }
    free (text);
    return NULL;
}

/* NULL if it fails. */
static char *_finish_well (struct command *command)
{
    int status = -1;
    char *text = _finish (command, &status);

    if (status == 0)
        return text;
    free (text);
    return NULL;
}

/* The one beside this srun. */
static struct command _start_scontrol (const char *srun)
{
    const char *slash = strrchr (srun, '/');
    char scontrol[PATH_MAX];

    snprintf (scontrol, sizeof (scontrol), "%.*sscontrol", slash ? (int)(slash + 1 - srun) : 0, srun);
    return _start_command ((const char *const[]){ scontrol, "show", "config", NULL }, false);
}

char *ask_srun (const char *srun, struct slurm_facts *facts)
{
    struct command help = _start_command ((const char *const[]){ srun, "--help", NULL }, false), config;
    char *text, *configuration;

    slurm_facts_read_files (facts, getenv ("SLURM_CONF"));
    if (facts->known)
        return _finish_well (&help);
    config = _start_scontrol (srun);
    text = _finish_well (&help);
    if ((configuration = _finish_well (&config)))
        slurm_facts_read_text (facts, configuration);
    free (configuration);
    return text;
}

enum srun_value ask_srun_option (const char *option, void *srun)
{
    struct command command = _start_command ((const char *const[]){ srun, option, NULL }, true);
    int status = -1;
    char *text = _finish (&command, &status);
    bool needed = text && strstr (text, "requires an argument");

    free (text);
    return needed ? SRUN_VALUE_NEEDED : SRUN_VALUE_NONE;
}
