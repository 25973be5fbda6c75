/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What is seen of a log file: whether it grows, and whether it ends with a traceback. A thread looks,
 * because a file system may take any time to answer, and a supervisor must not wait for it. All signals must
 * be blocked before it starts.
 */
#ifndef TF_LOG_GROWTH_H
#define TF_LOG_GROWTH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/errtext.h"
#include "protocol/failure_text.h"

struct log_growth;

/* Look at the file of this descriptor, which must stay open, every `pause_ms`. -1 and err. */
int log_growth_start (struct log_growth **lp, int fd, int pause_ms, struct errtext *err);

/* True if it has another size than at the last call, or than at the first look. NULL is fine. */
bool log_growth_seen (struct log_growth *log);

/* True if the thread waits for the file system, so that nothing is known. NULL is fine. */
bool log_growth_hangs (const struct log_growth *log);

/* Readable when log_growth_traceback () has changed. -1 for NULL. */
int log_growth_fd (const struct log_growth *log);

/*
 * The exception of the traceback with which the present life's output ends, for two seconds at least, and
 * since when, by CLOCK_MONOTONIC; no source if it ends otherwise, and for NULL.
 */
int64_t log_growth_traceback (struct log_growth *log, struct failure_text *text);

/*
 * The size of the file, as far as this host knows it: no server is asked. -1 if it is not known, and for
 * NULL.
 */
off_t log_growth_size (const struct log_growth *log);

/*
 * When what begins there, in the last 16 KiB of the file, was printed, by CLOCK_MONOTONIC, to a tenth of a
 * second; now, if that was not seen yet, and for NULL.
 */
int64_t log_growth_begun (struct log_growth *log, off_t at);

#endif
