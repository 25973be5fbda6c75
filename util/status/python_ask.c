/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "python_ask.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/child.h"
#include "common/deadline.h"
#include "common/descriptors.h"
#include "common/proc.h"
#include "common/python_stack.h"

/* For all answers together: a thread that hangs in the kernel takes no signal. */
#define ANSWER_MS 3000
/* An answer is complete when it has not grown for so long. */
#define STILL_MS 50
#define STACKS_MOST (1024 * 1024)
#define SPY_MS 10000

static void __attribute__ ((format (printf, 2, 3))) _cannot (struct step_task *task, const char *fmt, ...)
{
    va_list ap;

    va_start (ap, fmt);
    vsnprintf (task->text, sizeof (task->text), fmt, ap);
    va_end (ap);
    task->known = false;
}

static void _read_stacks (struct step_task *task, const char *bytes, size_t length)
{
    task->known = python_stack_find (task->text, sizeof (task->text), bytes, length);
    if (!task->known)
        _cannot (task, "its main thread is in no file of its own");
}

/* By the signal. */

/* Its file, which another tf-status may have now. -1: it is gone. */
static int _open_stacks (const struct step_task *task, struct deadline deadline)
{
    char path[64];
    int fd;

    snprintf (path, sizeof (path), "/proc/%d/fd/%d", (int)task->pid, task->fd);
    if ((fd = open (path, O_RDWR | O_CLOEXEC)) < 0)
        return -1;
    while (flock (fd, LOCK_EX | LOCK_NB) < 0 && !deadline_passed (deadline))
        poll (NULL, 0, STILL_MS);
    return fd;
}

/* What it has written before is nobody's any more. Returns the file, or -1. */
static int _begin_stacks (const struct step_task *task, struct deadline deadline)
{
    int fd = _open_stacks (task, deadline);

    if (fd < 0)
        return -1;
    /* A signal that it does not catch would end it. */
    if (ftruncate (fd, 0) == 0 && proc_signals (task->pid, "SigCgt") & UINT64_C (1) << (task->signal - 1)
        && kill (task->pid, task->signal) == 0)
        return fd;
    close (fd);
    return -1;
}

static off_t _size (int fd)
{
    struct stat st;

    return fstat (fd, &st) == 0 ? st.st_size : 0;
}

static void _end_stacks (struct step_task *task, int fd, struct deadline deadline)
{
    static char text[STACKS_MOST];
    off_t before = -1;
    ssize_t length;

    while (_size (fd) == 0 || _size (fd) != before) {
        before = _size (fd);
        if (deadline_passed (deadline))
            break;
        poll (NULL, 0, STILL_MS);
    }
    length = pread (fd, text, sizeof (text), 0);
    close (fd);
    if (length > 0)
        _read_stacks (task, text, (size_t)length);
    else
        _cannot (task, "it does not answer within %d s; is it suspended?", ANSWER_MS / 1000);
}

/* By py-spy. */

static int _run_spy (void *arg)
{
    char pid[16];
    const char *const argv[] = { "py-spy", "dump", "--nonblocking", "--json", "--pid", pid, NULL };

    snprintf (pid, sizeof (pid), "%d", *(const int *)arg);
    execvp (argv[0], (char *const *)(uintptr_t)argv);
    dprintf (STDERR_FILENO, "its program does not import spank_tf_watchdog, and py-spy is not in PATH\n");
    return 1;
}

/* As faulthandler prints it. */
static void _add_frames (FILE *f, const json_t *thread)
{
    json_t *frame;
    size_t i;

    fputs ("Thread 0x0\n", f);
    json_array_foreach (json_object_get (thread, "frames"), i, frame) {
        const char *file = json_string_value (json_object_get (frame, "filename"));
        const char *name = json_string_value (json_object_get (frame, "name"));

        fprintf (f, "  File \"%.511s\", line %d in %.511s\n", file ? file : "?",
                 (int)json_integer_value (json_object_get (frame, "line")), name ? name : "?");
    }
}

void python_read_spy (struct step_task *task, const char *json, size_t length)
{
    json_t *threads = json_loadb (json, length, 0, NULL), *thread;
    char *text = NULL;
    size_t size = 0, i;
    FILE *f = open_memstream (&text, &size);

    if (f) {
        json_array_foreach (threads, i, thread) {
            const char *name = json_string_value (json_object_get (thread, "thread_name"));

            if ((name && strcmp (name, "MainThread") == 0) || json_array_size (threads) == 1)
                _add_frames (f, thread);
        }
        fclose (f);
    }
    _read_stacks (task, text ? text : "", size);
    free (text);
    json_decref (threads);
}

static void _spy (struct step_task *task)
{
    static char json[STACKS_MOST];
    int pid = task->pid, errors = descriptors_memory_file ("py-spy", "", 0);
    ssize_t length = child_ask ("py-spy", _run_spy, &pid, errors, json, sizeof (json), SPY_MS);
    char why[256];

    if (length > 0)
        python_read_spy (task, json, (size_t)length);
    else {
        descriptors_first_line (errors, why, sizeof (why));
        if (strcasestr (why, "permission") || strcasestr (why, "not permitted"))
            _cannot (task,
                     "py-spy may not read it (kernel.yama.ptrace_scope): import spank_tf_watchdog in it");
        else
            _cannot (task, "%s", *why ? why : "py-spy does not answer");
    }
    if (errors >= 0)
        close (errors);
}

void python_ask (struct step_task *task, int count)
{
    struct deadline deadline = deadline_in_ms (ANSWER_MS);
    int *file = calloc ((size_t)count + 1, sizeof (*file));

    /* All at once, and then each. */
    for (int i = 0; i < count && file; i++)
        file[i] = task[i].kind == STEP_TASK_ANSWERS ? _begin_stacks (&task[i], deadline) : -1;
    for (int i = 0; i < count && file; i++) {
        if (task[i].kind == STEP_TASK_OTHER)
            _cannot (&task[i], "%s is not Python", task[i].program);
        else if (file[i] >= 0)
            _end_stacks (&task[i], file[i], deadline);
        else
            _spy (&task[i]);
    }
    free (file);
}
