/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "descendants.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/proc.h"

/* About a second in all: a process that hangs in the kernel does not stop. */
#define STOP_ROUNDS 50
#define STOP_PAUSE_MAX_MS 20
/* A process that waits may compute at one moment, but not at each. */
#define BUSY_LOOKS 4
#define BUSY_PAUSE_MS 7

/* The processes of this machine at one moment, as far as /proc shows them. */
struct snapshot {
    struct process *process;
    size_t count, size;
};

/* Those that are left out, by ascending pid. */
static struct process *left_out;
static size_t left_out_count;

static void _add_process (struct snapshot *snapshot, const struct process *process)
{
    if (snapshot->count == snapshot->size) {
        size_t size = snapshot->size ? 2 * snapshot->size : 256;
        struct process *more = realloc (snapshot->process, size * sizeof (*more));

        if (!more)
            return;
        snapshot->process = more;
        snapshot->size = size;
    }
    snapshot->process[snapshot->count++] = *process;
}

/* The 22nd word of /proc/PID/stat; `state` is the third one. */
static unsigned long long _start (const char *state)
{
    for (int word = 3; state && word < 22; word++)
        if ((state = strchr (state, ' ')))
            state++;
    return state ? strtoull (state, NULL, 10) : 0;
}

/*
 * /proc/PID/stat is "17 (any name) S 3 ...": the state and the parent follow the name, which may
 * contain blanks and parentheses. False if the process has ended.
 */
static bool _read_stat (struct process *process, int proc)
{
    char path[32], text[512], *name_end;
    ssize_t n;
    int fd;

    snprintf (path, sizeof (path), "%d/stat", (int)process->pid);
    if ((fd = openat (proc, path, O_RDONLY | O_CLOEXEC)) < 0)
        return false;
    n = read (fd, text, sizeof (text) - 1);
    close (fd);
    text[n > 0 ? n : 0] = '\0';
    name_end = strrchr (text, ')');
    if (!name_end || strlen (name_end) < 5)
        return false;
    process->running = !strchr ("TtZX", name_end[2]);
    process->stopped = name_end[2] == 'T';
    process->busy = name_end[2] == 'R';
    process->parent = (pid_t)strtol (name_end + 4, NULL, 10);
    process->start = _start (name_end + 2);
    return true;
}

static void _add_all (struct snapshot *snapshot)
{
    DIR *dir = opendir ("/proc");
    struct dirent *entry;

    while (dir && (entry = readdir (dir))) {
        struct process process = { .pid = (pid_t)strtol (entry->d_name, NULL, 10) };

        if (process.pid > 0 && _read_stat (&process, dirfd (dir)))
            _add_process (snapshot, &process);
    }
    if (dir)
        closedir (dir);
}

struct family {
    struct snapshot *snapshot;
    pid_t parent;
};

static void _add_child (pid_t child, void *arg)
{
    const struct family *family = arg;
    const struct process process = { .pid = child, .parent = family->parent, .listed = true };

    _add_process (family->snapshot, &process);
}

/*
 * If /proc is mounted with hidepid, a setuid program is not visible in it. It is among these children, at the
 * latest when its parent has ended.
 */
static void _add_children (struct snapshot *snapshot, pid_t parent)
{
    proc_children (parent, _add_child, &(struct family){ snapshot, parent });
}

static int _by_pid (const void *a, const void *b)
{
    const struct process *p = a, *q = b;

    return p->pid < q->pid ? -1 : p->pid > q->pid;
}

/* The list of children, which was read later, knows the parent, and nothing else. */
static void _merge (struct process *process, const struct process *other)
{
    pid_t parent = other->listed ? other->parent : process->parent;

    if (process->listed)
        *process = *other;
    process->parent = parent;
}

/* By ascending pid, each once. */
static void _sort (struct snapshot *snapshot)
{
    struct process *process = snapshot->process;
    size_t n = 0;

    if (snapshot->count)
        qsort (process, snapshot->count, sizeof (*process), _by_pid);
    for (size_t i = 0; i < snapshot->count; i++)
        if (n == 0 || process[n - 1].pid != process[i].pid)
            process[n++] = process[i];
        else
            _merge (&process[n - 1], &process[i]);
    snapshot->count = n;
}

static const struct process *_find_process (const struct process *process, size_t count, pid_t pid)
{
    const struct process key = { .pid = pid };

    return count ? bsearch (&key, process, count, sizeof (key), _by_pid) : NULL;
}

/* A process ID is used again. */
static bool _is_left_out (const struct process *process)
{
    const struct process *known = _find_process (left_out, left_out_count, process->pid);

    return known && known->start == process->start;
}

/* One round is usually enough, because most children have higher pids than their parents. */
static void _mark_descendants (struct snapshot *snapshot)
{
    bool more;

    do {
        more = false;
        for (size_t i = 0; i < snapshot->count; i++) {
            struct process *p = &snapshot->process[i];
            const struct process *parent = _find_process (snapshot->process, snapshot->count, p->parent);

            if (!p->descends && !_is_left_out (p) && (p->parent == getpid () || (parent && parent->descends)))
                p->descends = more = true;
        }
    } while (more);
}

struct process *descendants_list (size_t *count, pid_t except)
{
    struct snapshot snapshot = { 0 };

