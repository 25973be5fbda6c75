/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "replaced.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <unistd.h>

#include "common/child.h"
#include "common/list_text.h"
#include "common/marks.h"

/* The environment is in the memory of a process, which may hang in the kernel. */
#define ANSWER_MS 2000

/* The marks of spank-tf's variables, to be freed; NULL without them. */
static char *_read_marks (FILE *variables)
{
    static const char name[] = MARKS_VARIABLE "=";
    char *line = NULL;
    size_t size = 0;

    while (getdelim (&line, &size, '\0', variables) > 0)
        if (strncmp (line, name, sizeof (name) - 1) == 0) {
            memmove (line, line + sizeof (name) - 1, strlen (line) - (sizeof (name) - 1) + 1);
            return line;
        }
    free (line);
    return NULL;
}

static void _list (FILE *variables, const char *marks, struct list_text *list)
{
    char *line = NULL;
    size_t size = 0;

    while (getdelim (&line, &size, '\0', variables) > 0) {
        size_t length = strcspn (line, "=");

        if (!line[length] || marks_find (marks, line, length, line + length + 1) != MARKS_OTHER)
            continue;
        line[length] = '\0';
        list_text_add (list, line);
    }
    free (line);
}

/* The child. */
static noreturn void _name_all (pid_t pid, pid_t parent, char *buf, size_t size)
{
    struct list_text list = { buf, size, ", ", 0, 0, 0 };
    char path[64], *marks;
    FILE *variables;

    /* In this order, or the parent's death between the two would go unnoticed. */
    prctl (PR_SET_PDEATHSIG, SIGKILL);
    if (getppid () != parent)
        _exit (1);
    snprintf (path, sizeof (path), "/proc/%d/environ", (int)pid);
    if ((variables = fopen (path, "re")) && (marks = _read_marks (variables))) {
        rewind (variables);
        _list (variables, marks, &list);
    }
    list_text_end (&list);
    _exit (write (STDOUT_FILENO, buf, strlen (buf)) < 0);
}

bool replaced_names (pid_t pid, char *buf, size_t size)
{
    pid_t parent = getpid (), child;
    ssize_t n = 0;
    int end[2];

    if (pipe2 (end, O_CLOEXEC) < 0)
        return false;
    if ((child = child_fork ("tf-replaced", (int[]){ -1, end[1], -1 }, 3)) == 0)
        _name_all (pid, parent, buf, size);
    close (end[1]);
    if (child < 0)
        close (end[0]);
    else
        n = child_answer (child, end[0], buf, size - 1, ANSWER_MS);
    buf[n > 0 ? n : 0] = '\0';
    return n > 0;
}
