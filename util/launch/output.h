/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * --tf-log-dir in a task: its output goes to a file of its own; with --tf-tee by two pipes to its supervisor,
 * which writes it to that file and to srun (supervise/tee.h).
 */
#ifndef TF_OUTPUT_H
#define TF_OUTPUT_H

#include <stdbool.h>

#include "common/errtext.h"
#include "common/logdir.h"
#include "protocol/answer.h"

/* Make and open the directory of this name, whose patterns (Slurm's %j, %s ...) are replaced. -1 and err. */
int output_prepare (struct logdir *dir, const char *text, char *const env[], struct errtext *err);

/* The paths of a task's files in DIR. */
struct output_paths {
    char log[PATH_MAX + NAME_MAX];          /* <role><index>.log */
    char error_file[PATH_MAX + NAME_MAX]; /* for PyTorch, which follows links; "" where others make them */
};

/*
 * Fill in the paths, open the task's log file, and close DIR. If the file has an earlier step's output, a
 * line with the name of this step follows it. A close-on-exec descriptor; -1 and err.
 */
int output_open (struct output_paths *paths, struct logdir *dir, const struct answer *answer,
                 const char *step, struct errtext *err);

/* Where the output goes. All descriptors are close-on-exec. */
struct output {
    int log; /* -1: the output goes where Slurm lets it go */
    bool tee; /* by these pipes, one for stdout and one for stderr */
    int reading[2], writing[2];
    int watch; /* watch_socket.h, for the supervisor; -1: none */
};

/* Make the pipes. -1 and err. */
int output_tee (struct output *output, struct errtext *err);

/* In the task: let stdout and stderr go there, and close everything else. */
void output_redirect (const struct output *output);

#endif
