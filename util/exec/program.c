/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "program.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* If PATH is not set; execvp(3) uses the same. */
#define DEFAULT_PATH "/bin:/usr/bin"

static int _explain_size (const char *file, char *const argv[], struct errtext *err)
{
    size_t longest = 0, bytes = 0, count = 0;

    for (; argv[count]; count++) {
        size_t length = strlen (argv[count]);

        bytes += length + 1;
        longest = length > longest ? length : longest;
    }
    errtext_set (err, "%.700s: %s: %zu arguments of %zu bytes, the longest %zu", file, strerror (E2BIG),
                 count, bytes, longest);
    return PROGRAM_NOT_EXECUTABLE;
}

static bool _exists (const char *file)
{
    return access (file, F_OK) == 0;
}

/* Fill in why execv () failed. Returns the exit code. */
static int _explain (const char *file, char *const argv[], int why, struct errtext *err)
{
    if (why == E2BIG)
        return _explain_size (file, argv, err);
    if (why == ENOENT && _exists (file)) {
        errtext_set (err, "%.700s: the interpreter in its first line was not found", file);
        return PROGRAM_NOT_EXECUTABLE;
    }
    errtext_set (err, "%.700s: %s", file, strerror (why));
    return why == ENOENT || why == ENOTDIR ? PROGRAM_NOT_FOUND : PROGRAM_NOT_EXECUTABLE;
}

/* True if the search in PATH goes on after this error. */
static bool _may_be_elsewhere (const char *file, int why)
{
    return why == EACCES || why == ENOTDIR || why == ENODEV || why == ESTALE || why == ETIMEDOUT
           || why == ENAMETOOLONG || (why == ENOENT && !_exists (file));
}

static int _search (char *const argv[], const char *path, struct errtext *err)
{
    char file[PATH_MAX], denied[PATH_MAX] = "";

    for (const char *dir = path; dir; dir = strchr (dir, ':') ? strchr (dir, ':') + 1 : NULL) {
        int len = (int)strcspn (dir, ":"), why;

        if (snprintf (file, sizeof (file), "%.*s%s%s", len, dir, len ? "/" : "", argv[0])
            >= (int)sizeof (file))
            continue;
        execv (file, argv);
        why = errno;
        if (!_may_be_elsewhere (file, why))
            return _explain (file, argv, why, err);
        /* If the user may not enter the directory, the file counts as not found. */
        if (why == EACCES && !denied[0] && _exists (file))
            strcpy (denied, file);
    }
    if (denied[0])
        return _explain (denied, argv, EACCES, err);
    errtext_set (err, "%.700s: not found in PATH", argv[0]);
    return PROGRAM_NOT_FOUND;
}

int program_execute (char *const argv[], struct errtext *err)
{
    const char *path = getenv ("PATH");

    if (!argv[0][0]) {
        errtext_set (err, "the program's name is empty");
        return PROGRAM_NOT_FOUND;
    }
    if (!strchr (argv[0], '/'))
        return _search (argv, path ? path : DEFAULT_PATH, err);
    execv (argv[0], argv);
    return _explain (argv[0], argv, errno, err);
}
