/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct proc_path proc_path (pid_t pid, const char *fmt, ...)
{
    struct proc_path path;
    int used = snprintf (path.text, sizeof (path.text), "/proc/%d/", (int)pid);
    va_list ap;

    va_start (ap, fmt);
    vsnprintf (path.text + used, sizeof (path.text) - (size_t)used, fmt, ap);
    va_end (ap);
    return path;
}

int proc_read_link (const char *path, char *text, size_t size, struct errtext *err)
{
    ssize_t n = readlink (path, text, size);

    if (n < 0 || n == (ssize_t)size)
        return errtext_set (err, "%s: %s", path, strerror (n < 0 ? errno : ENAMETOOLONG));
    text[n] = '\0';
    return 0;
}

/* -1 and errno. */
static int _grow (char **bytes, size_t *room)
{
    size_t more = *room ? 2 * *room : 64 * 1024ul;
    char *larger = more > PROC_MAX_BYTES ? NULL : realloc (*bytes, more);

    if (!larger) {
        errno = ENOMEM;
        return -1;
    }
    *bytes = larger;
    *room = more;
    return 0;
}

/* All that is left to read, or NULL and errno. */
static char *_read_all (int fd, size_t *length)
{
    char *bytes = NULL;
    size_t room = 0;
    ssize_t n = 1;

    for (*length = 0; n > 0; *length += n > 0 ? (size_t)n : 0)
        n = *length == room && _grow (&bytes, &room) < 0 ? -1 : read (fd, bytes + *length, room - *length);
    if (n == 0)
        return bytes;
    free (bytes);
    return NULL;
}

char *proc_read_file (const char *path, size_t *length, struct errtext *err)
{
    int fd = open (path, O_RDONLY | O_CLOEXEC);
    char *bytes = fd < 0 ? NULL : _read_all (fd, length);

    if (!bytes)
        errtext_set (err, "%s: %s", path, strerror (errno));
    if (fd >= 0)
        close (fd);
    return bytes;
}

int proc_status_number (uint64_t *value, pid_t pid, const char *line, int base)
{
    FILE *f = fopen (proc_path (pid, "status").text, "re");
    size_t length = strlen (line);
    char text[256];
    int rc = -1;

    while (f && rc < 0 && fgets (text, sizeof (text), f))
        if (strncmp (text, line, length) == 0 && text[length] == ':') {
            *value = strtoull (text + length + 1, NULL, base);
            rc = 0;
        }
    if (f)
        fclose (f);
    return rc;
}

bool proc_has_name (pid_t pid, const char *name)
{
    FILE *f = fopen (proc_path (pid, "comm").text, "re");
    char text[64] = "";
    bool read = f && fgets (text, sizeof (text), f);

    if (f)
        fclose (f);
    return read && strncmp (text, name, strlen (name)) == 0 && text[strlen (name)] == '\n';
}
