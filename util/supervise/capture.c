/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "capture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "common/number.h"
#include "likeness.h"
#include "proc.h"

#define RESTART_VARIABLE "SLURM_TF_RESTART="
#define PID_VARIABLE "SLURM_TASK_PID="
#define MORE_VARIABLES 1        /* SLURM_TF_RESTART */

/* 0, 1, 2, the port, and some to spare. */
#define MAX_DESCRIPTORS 8
/* Linux handles up to 8192 CPUs; one that is built for more is refused. */
#define MAX_CPUS 65536
#define MAX_SIGNAL 64

struct strings {
    char *bytes;                /* as in /proc: each ends with NUL */
    char **item;                /* ends with NULL, with room for MORE_VARIABLES */
    size_t count;
};

struct capture {
    char exe[PATH_MAX];
    struct strings args, env;
    int cwd;                    /* O_PATH: it may be renamed, or removed */
    mode_t umask;
    uint64_t ignored, blocked;  /* signals, as in /proc/PID/status */
    struct rlimit limit[RLIM_NLIMITS];
    cpu_set_t cpus[MAX_CPUS / CPU_SETSIZE];
    size_t cpus_size;           /* bytes */
    bool on_terminal;           /* its stdin is one, with these modes */
    struct termios modes;
    struct {
        int number;             /* in the program */
        int kept;               /* here */
        int flags;              /* such as O_NONBLOCK, which all processes with this file share */
    } descriptor[MAX_DESCRIPTORS];
    size_t descriptors;
};

/* Capturing. */

static int _read_strings (struct strings *strings, const char *path, struct errtext *err)
{
    size_t length, i = 0;

    if (!(strings->bytes = proc_read_file (path, &length, err)))
        return -1;
    if (length > 0 && strings->bytes[length - 1] != '\0')
        return errtext_set (err, "%s does not end with NUL", path);
    for (size_t at = 0; at < length; at++)
        strings->count += strings->bytes[at] == '\0';
    strings->item = calloc (strings->count + MORE_VARIABLES + 1, sizeof (*strings->item));
    if (!strings->item)
        return errtext_set (err, "%s", strerror (ENOMEM));
    for (char *item = strings->bytes; i < strings->count; item += strlen (item) + 1)
        strings->item[i++] = item;
    return 0;
}

static void _free_strings (struct strings *strings)
{
    free (strings->bytes);
    free (strings->item);
}

static int _read_status (struct capture *c, pid_t pid, struct errtext *err)
{
    uint64_t mask;

    if (proc_status_number (&mask, pid, "Umask", 8) < 0
        || proc_status_number (&c->ignored, pid, "SigIgn", 16) < 0
        || proc_status_number (&c->blocked, pid, "SigBlk", 16) < 0)
        return errtext_set (err, "%s does not tell its umask and signals",
                            proc_path (pid, "status").text);
    c->umask = (mode_t)mask;
    return 0;
}

static int _read_limits (struct capture *c, pid_t pid, struct errtext *err)
{
    for (int i = 0; i < RLIM_NLIMITS; i++)
        if (prlimit (pid, (enum __rlimit_resource)i, NULL, &c->limit[i]) < 0)
            return errtext_set (err, "its limits: %s", strerror (errno));
    return 0;
}

static int _read_cpus (struct capture *c, pid_t pid, struct errtext *err)
{
    c->cpus_size = sizeof (c->cpus);
    return sched_getaffinity (pid, c->cpus_size, c->cpus) < 0
               ? errtext_set (err, "its CPUs: %s", strerror (errno)) : 0;
}

/* The kept descriptor that refers to this file; -1 if there is none. */
static int _find_kept (const char *file, const int *kept, size_t count)
{
    char text[PATH_MAX];

    for (size_t i = 0; i < count; i++) {
        struct proc_path path = proc_path (getpid (), "fd/%d", kept[i]);

        if (proc_read_link (path.text, text, sizeof (text), NULL) == 0 && strcmp (text, file) == 0)
            return kept[i];
    }
    return -1;
}

