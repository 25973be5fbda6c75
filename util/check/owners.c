/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "owners.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A path is walked as the kernel does: `done` has no symbolic link, "" is the root directory. */
struct walk {
    char done[PATH_MAX];
    char rest[2 * PATH_MAX];
};

bool owners_are_known (void)
{
    unsigned int inside = 1, outside = 1, count = 0;
    FILE *f = fopen ("/proc/self/uid_map", "re");

    /* NOLINTNEXTLINE(cert-err34-c): they are the kernel's numbers. */
    if (f && fscanf (f, "%u %u %u", &inside, &outside, &count) != 3)
        count = 0;
    if (f)
        fclose (f);
    return inside == 0 && outside == 0 && count == UINT_MAX;
}

static bool _is_first_look (struct owners *o, const struct stat *st)
{
    for (size_t i = 0; i < o->count; i++)
        if (o->seen[i].device == st->st_dev && o->seen[i].inode == st->st_ino)
            return false;
    if (o->count < OWNERS_MAX) {
        o->seen[o->count].device = st->st_dev;
        o->seen[o->count++].inode = st->st_ino;
    }
    return true;
}

static const char *_word_for (const struct stat *st)
{
    return S_ISDIR (st->st_mode) ? "directory " : S_ISLNK (st->st_mode) ? "symbolic link " : "";
}

/*
 * The members of root's group are taken for root. An ACL that lets others write shows as the group's mode.
 */
static mode_t _others_may_write (const struct stat *st, bool names)
{
    if (S_ISLNK (st->st_mode) || (S_ISDIR (st->st_mode) && st->st_mode & S_ISVTX && !names))
        return 0;
    return st->st_mode & (st->st_gid == 0 ? S_IWOTH : S_IWGRP | S_IWOTH);
}

static void _judge_owner (struct owners *o, const char *path, const struct stat *st, bool names,
                          const char *as)
{
    mode_t writable = _others_may_write (st, names);
    char who[64];

    if (!_is_first_look (o, st))
        return;
    snprintf (who, sizeof (who), "group %u", (unsigned int)st->st_gid);
    if (st->st_uid != 0 && st->st_uid != o->owner) {
        findings_add (o->findings, "owners", LEVEL_WARNING, "let it belong to root (chown -h root)",
                      "%s%s belongs to user %u, who can change %s", _word_for (st), path,
                      (unsigned int)st->st_uid, as);
        o->bad++;
    }
    if (writable) {
        findings_add (o->findings, "owners", LEVEL_WARNING, "let only root write it (chmod go-w)",
                      "%s%s has mode %04o: %s can change %s", _word_for (st), path,
                      (unsigned int)st->st_mode & 07777, writable & S_IWOTH ? "every user" : who, as);
        o->bad++;
    }
}

/*
 * Put the target of the link before the rest. False if that is too long, as in the end of links that go
 * round.
 */
static bool _follow (struct walk *w, const char *link)
{
    char target[PATH_MAX], rest[2 * PATH_MAX];
    ssize_t length = readlink (link, target, sizeof (target) - 1);

    if (length < 0)
        return false;
    target[length] = '\0';
    if (*target == '/')
        w->done[0] = '\0';
    memcpy (rest, w->rest, sizeof (rest));
    return snprintf (w->rest, sizeof (w->rest), "%s/%s", target, rest) < (int)sizeof (w->rest);
}

/* The next word of the rest, or "" at its end. */
static void _next_name (struct walk *w, char name[NAME_MAX + 1])
{
    char *rest = w->rest + strspn (w->rest, "/");
    size_t length = strcspn (rest, "/");

    snprintf (name, NAME_MAX + 1, "%.*s", (int)length, rest);
    memmove (w->rest, rest + length, strlen (rest + length) + 1);
}

static bool _is_last (const struct walk *w)
{
    return w->rest[strspn (w->rest, "/")] == '\0';
}

/* One part of the path. False at its end. */
static bool _step (struct owners *o, struct walk *w, bool names, const char *as)
{
    char name[NAME_MAX + 1], path[PATH_MAX + NAME_MAX + 2];
    struct stat st;

    _next_name (w, name);
    if (!*name)
        return false;
    if (strcmp (name, ".") == 0)
        return true;
    if (strcmp (name, "..") == 0) {
        char *slash = strrchr (w->done, '/');

        if (slash)
            *slash = '\0';
        return true;
    }
    snprintf (path, sizeof (path), "%s/%s", w->done, name);
    if (strlen (path) >= sizeof (w->done) || lstat (path, &st) < 0)
        return false;
    _judge_owner (o, path, &st, names && _is_last (w), as);
    if (S_ISLNK (st.st_mode))
        return _follow (w, path);
    memcpy (w->done, path, strlen (path) + 1);
    return true;
}

void owners_check (struct owners *o, const char *path, bool names, const char *as)
{
    struct walk walk = { .done = "" };
    struct stat st;

    if (*path != '/')
        return;
    snprintf (walk.rest, sizeof (walk.rest), "%s", path);
    if (stat ("/", &st) == 0)
        _judge_owner (o, "/", &st, false, as);
    while (_step (o, &walk, names, as))
        ;
}
