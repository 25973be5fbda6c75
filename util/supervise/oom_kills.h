/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How often the kernel has killed a process because memory was exhausted.
 */
#ifndef TF_OOM_KILLS_H
#define TF_OOM_KILLS_H

/*
 * Of the memory cgroup that a file such as /proc/self/cgroup names, of cgroup v1 or v2; `mount` is where
 * cgroups are mounted. -1: it is not known.
 */
int oom_kills (const char *cgroup_file, const char *mount);

#endif