static int _read_descriptor (struct capture *c, pid_t pid, int number, const int *kept,
                             size_t count, struct errtext *err)
{
    char file[PATH_MAX];
    int own = number < (int)count ? kept[number] : -1;

    if (proc_read_link (proc_path (pid, "fd/%d", number).text, file, sizeof (file), err) < 0)
        return -1;
    /* First the one of the same place: stdout and stderr may be the same terminal. */
    if (own < 0 || _find_kept (file, &own, 1) < 0)
        own = _find_kept (file, kept, count);
    if (own < 0 || c->descriptors == MAX_DESCRIPTORS)
        return errtext_set (err, "it begins with a file of its own, descriptor %d", number);
    c->descriptor[c->descriptors].number = number;
    c->descriptor[c->descriptors].flags = fcntl (own, F_GETFL);
    c->descriptor[c->descriptors++].kept = own;
    return 0;
}

static int _read_descriptors (struct capture *c, pid_t pid, const int *kept, size_t count,
                              struct errtext *err)
{
    DIR *dir = opendir (proc_path (pid, "fd").text);
    const struct dirent *entry;
    int number, rc = dir ? 0 : errtext_set (err, "its descriptors: %s", strerror (errno));

    while (rc == 0 && (entry = readdir (dir)))
        if (number_parse (&number, entry->d_name, 0, INT_MAX) == 0)
            rc = _read_descriptor (c, pid, number, kept, count, err);
    if (dir)
        closedir (dir);
    return rc;
}

static int _open_cwd (struct capture *c, pid_t pid, struct errtext *err)
{
    struct proc_path path = proc_path (pid, "cwd");

    c->cwd = open (path.text, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return c->cwd < 0 ? errtext_set (err, "%s: %s", path.text, strerror (errno)) : 0;
}

static int _read (struct capture *c, pid_t pid, const int *kept, size_t count, struct errtext *err)
{
    if (likeness_check (pid, err) < 0 || _read_descriptors (c, pid, kept, count, err) < 0
        || proc_read_link (proc_path (pid, "exe").text, c->exe, sizeof (c->exe), err) < 0
        || _read_strings (&c->args, proc_path (pid, "cmdline").text, err) < 0
        || _read_strings (&c->env, proc_path (pid, "environ").text, err) < 0)
        return -1;
    return _open_cwd (c, pid, err) < 0 || _read_status (c, pid, err) < 0
           || _read_limits (c, pid, err) < 0 || _read_cpus (c, pid, err) < 0 ? -1 : 0;
}

static void _read_terminal (struct capture *c, const int *kept, size_t count)
{
    c->on_terminal = count > STDIN_FILENO && tcgetattr (kept[STDIN_FILENO], &c->modes) == 0;
}

static bool _is_exec (int status)
{
    return status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8);
}

/* The task has stopped itself to begin with. */
static bool _is_beginning (pid_t pid, int status)
{
    siginfo_t info;

    return WSTOPSIG (status) == SIGSTOP && ptrace (PTRACE_GETSIGINFO, pid, NULL, &info) == 0
           && info.si_pid == pid;
}

/*
 * Without PTRACE_O_TRACEEXEC the exec would show as SIGTRAP, and not at all in a task that blocks
 * that signal.
 */
static void _begin (pid_t pid)
{
    const intptr_t options = PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;

    ptrace (PTRACE_SETOPTIONS, pid, NULL, (void *)options);
    ptrace (PTRACE_CONT, pid, NULL, NULL);
}

static void _release (pid_t pid, int number)
{
    ptrace (PTRACE_DETACH, pid, NULL, (void *)(intptr_t)number);
}

static enum capture_step _capture (struct capture **cp, pid_t pid, const int *kept, size_t count,
                                   struct errtext *err)
{
    struct capture *c = calloc (1, sizeof (*c));
    int rc = c ? 0 : errtext_set (err, "%s", strerror (ENOMEM));

