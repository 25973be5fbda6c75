/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Whether a log file grows. A thread looks, because a file system may take any time to answer, and a
 * supervisor must not wait for it. All signals must be blocked before it starts.
 */
#ifndef TF_LOG_GROWTH_H
#define TF_LOG_GROWTH_H

#include <stdbool.h>

#include "common/errtext.h"

struct log_growth;

/* Look at the file of this descriptor, which must stay open, every `pause_ms`. -1 and err. */
int log_growth_start (struct log_growth **lp, int fd, int pause_ms, struct errtext *err);

/* True if it has another size than at the last call, or than at the first look. NULL is fine. */
bool log_growth_seen (struct log_growth *log);

/* True if the thread waits for the file system, so that nothing is known. NULL is fine. */
bool log_growth_hangs (const struct log_growth *log);

#endif
