/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "conf_file.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define BLANKS " \t\r\n"

/* A file that includes itself ends here; in Slurm, srun dies of it. */
#define MAX_DEPTH 8

struct reading {
    const char *path;       /* of the first file, beside which the others are */
    conf_file_setting *setting;
    void *arg;
    char cluster[64];       /* ClusterName, which "%c" stands for in the names of included files */
};

int conf_file_beside (char *to, const char *file, const char *name, struct errtext *err)
{
    const char *slash = strrchr (file, '/');
    int directory = slash && *name != '/' ? (int)(slash + 1 - file) : 0;

    if (snprintf (to, PATH_MAX, "%.*s%s", directory, file, name) < PATH_MAX)
        return 0;
    return errtext_set (err, "%s: the path of an included file is too long", file);
}

/* Slurm writes it in small letters. */
static void _note_cluster (struct reading *reading, const char *name)
{
    size_t length = strnlen (name, sizeof (reading->cluster) - 1);

    for (size_t i = 0; i < length; i++)
        reading->cluster[i] = (char)tolower ((unsigned char)name[i]);
    reading->cluster[length] = '\0';
}

/* A value may be in quotes; blanks may be around the "=". */
static void _take_settings (struct reading *reading, char *key)
{
    while (*key) {
        size_t length = strcspn (key, "=" BLANKS);
        char *value = key + length + strspn (key + length, BLANKS), *end = value;

        if (*value == '=') {
            value += 1 + strspn (value + 1, BLANKS);
            end = *value == '"' ? strchrnul (++value, '"') : value + strcspn (value, BLANKS);
            key[length] = '\0';
            if (*end)
                *end++ = '\0';
            if (strcasecmp (key, "ClusterName") == 0)
                _note_cluster (reading, value);
            reading->setting (reading->arg, key, value);
        }
        key = end + strspn (end, BLANKS);
    }
}

/* Cut a line off, with those in which it goes on, without comments. *text moves behind it. */
static char *_cut_conf_line (char **text)
{
    char *line = *text, *from = line, *to = line;
    bool goes_on = true;

    while (goes_on && *from) {
        size_t length = strcspn (from, "#\r\n");

        goes_on = length > 0 && from[length] != '#' && from[length - 1] == '\\';
        memmove (to, from, length - goes_on);
        to += length - goes_on;
        from += strcspn (from, "\n");
        from += *from == '\n';
    }
    *text = from;
    *to = '\0';
    return line;
}

/* The name of an included file, with the cluster's for each "%c"; -1 and err. */
static int _expand (char to[PATH_MAX], const struct reading *reading, const char *name, struct errtext *err)
{
    size_t used = 0;

    for (const char *c = name; *c; c++) {
        bool cluster = strncmp (c, "%c", 2) == 0;
        size_t length = cluster ? strlen (reading->cluster) : 1;

        if (used + length >= PATH_MAX)
            return errtext_set (err, "%s: the path of an included file is too long", reading->path);
        memcpy (to + used, cluster ? reading->cluster : c, length);
        used += length;
        c += cluster;
    }
    to[used] = '\0';
    return 0;
}

static int _read_conf_file (struct reading *reading, const char *path, int depth, struct errtext *err);

static int _take_conf_line (struct reading *reading, char *line, int depth, struct errtext *err)
{
    char *key = line + strspn (line, BLANKS), *name, path[PATH_MAX], whole[PATH_MAX];

    if (strncasecmp (key, "include", 7) != 0 || !key[7] || !strchr (BLANKS, key[7])) {
        _take_settings (reading, key);
        return 0;
    }
    name = key + 7 + strspn (key + 7, BLANKS);
    name[strcspn (name, BLANKS)] = '\0';
    if (_expand (whole, reading, name, err) < 0 || conf_file_beside (path, reading->path, whole, err) < 0)
        return -1;
    return _read_conf_file (reading, path, depth + 1, err) == 0 ? 0 : -1;
}

static int _read_conf_file (struct reading *reading, const char *path, int depth, struct errtext *err)
{
    FILE *f = depth < MAX_DEPTH ? fopen (path, "re") : NULL;
    char *text = NULL, *rest;
    size_t size = 0;
    int rc = 0;

    if (depth >= MAX_DEPTH)
        return errtext_set (err, "%s: it includes itself", path);
    if (!f) {
        rc = errno == ENOENT ? 1 : -1;
        errtext_set (err, "%s: %s", path, strerror (errno));
        return rc;
    }
    /* Of an empty file it sets nothing in the memory that it allocates. */
    rest = getdelim (&text, &size, '\0', f) < 0 ? NULL : text;
    if (ferror (f))
        rc = errtext_set (err, "%s: %s", path, strerror (errno));
    while (rc == 0 && rest && *rest)
        rc = _take_conf_line (reading, _cut_conf_line (&rest), depth, err);
    free (text);
    fclose (f);
    return rc;
}

int conf_file_read (const char *path, conf_file_setting *setting, void *arg, struct errtext *err)
{
    struct reading reading = { path, setting, arg, "" };

    return _read_conf_file (&reading, path, 0, err);
}
