/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * --tf-tee: whether the output of tasks goes to srun, too, and in colour. rule_fields.h has it in messages.
 */
#ifndef TF_TEE_MODE_H
#define TF_TEE_MODE_H

/* A sum of bits. */
enum tee_mode {
    TEE_ON = 1,
    TEE_COLOUR_STDOUT = 2,      /* srun's stdout is a terminal */
    TEE_COLOUR_STDERR = 4,
};

#endif
