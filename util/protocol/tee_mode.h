/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * --tf-tee: whether the output of tasks goes to srun, too, and in colour. A part of the messages that bring
 * it from srun to tf-rendezvous, and from there to every supervisor.
 */
#ifndef TF_TEE_MODE_H
#define TF_TEE_MODE_H

#include "frame.h"

/* A sum of bits. */
enum tee_mode {
    TEE_ON = 1,
    TEE_COLOUR_STDOUT = 2,      /* srun's stdout is a terminal */
    TEE_COLOUR_STDERR = 4,
};

/* Nothing for 0. */
void tee_mode_add (struct frame *frame, int mode);

/* A frame without it has 0. -1 if it is malformed. */
int tee_mode_decode (int *mode, const struct frame *frame);

/* The same from an environment. */
int tee_mode_decode_environment (int *mode, char *const env[]);

#endif
