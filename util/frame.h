/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A message between a rank, the rendezvous and srun: a header and strings "KEY=VALUE".
 *
 *     "SpTF"   version: 16 bits   zero: 16 bits   length: 32 bits   length bytes of strings
 *
 * Numbers are big-endian; every string ends in NUL. The header, and the keys TOKEN, RELEASE
 * and NODE of a rank's first frame, keep their form in every later version, so that two
 * versions which cannot talk can say so by name.
 */
#ifndef TF_FRAME_H
#define TF_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "errtext.h"

#define FRAME_VERSION 1
#define FRAME_HEADER 12

/*
 * Ceilings, checked before anything is allocated. A rank's first frame comes from whoever
 * can connect, and holds a token, names, a path, the ranks of one node and its interfaces. An answer holds a
 * TF_CONFIG (128 KiB), and all addresses in it once more where there is a proxy. srun's holds a list (32 KiB) per component.
 */
#define FRAME_MAX_REGISTRATION (28 * 1024)
#define FRAME_MAX_ANSWER (256 * 1024)
#define FRAME_MAX_CONFIGURATION (16 * 1024 * 1024)

struct frame;

/* NULL when there is no memory. */
struct frame *frame_create (void);
void frame_destroy (struct frame *frame);

/* Append KEY=VALUE. When memory ends the frame is broken and frame_send () says so. */
void frame_add (struct frame *frame, const char *key, const char *fmt, ...)
    __attribute__ ((format (printf, 3, 4)));

/* The value of the first string of that key, or NULL. It lives as long as the frame. */
const char *frame_get (const struct frame *frame, const char *key);

/* The same as a decimal number low..high; -1 when it is missing or anything else. */
long frame_get_number (const struct frame *frame, const char *key, long low, long high);

/* One string after the other: NULL begins, the last one returns NULL. */
const char *frame_next (const struct frame *frame, const char *string);

/* The version that the sender of a received frame speaks. */
int frame_version (const struct frame *frame);

/*
 * The whole frame, header included, as it travels; NULL when it is broken. The header
 * announces `more` bytes of strings besides, which the sender will send behind it.
 */
const void *frame_bytes (struct frame *frame, size_t more, size_t *length);

/* Send all of it within ten seconds, without SIGPIPE. -1 and err. */
int frame_send (struct frame *frame, int fd, struct errtext *err);

/* The same with a frame of one string, for which no memory is asked: 256 bytes with '=' and NUL. */
int frame_send_one (int fd, const char *key, const char *value, struct errtext *err);

/* A frame on its way in. Zero it, set `ceiling`; frame_reader_clear () when done. */
struct frame_reader {
    uint32_t ceiling;
    uint8_t header[FRAME_HEADER];
    size_t got;
    struct frame *frame;
};

/*
 * Read what is there. 1 and *fp, the caller's, when the frame is whole; 0 when more has to
 * come (a non-blocking socket only); -1 and err when the other side closed, or what it
 * sent is no frame or above the ceiling.
 */
int frame_read (struct frame_reader *reader, int fd, struct frame **fp, struct errtext *err);

void frame_reader_clear (struct frame_reader *reader);

#endif
