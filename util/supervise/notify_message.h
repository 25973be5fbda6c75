/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A message of systemd's protocol, sd_notify (3): lines NAME=VALUE. Any process of the user can send one.
 */
#ifndef TF_NOTIFY_MESSAGE_H
#define TF_NOTIFY_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "protocol/signs.h"

/* A longer one is cut. */
#define NOTIFY_MESSAGE_MAX 4096

struct notify_message {
    bool alive;                 /* WATCHDOG=1 */
    bool stopping;              /* STOPPING=1 */
    bool has_status;            /* STATUS=... */
    char status[SIGNS_MAX_STATUS + 1];
    int step; /* the number after the word "step" in it, or else after "epoch"; 0: none */
};

/* Other lines are ignored, and of lines with the same name the last one counts. */
void notify_message_parse (struct notify_message *message, const char *bytes, size_t length);

#endif
