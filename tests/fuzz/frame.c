/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The input is what arrives on a connection: frames, or anything else.
 */
#include "config.h"

#include "fuzz.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A frame's block, before a byte has arrived; above that it may be twice what has arrived. */
#define SMALLEST_BLOCK 512

/* The strings cover the frame, and each is found by its key. */
static void _check_strings (struct frame *frame, size_t length)
{
    size_t sum = 0;

    for (const char *s = frame_next (frame, NULL); s; s = frame_next (frame, s)) {
        char key[64];
        size_t key_length = strcspn (s, "=");

        sum += strlen (s) + 1;
        if (s[key_length] && key_length < sizeof (key)) {
            memcpy (key, s, key_length);
            key[key_length] = '\0';
            CHECK (frame_get (frame, key) && frame_get (frame, key) <= s + key_length + 1);
        }
    }
    CHECK (sum == length);
}

/* The frame is the first bytes of the rest of the input. Returns how many. */
static size_t _check_frame (struct frame *frame, const uint8_t *data, size_t left)
{
    size_t length;
    const uint8_t *bytes;

    CHECK (bytes = frame_bytes (frame, 0, &length));
    CHECK (length > FRAME_HEADER && length <= FRAME_HEADER + FRAME_MAX_REGISTRATION);
    CHECK (length <= left);
    CHECK (memcmp (bytes + FRAME_HEADER, data + FRAME_HEADER, length - FRAME_HEADER) == 0);
    CHECK (frame_version (frame) == (data[4] << 8 | data[5]));
    _check_strings (frame, length - FRAME_HEADER);
    frame_destroy (frame);
    return length;
}

/* Let the input arrive in pieces. Returns how many of its bytes are complete frames. */
static size_t _read_in_pieces (const uint8_t *data, size_t size, size_t piece)
{
    struct frame_reader reader = { .ceiling = FRAME_MAX_REGISTRATION };
    size_t arrived = 0, complete = 0;
    struct frame *frame;
    struct errtext err;
    int pair[2], n = 0;

    CHECK (socketpair (AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
    while (n == 0 && arrived < size) {
        size_t now = size - arrived < piece ? size - arrived : piece;

        CHECK (send (pair[0], data + arrived, now, MSG_NOSIGNAL) == (ssize_t)now);
        arrived += now;
        fuzz_allow (SMALLEST_BLOCK + 2 * (arrived - complete));
        while ((n = frame_read (&reader, pair[1], &frame, &err)) == 1)
            complete += _check_frame (frame, data + complete, arrived - complete);
        CHECK (n == 0 || (n == -1 && fuzz_is_line (err.text)));
    }
    frame_reader_clear (&reader);
    close (pair[0]);
    close (pair[1]);
    return complete;
}

FUZZ_TARGET (frame)
{
    CHECK (_read_in_pieces (data, size, 1 + size / 64) == _read_in_pieces (data, size, size));
}
