/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "tee_mode.h"

#include "common/number.h"
#include "common/variables.h"

static const char key[] = "TEE";

void tee_mode_add (struct frame *frame, int mode)
{
    if (mode)
        frame_add (frame, key, "%d", mode);
}

static int _parse (int *mode, const char *text)
{
    *mode = 0;
    return text ? number_parse (mode, text, TEE_ON, TEE_ON + TEE_COLOUR_STDOUT + TEE_COLOUR_STDERR) : 0;
}

int tee_mode_decode (int *mode, const struct frame *frame)
{
    return _parse (mode, frame_get (frame, key));
}

int tee_mode_decode_environment (int *mode, char *const env[])
{
    return _parse (mode, variable_get (env, key));
}
