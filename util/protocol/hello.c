/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "hello.h"

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
