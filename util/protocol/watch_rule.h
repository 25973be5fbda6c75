/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * --tf-watchdog: how long a task may be silent. rule_fields.h has it in messages.
 */
#ifndef TF_WATCH_RULE_H
#define TF_WATCH_RULE_H

#include <stdbool.h>

struct watch_rule {
    int seconds;                /* between two signs of life; 0: there is no watchdog */
    int first;                  /* from the start of a program to its second one, 1 or more */
    bool learns;                /* auto: seconds is the least, and the job decides (job/watchdog.h) */
};

#endif