    if (likeness_lacks_rights (pid, err)) {
        free (c);
        kill (pid, SIGKILL);
        return CAPTURE_REFUSED;
    }
    if (c) {
        c->cwd = -1;
        rc = _read (c, pid, kept, count, err);
        _read_terminal (c, kept, count);
    }
    _release (pid, 0);
    if (rc == 0) {
        *cp = c;
        return CAPTURE_DONE;
    }
    capture_destroy (c);
    return CAPTURE_CANNOT;
}

enum capture_step capture_follow (struct capture **cp, pid_t pid, int status, const int *kept,
                                  size_t count, struct errtext *err)
{
    int number = WSTOPSIG (status);

    if (_is_exec (status))
        return _capture (cp, pid, kept, count, err);
    if (_is_beginning (pid, status)) {
        _begin (pid);
        return CAPTURE_NOT_YET;
    }
    /* A traced process does not stay stopped, nor does SIGCONT continue it. */
    if (number == SIGSTOP || number == SIGTSTP || number == SIGTTIN || number == SIGTTOU) {
        _release (pid, number);
        errtext_set (err, "it was stopped before it started");
        return CAPTURE_CANNOT;
    }
    ptrace (PTRACE_CONT, pid, NULL, (void *)(intptr_t)number);
    return CAPTURE_NOT_YET;
}

/* Starting. The functions run in the new process, before exec; they return -1 and errno. */

/* Out of the way of all numbers that the descriptors are to get. */
static int _lift_descriptors (const struct capture *c, int *lifted, int *report)
{
    int above = STDERR_FILENO + 1, fd;

    for (size_t i = 0; i < c->descriptors; i++)
        above = c->descriptor[i].number >= above ? c->descriptor[i].number + 1 : above;
    for (size_t i = 0; i < c->descriptors; i++)
        if ((lifted[i] = fcntl (c->descriptor[i].kept, F_DUPFD_CLOEXEC, above)) < 0)
            return -1;
    if ((fd = fcntl (*report, F_DUPFD_CLOEXEC, above)) < 0)
        return -1;
    *report = fd;
    return 0;
}

/* Every other descriptor of this process is close-on-exec, except its own 0, 1 and 2. */
static int _set_descriptors (const struct capture *c, const int *lifted)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        close (fd);
    for (size_t i = 0; i < c->descriptors; i++)
        if (dup2 (lifted[i], c->descriptor[i].number) < 0
            || fcntl (lifted[i], F_SETFL, c->descriptor[i].flags) < 0)
            return -1;
    return 0;
}

/* A shell or an editor that was killed has left a foreground process group and modes of its own. */
static void _take_terminal (const struct capture *c)
{
    if (!c->on_terminal)
        return;
    tcsetpgrp (STDIN_FILENO, getpgrp ());
    tcsetattr (STDIN_FILENO, TCSANOW, &c->modes);
}

static int _set_limits (const struct capture *c)
{
    for (int i = 0; i < RLIM_NLIMITS; i++)
        if (setrlimit ((enum __rlimit_resource)i, &c->limit[i]) < 0)
            return -1;
    return 0;
}

static void _set_signals (const struct capture *c)
{
    sigset_t blocked;

    sigemptyset (&blocked);
    for (int number = 1; number <= MAX_SIGNAL; number++) {
        uint64_t bit = UINT64_C (1) << (number - 1);

        /* glibc refuses those that it keeps for itself, and Linux SIGKILL and SIGSTOP. */
        signal (number, c->ignored & bit ? SIG_IGN : SIG_DFL);
        if (c->blocked & bit)
            sigaddset (&blocked, number);
    }
    sigprocmask (SIG_SETMASK, &blocked, NULL);
}

