/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The form of every message between a task, its supervisor, the rendezvous and srun: a header
 * and strings "KEY=VALUE", each ended by NUL. Numbers in the header are big-endian.
 *
 *     "SpTF"   version: 16 bits   zero: 16 bits   length of all strings: 32 bits   strings
 *
 * Only the modules of this folder know keys; doc/protocol/ lists them. The header keeps its
 * form in every version.
 */
#ifndef TF_FRAME_H
#define TF_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "common/errtext.h"

/* It goes up when the keys of a message change (tests/unit/message_keys.golden), or what they mean. */
#define FRAME_VERSION 6
#define FRAME_HEADER 12

/*
 * The longest strings in bytes. Any process that can connect can send a first frame: a token,
 * names, a path, the ranks and the interfaces of one node. An answer holds a TF_CONFIG and the
 * addresses of auxiliary tasks (128 KiB), all addresses once more behind a proxy, and lists of nodes
 * (128 KiB). srun's configuration holds a task list (32 KiB) for each heterogeneous component. A frame that
 * announces more is refused; one that announces less gets memory as its bytes arrive.
 */
#define FRAME_MAX_REGISTRATION (28 * 1024)
#define FRAME_MAX_ANSWER (512 * 1024)
#define FRAME_MAX_CONFIGURATION (16 * 1024 * 1024)
#define FRAME_MAX_EXIT_REPORT 4096

/* The longest time in a message, in seconds; far above what an option or a site may set. */
#define FRAME_MAX_SECONDS 1000000

struct frame;

/* NULL if there is no memory. */
struct frame *frame_create (void);

/* NULL is fine; errno is kept. */
void frame_destroy (struct frame *frame);

/*
 * Append KEY=VALUE. If there is no memory the frame becomes invalid, and frame_bytes () and
 * frame_send () fail.
 */
void frame_add (struct frame *frame, const char *key, const char *fmt, ...)
    __attribute__ ((format (printf, 3, 4)));

/* Is the key in the frame? So a flag is set. */
bool frame_has (const struct frame *frame, const char *key);

/* The value of the first string with that key, or NULL. It lives as long as the frame. */
const char *frame_get (const struct frame *frame, const char *key);

/* The value of the next string with that key: a NULL value begins, NULL is returned at the end. */
const char *frame_get_next (const struct frame *frame, const char *key, const char *value);

/* All strings, one after the other: NULL begins, NULL is returned at the end. */
const char *frame_next (const struct frame *frame, const char *string);

/* The value of "KEY=VALUE" if its key is this one, else NULL. */
const char *frame_value (const char *string, const char *key);

/* The protocol version of a received frame's sender. */
int frame_version (const struct frame *frame);

/*
 * The whole frame, header included, as it is sent; NULL if it is invalid. Its header announces
 * `more` bytes of strings, which the caller sends after it.
 */
const void *frame_bytes (struct frame *frame, size_t more, size_t *length);

/* Send the whole frame within ten seconds, without SIGPIPE. -1 and err. */
int frame_send (struct frame *frame, int fd, struct errtext *err);

/* A frame that is being received. Zero it and set `ceiling`; frame_reader_clear () at the end. */
struct frame_reader {
    uint32_t ceiling;           /* bytes of strings, one of the FRAME_MAX_ above */
    uint8_t header[FRAME_HEADER];
    size_t got;                 /* bytes so far */
    size_t end;                 /* bytes of the whole frame, when its header is complete */
    struct frame *frame;
};

/*
 * Read what has arrived. 1 and *fp, the caller's, if the frame is complete; 0 if more has to come
 * (non-blocking sockets only); -1 and err if the peer closed the connection, or if the bytes are
 * not a frame or one above the ceiling.
 */
int frame_read (struct frame_reader *reader, int fd, struct frame **fp, struct errtext *err);

void frame_reader_clear (struct frame_reader *reader);

/* A frame that is sent in parts, as its receiver gets it. NULL if there is no memory. */
struct frame *frame_join (const struct iovec *part, int parts);

/* A file in memory with the frame, for another process. -1 and errno. */
int frame_store (struct frame *frame, const char *name);

/* The frame of such a file, from its beginning. NULL if it is anything else. */
struct frame *frame_load (int fd);

#endif
