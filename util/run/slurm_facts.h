/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What `scontrol show config` tells of this Slurm.
 */
#ifndef TF_SLURM_FACTS_H
#define TF_SLURM_FACTS_H

#include <stdbool.h>

#include "common/port.h"

struct slurm_facts {
    struct port_ranges ports;   /* SrunPortRange, or none */
    bool appends_output;        /* JobFileAppend */
    int wait_time;              /* WaitTime in seconds; 0: there is none */
    int kill_wait;              /* KillWait in seconds; -1: it is not known */
    /*
     * Slurm's signals, except SIGKILL, reach slurmstepd's direct children only: with proctrack/cgroup, unless
     * cgroup.conf has SignalChildrenProcesses=yes (Slurm 23.11).
     */
    bool signals_only_children;
};

void slurm_facts_read (struct slurm_facts *facts, const char *text);

#endif
