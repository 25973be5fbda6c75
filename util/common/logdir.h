/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The directory of --tf-log-dir. It has one file for each task, and master.log for the step. It may
 * be a directory of another user, or below one in which every user can create names, so nothing is written
 * through a name that another user has made: not through his symbolic or hard link, and not to his file.
 */
#ifndef TF_LOGDIR_H
#define TF_LOGDIR_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "errtext.h"

/* The variable in which srun passes the path to the tasks, with Slurm's patterns (pattern.h). */
#define LOGDIR_VARIABLE "SLURM_TF_LOG_DIR"

struct logdir {
    char path[PATH_MAX];    /* absolute */
    int fd;                 /* close-on-exec, after logdir_make () */
};

/*
 * Create the directory and its missing parents, with the caller's user and umask, and open it.
 * -1 and err if that fails, if the caller may not create files in the directory, or if `path` is a symbolic
 * link of another user than the caller and root in a directory in which every user can create names.
 */
int logdir_make (struct logdir *dir, struct errtext *err);

/* True if no other user can create names in the directory, except by his group, or as root. */
bool logdir_is_own (const struct logdir *dir);

/*
 * Open a file in the directory with O_APPEND and O_CLOEXEC. An existing file is truncated unless
 * `append` is set; it must be a regular file of the caller or root that has no other name. Where the file
 * system shows another owner of what the caller creates (NFS with all_squash, CIFS, FUSE), that owner is as
 * good. Returns the descriptor; -1 and err.
 */
int logdir_open (const struct logdir *dir, bool append, const char *name, struct errtext *err);

/*
 * The same for the first file of a step, which shows that the step uses the directory while the descriptor is
 * open (flock (2)). If another step that runs has it open, it is not truncated, and `used` is set: nothing in
 * the directory must be truncated then.
 */
int logdir_open_first (const struct logdir *dir, bool append, const char *name, bool *used,
                       struct errtext *err);

/* What separates the output of a step from that of the steps before: LOGDIR_STEP_LINE "12.1". */
#define LOGDIR_STEP_LINE "spank_tf: step "

/*
 * Write that line to the file: for the first life (0) unless the file is empty, for others LOGDIR_STEP_LINE
 * "12.1, restart 1, 2026-11-25T14:02:11+01:00", where `at` is the time. It is a line of its own also if the
 * output before does not end with one.
 */
void logdir_begin (int fd, const char *step, int life, const char *at);

/*
 * A task of which the log is was asked to end, by Slurm or its user: LOGDIR_STEP_LINE "12.1" LOGDIR_ASKED
 * "(SIGTERM) at 2026-11-25T14:02:11+01:00", and ". The last training step was 1200" if it had one.
 */
#define LOGDIR_ASKED ": asked to end "
void logdir_ask_to_end (int fd, const char *step, const char *signal, const char *at, int last_step);

#define LOGDIR_OUTPUT ".log"
#define LOGDIR_ERROR ".error.json" /* the exception that ended it, which PyTorch writes */

/*
 * A task's file with this ending: "worker12.log"; "data2-10.log" for index 10 of a role that ends in a
 * digit, because "data210.log" is another one's. Returns name.
 */
const char *logdir_task_file (char *name, size_t size, const char *role, int index, const char *ending);

/* Close the directory; its files stay open. */
void logdir_close (struct logdir *dir);

#endif
