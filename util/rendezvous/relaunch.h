/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Ranks that waited start their next life, or are let go. restarts.h says which, and when.
 */
#ifndef TF_RELAUNCH_H
#define TF_RELAUNCH_H

#include "shutdown.h"

/* Do what is due by now. */
void relaunch_check (struct server *server);

#endif
