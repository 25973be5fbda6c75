/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * master.log in the directory of --tf-log-dir. A child process makes the directory and writes the
 * file, because a file system may take any time for that, and the rendezvous must not wait for it.
 */
#ifndef TF_MASTER_LOG_H
#define TF_MASTER_LOG_H

#include <stdbool.h>

#include "common/errtext.h"

struct master_log;

/*
 * Open master.log in this directory, as logdir.h says. If that takes more than five seconds, go on
 * without waiting: what is written then arrives later, or never. NULL and err.
 */
struct master_log *master_log_open (const char *dir, bool append, struct errtext *err);

/*
 * Write text, which is in the file when this returns true. False if that takes more than two
 * seconds; from then on nothing waits until the child has caught up, and text that is too much for a
 * socket is dropped. Errors, as of a full disk, are ignored.
 */
bool master_log_write (struct master_log *log, const char *text);

/* DIR/master.log */
const char *master_log_path (const struct master_log *log);

/*
 * Wait up to two seconds for what is not written yet, and kill the child. It also dies with this
 * process. NULL is fine.
 */
void master_log_close (struct master_log *log);

#endif
