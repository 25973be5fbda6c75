/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "acknowledgement.h"

struct frame *acknowledgement_encode (void)
{
    struct frame *frame = frame_create ();

    if (frame)
        frame_add_flag (frame, "ACKNOWLEDGED", true);
    return frame;
}

bool acknowledgement_is_in (const struct frame *frame)
{
    return frame_has (frame, "ACKNOWLEDGED");
}
