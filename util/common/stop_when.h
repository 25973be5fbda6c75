/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The values of --tf-stop. rendezvous/stop_policy.h describes what each of them does.
 */
#ifndef TF_STOP_WHEN_H
#define TF_STOP_WHEN_H

#include "errtext.h"

enum stop_when {
    STOP_WHEN_AUTO,
    STOP_WHEN_CHIEF,
    STOP_WHEN_WORKERS,
    STOP_WHEN_NEVER,
};

/* Parse "auto", "chief", "workers" or "never". -1 and err if the text is anything else. */
int stop_when_parse (enum stop_when *when, const char *text, struct errtext *err);

const char *stop_when_name (enum stop_when when);

#endif
