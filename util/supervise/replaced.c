/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "replaced.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
static int _name_all (void *arg)
{
    const pid_t *pid = arg;
    char names[320], path[64], *marks;
    struct list_text list = { names, sizeof (names), ", ", 0, 0, 0 };
    FILE *variables;

    snprintf (path, sizeof (path), "/proc/%d/environ", (int)*pid);
    if ((variables = fopen (path, "re")) && (marks = _read_marks (variables))) {
        rewind (variables);
        _list (variables, marks, &list);
    }
    list_text_end (&list);
    return write (STDOUT_FILENO, names, strlen (names)) < 0;
}

bool replaced_names (pid_t pid, char *buf, size_t size)
{
    ssize_t n = child_ask ("tf-replaced", _name_all, &pid, -1, buf, size - 1, ANSWER_MS);

    buf[n > 0 ? n : 0] = '\0';
    return n > 0;
}
