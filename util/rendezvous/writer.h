/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A child process that writes text for the rendezvous, which must not wait for a file, a pipe or a
 * terminal that hangs. (A write () to a file on a frozen file system blocks even though poll ()
 * says that it does not.) Text arrives in the order of writer_put ().
 *
 * What the child has not taken yet is kept in this process, up to 1 MiB. Text that is more than that is
 * dropped; as soon as there is room again, a line in its place says how much. One text alone may be
 * longer.
 *
 * The child ends when the writer is closed, or this process dies, and all that it has got is written,
 * or cannot be written any more.
 */
#ifndef TF_WRITER_H
#define TF_WRITER_H

#include <stdbool.h>

#include "common/errtext.h"

struct writer;

/*
 * Returns the descriptor to write to, and err may have a text about it; -1 and err. Any descriptor above 2 is
 * closed in the child.
 */
typedef int writer_open (const void *arg, struct errtext *err);

/*
 * Start the child, which calls open (arg) and then has text to write. It does not wait for that. NULL
 * and err if there is no child.
 */
struct writer *writer_create (writer_open *open, const void *arg, struct errtext *err);

/*
 * Wait so long for the child's open (); before the first writer_put (). -1 and err if it has failed; 0 also
 * if it takes longer. err->text is "" then, or what open () has said.
 */
int writer_await_open (struct writer *writer, int ms, struct errtext *err);

/*
 * Write text: one or more lines. A line is one write (), unless it is longer than 32 KiB or, if this
 * is not a file, than a pipe takes at once (4 KiB). On a terminal in raw mode each line ends in
 * "\r\n". Errors, as of a full disk, are ignored. Never blocks.
 */
void writer_put (struct writer *writer, const char *text);

/* With all functions below: NULL has nothing to write, and is fine. */

/*
 * Give the child what it takes. To be called now and then while writer_is_busy (). Never blocks. False if the
 * child has ended too early.
 */
bool writer_pump (struct writer *writer);

/* Something is not written yet. */
bool writer_is_busy (const struct writer *writer);

/* ... and not even with the child. */
bool writer_keeps (const struct writer *writer);

/*
 * Wait until all is written. False if that takes more than two seconds; then do not wait again until
 * the child has caught up.
 */
bool writer_flush (struct writer *writer);

/* Something is not written, and has not been for long enough: do not wait for it. */
bool writer_is_late (const struct writer *writer);
void writer_set_late (struct writer *writer);

/* Flush, and end the child when it has written everything. */
void writer_close (struct writer *writer);

#endif
