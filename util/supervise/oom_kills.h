/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How often the kernel has killed a process because memory was exhausted, and whose limit that was: of a
 * task, a step
 * or a job, by its cgroup, or of the node.
 */
#ifndef TF_OOM_KILLS_H
#define TF_OOM_KILLS_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol/exit_report.h"

/* Slurm has 6 levels of cgroups below the root, systemd some more. */
#define OOM_MOST_LEVELS 16

/* What the kernel counts for the memory cgroup of a process, and for those above it. */
struct oom_counts {
    int kills;                  /* -1: it cannot be read, and nothing is known */
    bool v2;
    int levels;                 /* from its own cgroup up */
    struct {
        int limit;              /* how often memory was refused here; -1: not known */
        enum exit_report_memory whose;
    } level[OOM_MOST_LEVELS];
    bool whole;                 /* v2: up to the root. v1: no level has a limit */
    int64_t stalls; /* v1: how often a process has waited for the node's memory; -1: not known */
};

/*
 * For the cgroup that a file such as /proc/self/cgroup names, of cgroup v1 or v2; `mount` is where cgroups
 * are mounted, `vmstat` is /proc/vmstat.
 */
struct oom_counts oom_kills (const char *cgroup_file, const char *mount, const char *vmstat);

/* Has it killed a process between the two, and whose limit was that, if it is certain? */
enum exit_report_memory oom_kills_verdict (const struct oom_counts *before, const struct oom_counts *now);

#endif
