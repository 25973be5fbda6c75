/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The values of --tf-frameworks: for which frameworks a task gets variables.
 */
#ifndef TF_FRAMEWORKS_H
#define TF_FRAMEWORKS_H

#include "choice.h"
#include "errtext.h"

enum framework {
    FRAMEWORK_TF = 1,       /* TF_CONFIG */
    FRAMEWORK_KERAS = 2,    /* what keras.distribution.initialize () of Keras 3 reads */
    FRAMEWORK_JAX = 4,      /* what jax.distributed.initialize () reads */
    FRAMEWORK_TORCH = 8,    /* what init_process_group () of PyTorch reads, as under torchrun */
    FRAMEWORK_TORCH_AUTO = 16,  /* the same, in a cluster of several processes */
};

/* The default. */
#define FRAMEWORKS_AUTO (FRAMEWORK_TF | FRAMEWORK_KERAS | FRAMEWORK_JAX | FRAMEWORK_TORCH_AUTO)

#define FRAMEWORKS_NONE "none"

/* "auto", and the names of the first four bits. */
extern const struct choice frameworks_words[];

/*
 * Parse "none", or names separated by commas, as "tf,keras,jax" or "auto"; "tensorflow" and "pytorch" are
 * names, too. *frameworks gets the bits of those that are named. -1 and err if the text is anything else.
 */
int frameworks_parse (unsigned int *frameworks, const char *text, struct errtext *err);

#endif