    _add_all (&snapshot);
    _add_children (&snapshot, getpid ());
    if (except)
        _add_children (&snapshot, except);
    _sort (&snapshot);
    _mark_descendants (&snapshot);
    *count = 0;
    for (size_t i = 0; i < snapshot.count; i++)
        if (snapshot.process[i].descends && snapshot.process[i].pid != except)
            snapshot.process[(*count)++] = snapshot.process[i];
    return snapshot.process;
}

/* False if the process has no child but `except`. True if the kernel does not say (CONFIG_PROC_CHILDREN). */
static bool _may_have_child (pid_t pid, pid_t except)
{
    char path[64], text[64] = "", *rest;
    ssize_t n;
    int fd;

    snprintf (path, sizeof (path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
    if ((fd = open (path, O_RDONLY | O_CLOEXEC)) < 0)
        return true;
    n = read (fd, text, sizeof (text) - 1);
    close (fd);
    if (n <= 0)
        return n < 0;
    return strtol (text, &rest, 10) != except || rest[strspn (rest, " ")];
}

/* Nearly always there are none, and then a look at all processes of the node, of each task, is saved. */
bool descendants_leave_out (pid_t except)
{
    struct process *found;
    size_t count = 0;

    if (!_may_have_child (getpid (), except) && !(except && _may_have_child (except, 0)))
        return false;
    if (!(found = descendants_list (&count, except)) || count == 0) {
        free (found);
        return false;
    }
    left_out = found;
    left_out_count = count;
    return true;
}

void descendants_look (bool *stopped, bool *busy, pid_t except)
{
    *busy = true;
    for (int look = 0; *busy && look < BUSY_LOOKS; look++) {
        size_t count;
        struct process *process;

        if (look > 0)
            poll (NULL, 0, BUSY_PAUSE_MS);
        process = descendants_list (&count, except);
        *stopped = *busy = false;
        for (size_t i = 0; i < count; i++) {
            *stopped = *stopped || process[i].stopped;
            *busy = *busy || process[i].busy;
        }
        free (process);
    }
}

/* A dead process has no namespace. One that hidepid hides has no directory, and exists. */
static enum network _network (pid_t pid, const struct stat *own)
{
    char path[64];
    struct stat its;

    snprintf (path, sizeof (path), "/proc/%d/ns/net", (int)pid);
    if (stat (path, &its) == 0)
        return its.st_dev == own->st_dev && its.st_ino == own->st_ino ? NETWORK_SHARED : NETWORK_OTHER;
    if (errno != ENOENT)
        return NETWORK_UNKNOWN;
    snprintf (path, sizeof (path), "/proc/%d", (int)pid);
    return access (path, F_OK) == 0 || (kill (pid, 0) < 0 && errno == ESRCH) ? NETWORK_SHARED
                                                                             : NETWORK_UNKNOWN;
}

enum network descendants_network (pid_t except)
{
    struct stat own;
    size_t count = 0;
    struct process *process;
    enum network network = NETWORK_SHARED;

    if (stat ("/proc/self/ns/net", &own) < 0)
        return NETWORK_UNKNOWN;
    process = descendants_list (&count, except);
    for (size_t i = 0; i < count; i++) {
        enum network its = _network (process[i].pid, &own);

        if (its > network)
            network = its;
    }
    free (process);
    return network;
}

/*
 * May this process have forked since the round before? Not if it was stopped then and is stopped
 * now. In between counts, because the list of pids is read before the states: a child that was
 * forked meanwhile is missing in it.
 */
static bool _may_have_forked (const struct process *process, const struct process *before, size_t count)
{
    const struct process *known = _find_process (before, count, process->pid);

    return !known || known->running || process->running;
}

/*
 * Stop all descendants, in rounds, until none runs and none is new: a signal to a parent does not
 * reach the child that it is about to fork, but a stopped process does not fork. Returns them as
 * descendants_list () does.
 */
static struct process *_stop_all (size_t *count, pid_t except)
{
    struct process *known = NULL;
    size_t known_count = 0;
    bool again = true;

    for (int round = 1; again && round <= STOP_ROUNDS; round++) {
        struct process *process = descendants_list (count, except);

        again = false;
        for (size_t i = 0; i < *count; i++)
            if (kill (process[i].pid, SIGSTOP) == 0 && _may_have_forked (&process[i], known, known_count))
                again = true;
        /* gcc -fanalyzer is wrong: each list is a new one. */
        free (known);
        known = process;
        known_count = *count;
        if (again)
            poll (NULL, 0, round < STOP_PAUSE_MAX_MS ? round : STOP_PAUSE_MAX_MS);
    }
    return known;
}

/* Every process has its signal before one of them continues and sees another one end. */
void descendants_signal (int number, pid_t except)
{
    size_t count;
    struct process *process = _stop_all (&count, except);

    for (size_t i = 0; i < count; i++)
        kill (process[i].pid, number);
    for (size_t i = 0; i < count; i++)
        kill (process[i].pid, SIGCONT);
    free (process);
}

bool descendants_kill (pid_t except)
{
    size_t count;
    struct process *process = _stop_all (&count, except);
    bool killed = false, refused = false;

    for (size_t i = 0; i < count; i++)
        if (kill (process[i].pid, SIGKILL) == 0)
            killed = true;
        else if (errno == EPERM)
            refused = true;
    free (process);
    return killed || !refused;
}
