/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Reading /proc.
 */
#ifndef TF_PROC_H
#define TF_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* True if this is the process' name, that of its program without PR_SET_NAME; also of a zombie. */
bool proc_has_name (pid_t pid, const char *name);

/* The signals of a set in /proc/PID/status, such as "SigBlk", as bits; 0 if that is not known. */
uint64_t proc_signals (pid_t pid, const char *set);

#endif
