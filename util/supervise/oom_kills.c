/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "oom_kills.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* A cgroup's path, and what is around it. */
#define MAX_PATH (PATH_MAX + 64)

/* "hierarchical_memory_limit 9223372036854771712", rounded to pages, is none. */
#define UNLIMITED (INT64_C (1) << 62)

/* "cpu,memory": controllers that are mounted together. */
static bool _has_memory (const char *controllers, size_t length)
{
    static const char memory[] = "memory";

    for (const char *end = controllers + length; controllers < end;) {
        size_t name = strcspn (controllers, ",:");

        if (name == sizeof (memory) - 1 && strncmp (controllers, memory, name) == 0)
            return true;
        controllers += name + 1;
    }
    return false;
}

/*
 * The directory for a line of /proc/self/cgroup: "4:memory:/slurm/uid_1/job_2/step_0/task_0" of cgroup v1, or
 * "0::/system.slice/slurmstepd.scope/job_2/step_0/user/task_0" of v2. Returns the length of the part in
 * front of
 * the cgroup's path; 0 if there is none.
 */
static size_t _directory (char *directory, bool *v2, const char *mount, char *line)
{
    char *controllers = strchr (line, ':'), *path = NULL;

    line[strcspn (line, "\n")] = '\0';
    if (controllers)
        path = strchr (++controllers, ':');
    if (!path)
        return 0;
    *v2 = path == controllers;
    if (!*v2 && !_has_memory (controllers, (size_t)(path - controllers)))
        return 0;
    snprintf (directory, MAX_PATH, "%s%s%s", mount, *v2 ? "" : "/memory", path + 1);
    return strlen (mount) + (*v2 ? 0 : strlen ("/memory"));
}

/* The number behind this word in a file of the directory, or in its first line; -1: there is none. */
static int64_t _read_number (const char *directory, const char *name, const char *word)
{
    char path[MAX_PATH + 64], line[128];
    int64_t number = -1;
    FILE *f;

    snprintf (path, sizeof (path), "%s/%s", directory, name);
    f = fopen (path, "re");
    while (f && number < 0 && fgets (line, sizeof (line), f))
        if (strncmp (line, word, strlen (word)) != 0
            /* NOLINTNEXTLINE(cert-err34-c): it is the kernel's number. */
            || sscanf (line + strlen (word), "%" SCNd64, &number) != 1)
            number = -1;
    if (f)
        fclose (f);
    return number;
}

/*
 * Processes that wait for the node's memory, and not for a cgroup's, are in "allocstall_normal 12"
 * and others.
 */
static int64_t _read_stalls (const char *vmstat)
{
    FILE *f = fopen (vmstat, "re");
    int64_t stalls = -1, number;
    char line[128];

    while (f && fgets (line, sizeof (line), f))
        /* NOLINTNEXTLINE(cert-err34-c): as above */
        if (sscanf (line, "allocstall_%*s %" SCNd64, &number) == 1)
            stalls = (stalls < 0 ? 0 : stalls) + number;
    if (f)
        fclose (f);
    return stalls;
}

/* By the names that Slurm gives them. */
static enum exit_report_memory _whose (const char *name)
{
    static const struct {
        const char *begin;
        enum exit_report_memory whose;
    } row[] = {
        { "/task_", EXIT_REPORT_MEMORY_TASK },
        { "/user", EXIT_REPORT_MEMORY_STEP },
        { "/step_", EXIT_REPORT_MEMORY_STEP },
        { "/job_", EXIT_REPORT_MEMORY_JOB },
    };

    for (size_t i = 0; i < sizeof (row) / sizeof (row[0]); i++)
        if (strncmp (name, row[i].begin, strlen (row[i].begin)) == 0)
            return row[i].whose;
    return EXIT_REPORT_MEMORY_UNKNOWN;
}

/* The root has no limit: of v2 the file is not there. */
static void _read_levels (struct oom_counts *counts, char *directory, size_t root)
{
    char *name;

    counts->whole =
        counts->v2 ? true : _read_number (directory, "memory.stat", "hierarchical_memory_limit ") > UNLIMITED;
    while (strlen (directory) > root && (name = strrchr (directory + root, '/'))) {
        int64_t limit = counts->v2 ? _read_number (directory, "memory.events.local", "oom ")
                                   : _read_number (directory, "memory.failcnt", "");

        if (name[1] && counts->levels < OOM_MOST_LEVELS) {
            counts->level[counts->levels].whose = _whose (name);
            counts->level[counts->levels++].limit = (int)limit;
            counts->whole = counts->whole && (limit >= 0 || !counts->v2);
        } else if (name[1])
            counts->whole = false;
        *name = '\0';
    }
    if (counts->v2 && _read_number (directory, "memory.events.local", "oom ") >= 0)
        counts->whole = false;
}

struct oom_counts oom_kills (const char *cgroup_file, const char *mount, const char *vmstat)
{
    struct oom_counts counts = { .kills = -1 };
    char line[MAX_PATH], directory[MAX_PATH];
    FILE *f = fopen (cgroup_file, "re");
    size_t root = 0;

    while (f && counts.kills < 0 && fgets (line, sizeof (line), f))
        if ((root = _directory (directory, &counts.v2, mount, line)) > 0)
            counts.kills = (int)_read_number (directory, counts.v2 ? "memory.events" : "memory.oom_control",
                                              "oom_kill ");
    if (f)
        fclose (f);
    if (counts.kills < 0)
        return counts;
    _read_levels (&counts, directory, root);
    counts.stalls = counts.v2 ? 0 : _read_stalls (vmstat);
    return counts;
}

/*
 * The limit is that of the only level whose count has grown. In v1 it also grows when memory could be
 * freed in time:
 * there the node's memory must not have been short meanwhile.
 */
enum exit_report_memory oom_kills_verdict (const struct oom_counts *before, const struct oom_counts *now)
{
    enum exit_report_memory whose = EXIT_REPORT_MEMORY_UNKNOWN;
    int grown = 0;

    if (before->kills < 0 || now->kills <= before->kills)
        return EXIT_REPORT_MEMORY_LEFT;
    for (int i = 0; i < now->levels && i < before->levels; i++)
        if (now->level[i].limit > before->level[i].limit) {
            whose = now->level[i].whose;
            grown++;
        }
    if (now->whole && grown == 0)
        return EXIT_REPORT_MEMORY_NODE;
    if (grown != 1 || now->stalls != before->stalls || now->stalls < 0)
        return EXIT_REPORT_MEMORY_UNKNOWN;
    return whose;
}
