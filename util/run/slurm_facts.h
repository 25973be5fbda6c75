/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What tf-run needs of Slurm's configuration.
 */
#ifndef TF_SLURM_FACTS_H
#define TF_SLURM_FACTS_H

#include <stdbool.h>

#include "common/port.h"

struct slurm_facts {
    bool known;                 /* false: the others are not */
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

/*
 * From this slurm.conf and the cgroup.conf beside it. They are not known if the path is NULL, or one of the
 * files cannot be read; a cgroup.conf that does not exist is empty.
 */
void slurm_facts_read_files (struct slurm_facts *facts, const char *slurm_conf);

/* From what `scontrol show config` prints; the text is cut up. */
void slurm_facts_read_text (struct slurm_facts *facts, char *text);

#endif
