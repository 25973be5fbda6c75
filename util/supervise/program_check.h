/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The program of --tf-preflight: it runs once, and its exit code 0 is good.
 */
#ifndef TF_PROGRAM_CHECK_H
#define TF_PROGRAM_CHECK_H

#include "common/errtext.h"

/*
 * Run it, and wait for its end, with stdin /dev/null. Its output is read and dropped, but for the last line,
 * which is the reason if it fails. What it leaves in the background is not waited for. -1 and err.
 */
int program_check (const char *path, struct errtext *err);

#endif
