/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "server_token.h"

#include <string.h>

void server_token_add (struct frame *frame, const char *server_token)
{
    frame_add (frame, "SERVER_TOKEN", "%s", server_token);
}

int server_token_check (const struct frame *frame, const char *server_token,
                        struct errtext *err)
{
    const char *text = frame_get (frame, "SERVER_TOKEN");

    if (text && strcmp (text, server_token) == 0)
        return 0;
    return errtext_set (err, "the program that answers there is not this step's rendezvous");
}
