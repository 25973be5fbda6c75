/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "proc.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

/* NULL if the process has ended. */
static FILE *_open_proc (pid_t pid, const char *name)
{
    char path[64];

    snprintf (path, sizeof (path), "/proc/%d/%s", (int)pid, name);
    return fopen (path, "re");
}

uint64_t proc_signals (pid_t pid, const char *set)
{
    FILE *f = _open_proc (pid, "status");
    size_t length = strlen (set);
    uint64_t signals = 0;
    char text[256];

    while (f && fgets (text, sizeof (text), f))
        if (strncmp (text, set, length) == 0 && text[length] == ':')
            signals = strtoull (text + length + 1, NULL, 16);
    if (f)
        fclose (f);
    return signals;
}

bool proc_has_name (pid_t pid, const char *name)
{
    FILE *f = _open_proc (pid, "comm");
    char text[64] = "";
    bool read = f && fgets (text, sizeof (text), f);

    if (f)
        fclose (f);
    return read && strncmp (text, name, strlen (name)) == 0 && text[strlen (name)] == '\n';
}

void proc_children (pid_t pid, void (*found) (pid_t child, void *arg), void *arg)
{
    char name[32];
    FILE *f;
    int child;

    snprintf (name, sizeof (name), "task/%d/children", (int)pid);
    f = _open_proc (pid, name);
    /* NOLINTNEXTLINE(cert-err34-c): it is the kernel's number. */
    while (f && fscanf (f, "%d", &child) == 1)
        found ((pid_t)child, arg);
    if (f)
        fclose (f);
}

pid_t proc_next_ended (void)
{
    siginfo_t info = { 0 };

    return waitid (P_ALL, 0, &info, WEXITED | WNOWAIT | WNOHANG) == 0 ? info.si_pid : 0;
}

bool proc_reap (pid_t child, int *status)
{
    if (waitpid (child, status, WNOHANG) != child)
        return false;
    if (!WIFSTOPPED (*status))
        return true;
    ptrace (PTRACE_DETACH, child, NULL,
            (void *)(intptr_t)(WSTOPSIG (*status) == SIGTRAP ? 0 : WSTOPSIG (*status)));
    return false;
}
