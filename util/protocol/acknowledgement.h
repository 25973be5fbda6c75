/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A task that is not supervised has its answer. Without this message the rendezvous could not tell
 * a task that has started its program from one that ended before it could read the answer.
 */
#ifndef TF_ACKNOWLEDGEMENT_H
#define TF_ACKNOWLEDGEMENT_H

#include <stdbool.h>

#include "frame.h"

/* NULL if there is no memory. */
struct frame *acknowledgement_encode (void);

bool acknowledgement_is_in (const struct frame *frame);

#endif
