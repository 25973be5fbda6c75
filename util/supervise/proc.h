/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Reading /proc.
 */
#ifndef TF_PROC_H
#define TF_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/errtext.h"

/* More than Linux accepts for the arguments and the environment of a program: 3/4 of 8 MiB. */
#define PROC_MAX_BYTES (8 << 20)

struct proc_path {
    char text[64];
};

/* "/proc/PID/" and what follows. */
struct proc_path proc_path (pid_t pid, const char *fmt, ...) __attribute__ ((format (printf, 2, 3)));

/* -1 and err. */
int proc_read_link (const char *path, char *text, size_t size, struct errtext *err);

/* All bytes of a file, to be freed; NULL and err if it has more than PROC_MAX_BYTES. */
char *proc_read_file (const char *path, size_t *length, struct errtext *err);

/* True if this is the process' name, that of its program without PR_SET_NAME; also of a zombie. */
bool proc_has_name (pid_t pid, const char *name);

/*
 * A number in /proc/PID/status: the line "SigBlk" in base 16, or "Umask" in base 8. -1 if the line is
 * missing, or the process; then *value is unchanged.
 */
int proc_status_number (uint64_t *value, pid_t pid, const char *line, int base);

#endif
