/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "hello.h"

#include <string.h>

#include "contact.h"

void hello_encode (struct frame *frame, const struct hello *hello)
{
    frame_add (frame, "TOKEN", "%s", hello->token);
    frame_add (frame, "RELEASE", "%s", PACKAGE_VERSION);
    frame_add (frame, "NODE", "%s", hello->node);
    frame_add_flag (frame, "RECONNECTS", hello->reconnects);
}

void hello_decode (struct hello *hello, const struct frame *frame)
{
    *hello = (struct hello){
        .token = frame_get (frame, "TOKEN"),
        .release = frame_get (frame, "RELEASE"),
        .node = frame_get (frame, "NODE"),
        .reconnects = frame_has (frame, "RECONNECTS"),
        .version = frame_version (frame),
    };
}

bool hello_shows (const struct hello *hello, const char *token)
{
    unsigned char differ = 0;

    if (!hello->token || strlen (hello->token) != CONTACT_TOKEN - 1)
        return false;
    for (int i = 0; i < CONTACT_TOKEN - 1; i++)
        differ |= (unsigned char)(hello->token[i] ^ token[i]);
    return differ == 0;
}

void server_token_add (struct frame *frame, const char *server_token)
{
    frame_add (frame, "SERVER_TOKEN", "%s", server_token);
}

int server_token_check (const struct frame *frame, const char *server_token, struct errtext *err)
{
    const char *text = frame_get (frame, "SERVER_TOKEN");

    if (text && strcmp (text, server_token) == 0)
        return 0;
    return errtext_set (err, "the program that answers there is not this step's rendezvous");
}
