/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * srun's side of a launch: check the options, reserve the rendezvous' port, export how tasks
 * reach it, start tf-rendezvous. The options in force are options.h's.
 */
#ifndef TF_SRUN_SIDE_H
#define TF_SRUN_SIDE_H

#include <stdbool.h>

#include "cmdline.h"
#include "common/errtext.h"
#include "common/port.h"

/* What is known of srun, and of its Slurm. */
struct srun_facts {
    struct cmdline line;        /* its command line */
    struct cmdline options;     /* of it the options, of all components so far */
    int components;             /* so many */
    bool no_kill;               /* the last one has --no-kill, which each inherits */
    bool lacks_no_kill;         /* one of them lacks it */
    bool has_later;             /* there is another component */
    int group;                  /* the highest --het-group of the component before */
    bool descends;              /* the lowest one of a component was lower than that */
    const char *program;        /* that of the step, or NULL */
    struct port_ranges ports;   /* SrunPortRange, or none */
    bool appends_output;        /* JobFileAppend */
    bool debugged;              /* it runs under a parallel debugger */
    int wait_time;              /* WaitTime, the default of --wait; 0: there is none */
    const char *no_restart;     /* why no task of the step can be restarted; NULL if each can */
};

/* Call it for one component after the other, with its words; the first one is a name, and no option. */
void srun_side_add_component (struct srun_facts *facts, const struct cmdline *own);

/* An interactive shell keeps the variables of the srun that started it: remove them. */
void srun_side_reset (void);

/*
 * Before a step exists, when the options of a component are complete: check them, and export the contact.
 * With several components each call exports what is in force by then. -1 and err.
 */
int srun_side_prepare (const struct srun_facts *facts, struct errtext *err);

/*
 * Start the rendezvous of this step, "12.0"; NULL: its tasks will tell. Prints what the user may not expect
 * of the options. Returns a descriptor, as rendezvous_start (); -1 and err.
 */
int srun_side_start (const struct srun_facts *facts, const char *step, struct errtext *err);

/* The exit code of srun, sbatch and salloc for errors of their own. */
int srun_side_error_code (void);

#endif