/* The variable as "NAME=number" in the place of the one that exists, or at the end. */
static int _set_variable (char **env, const char *name, int number, bool add)
{
    char *text;

    while (*env && strncmp (*env, name, strlen (name)) != 0)
        env++;
    if (!*env && !add)
        return 0;
    if (asprintf (&text, "%s%d", name, number) < 0)
        return -1;
    *env = text;
    return 0;
}

static int _set_environment (const struct capture *c, int restart)
{
    return _set_variable (c->env.item, PID_VARIABLE, getpid (), false) < 0
           || _set_variable (c->env.item, RESTART_VARIABLE, restart, true) < 0 ? -1 : 0;
}

/* Why a life has not begun. */
struct failure {
    enum { NONE, FILES, DIRECTORY, CPUS, LIMITS, PROGRAM } what;
    int error;
};

static int _set_all (const struct capture *c, int restart, int *report, struct failure *failure)
{
    int lifted[MAX_DESCRIPTORS];

    umask (c->umask);
    failure->what = FILES;
    if (_lift_descriptors (c, lifted, report) < 0 || _set_descriptors (c, lifted) < 0)
        return -1;
    failure->what = DIRECTORY;
    if (fchdir (c->cwd) < 0)
        return -1;
    failure->what = CPUS;
    if (sched_setaffinity (0, c->cpus_size, c->cpus) < 0)
        return -1;
    _take_terminal (c);
    failure->what = LIMITS;
    if (_set_limits (c) < 0)
        return -1;
    failure->what = PROGRAM;
    return _set_environment (c, restart);
}

/* NONE if the other end says nothing more. */
static struct failure _receive (int fd)
{
    struct failure failure = { .what = NONE };

    while (read (fd, &failure, sizeof (failure)) < 0 && errno == EINTR)
        ;
    return failure;
}

/*
 * This process first waits until the parent has closed its copy of `until_exec` and shuts `report` down. A
 * failure that is written to it says that this life has not begun; exec closes it.
 */
static void __attribute__ ((noreturn))
_live (const struct capture *c, int restart, pid_t parent, int report)
{
    struct failure failure = { .what = NONE };
    ssize_t n;

    prctl (PR_SET_PDEATHSIG, SIGKILL);
    if (getppid () != parent)
        _exit (1);
    _receive (report);
    if (_set_all (c, restart, &report, &failure) == 0) {
        _set_signals (c);
        execve (c->exe, c->args.item, c->env.item);
    }
    failure.error = errno;
    n = write (report, &failure, sizeof (failure));
    (void)n;
    _exit (1);
}

static int _describe (const struct failure *failure, const struct capture *c, struct errtext *err)
{
    const char *const what[] = {
        [FILES] = "its files", [DIRECTORY] = "its directory", [CPUS] = "its CPUs",
        [LIMITS] = "its limits", [PROGRAM] = c->exe,
    };

    return errtext_set (err, "%s: %s", what[failure->what], strerror (failure->error));
}

pid_t capture_restart (const struct capture *c, int restart, int until_exec, struct errtext *err)
{
    struct failure failure = { .what = NONE };
    int report[2];
    pid_t parent = getpid (), pid;

    if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, report) < 0)
        return errtext_set (err, "%s", strerror (errno));
    if ((pid = fork ()) == 0)
        _live (c, restart, parent, report[1]);
    if (pid < 0)
        failure = (struct failure){ PROGRAM, errno };
    close (report[1]);
    if (until_exec >= 0)
        close (until_exec);
    shutdown (report[0], SHUT_WR);
    if (pid > 0)
        failure = _receive (report[0]);
    close (report[0]);
    if (failure.what == NONE)
        return pid;
    while (pid > 0 && waitpid (pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return _describe (&failure, c, err);
}

void capture_destroy (struct capture *c)
{
    int saved = errno;

    if (!c)
        return;
    _free_strings (&c->args);
    _free_strings (&c->env);
    if (c->cwd >= 0)
        close (c->cwd);
    free (c);
    errno = saved;
}
