/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Containers that a step's tasks enter after they have registered: whether tasks can be restarted there.
 */
#ifndef TF_CONTAINERS_H
#define TF_CONTAINERS_H

#include "launch/cmdline.h"

/* In srun, when all options are read: why no task of the step can be restarted; NULL if each can. */
const char *containers_forbid_restart (const struct cmdline *options);

#endif
