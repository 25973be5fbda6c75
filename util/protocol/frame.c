/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "frame.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/deadline.h"
#include "common/descriptors.h"

/* A healthy peer reads a frame within this time. */
#define SEND_MS 10000

static const uint8_t magic[4] = { 'S', 'p', 'T', 'F' };

/* Header and strings are one block, so that a frame is sent without a copy. */
struct frame {
    uint8_t *block;
    size_t used;        /* header included */
    size_t size;
    int version;
    bool invalid;       /* memory ran out while it was made */
};

struct frame *frame_create (void)
{
    struct frame *frame = calloc (1, sizeof (*frame));

    if (frame) {
        frame->version = FRAME_VERSION;
        frame->used = FRAME_HEADER;
    }
    return frame;
}

void frame_destroy (struct frame *frame)
{
    int saved = errno;

    if (frame) {
        free (frame->block);
        free (frame);
    }
    errno = saved;
}

static bool _reserve (struct frame *frame, size_t more)
{
    size_t size = frame->size ? frame->size : 512;
    uint8_t *block;

    while (size < frame->used + more)
        size *= 2;
    if (size == frame->size)
        return true;
    if (!(block = realloc (frame->block, size)))
        return false;
    frame->block = block;
    frame->size = size;
    return true;
}

/* Print behind the key, as far as there is room; returns the full length without NUL. */
static int __attribute__ ((format (printf, 2, 0))) _print_value (struct frame *frame, const char *fmt,
                                                                 va_list ap)
{
    return vsnprintf ((char *)frame->block + frame->used, frame->size - frame->used, fmt, ap);
}

void frame_add (struct frame *frame, const char *key, const char *fmt, ...)
{
    size_t key_len = strlen (key);
    size_t size;
    va_list ap;
    int len;

    if (!_reserve (frame, key_len + 2)) {
        frame->invalid = true;
        return;
    }
    memcpy (frame->block + frame->used, key, key_len);
    frame->used += key_len;
    frame->block[frame->used++] = '=';
    size = frame->size;
    va_start (ap, fmt);
    len = _print_value (frame, fmt, ap);
    va_end (ap);
    if (len < 0 || !_reserve (frame, (size_t)len + 1)) {
        frame->invalid = true;
        frame->used -= key_len + 1;
        return;
    }
    va_start (ap, fmt);
    if (frame->used + (size_t)len >= size)
        _print_value (frame, fmt, ap);
    va_end (ap);
    frame->used += (size_t)len + 1;
}

bool frame_has (const struct frame *frame, const char *key)
{
    return frame_get (frame, key) != NULL;
}

const char *frame_next (const struct frame *frame, const char *string)
{
    const char *next, *end;

    if (!frame->block)
        return NULL;
    end = (const char *)frame->block + frame->used;
    next = string ? string + strlen (string) + 1 : (const char *)frame->block + FRAME_HEADER;
    return next < end ? next : NULL;
}

const char *frame_value (const char *string, const char *key)
{
    size_t len = strlen (key);

    return strncmp (string, key, len) == 0 && string[len] == '=' ? string + len + 1 : NULL;
}

const char *frame_get_next (const struct frame *frame, const char *key, const char *value)
{
    for (const char *s = frame_next (frame, value); s; s = frame_next (frame, s))
        if ((value = frame_value (s, key)))
            return value;
    return NULL;
}

const char *frame_get (const struct frame *frame, const char *key)
{
    return frame_get_next (frame, key, NULL);
}

int frame_version (const struct frame *frame)
{
    return frame->version;
}

static void _write_header (uint8_t *h, size_t strings)
{
    memcpy (h, magic, sizeof (magic));
    h[4] = FRAME_VERSION >> 8;
    h[5] = FRAME_VERSION & 0xff;
    h[6] = h[7] = 0;
    h[8] = (uint8_t)(strings >> 24);
    h[9] = (uint8_t)(strings >> 16);
    h[10] = (uint8_t)(strings >> 8);
    h[11] = (uint8_t)strings;
}

const void *frame_bytes (struct frame *frame, size_t more, size_t *length)
{
    if (frame->invalid || !_reserve (frame, 0))
        return NULL;
    _write_header (frame->block, frame->used - FRAME_HEADER + more);
    *length = frame->used;
    return frame->block;
}

static int _send_bytes (int fd, const uint8_t *p, size_t left, struct errtext *err)
{
    struct deadline deadline = deadline_in_ms (SEND_MS);

    while (left > 0) {
        ssize_t n = send (fd, p, left, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && (errno == EINTR || (errno == EAGAIN && deadline_wait (fd, POLLOUT, deadline))))
            continue;
        if (n < 0)
            return errtext_set (err, "%s", strerror (errno));
        p += n;
        left -= (size_t)n;
    }
    return 0;
}

int frame_send (struct frame *frame, int fd, struct errtext *err)
{
    size_t length;
    const uint8_t *bytes = frame_bytes (frame, 0, &length);

    return bytes ? _send_bytes (fd, bytes, length, err) : errtext_set (err, "%s", strerror (ENOMEM));
}

/* Of all strings, as this header says. */
static uint32_t _length (const uint8_t *h)
{
    return (uint32_t)h[8] << 24 | (uint32_t)h[9] << 16 | (uint32_t)h[10] << 8 | h[11];
}

/* The header is complete. */
static int _begin_frame (struct frame_reader *reader, struct errtext *err)
{
    const uint8_t *h = reader->header;
    uint32_t length = _length (h);

    if (memcmp (h, magic, sizeof (magic)) != 0)
        return errtext_set (err, "not a frame of spank-tf");
    if (length == 0 || length > reader->ceiling)
        return errtext_set (err, "a frame of %u bytes; 1 to %u are allowed", length, reader->ceiling);
    if (!(reader->frame = frame_create ()) || !_reserve (reader->frame, 0))
        return errtext_set (err, "%s", strerror (ENOMEM));
    memcpy (reader->frame->block, h, FRAME_HEADER);
    reader->frame->version = h[4] << 8 | h[5];
    reader->end = FRAME_HEADER + length;
    return 0;
}

/*
 * Where the next bytes go, and how many of them. The block doubles when it is full: a header that
 * announces much and sends little must not cost memory. NULL if there is none.
 */
static uint8_t *_next_bytes (struct frame_reader *reader, size_t *length)
{
    struct frame *frame = reader->frame;

    *length = FRAME_HEADER - reader->got;
    if (!frame)
        return reader->header + reader->got;
    /* gcc -fanalyzer is wrong: the frame keeps the block. */
    if (!_reserve (frame, 1))
        return NULL;
    *length = (frame->size < reader->end ? frame->size : reader->end) - reader->got;
    return frame->block + reader->got;
}

int frame_read (struct frame_reader *reader, int fd, struct frame **fp, struct errtext *err)
{
    for (;;) {
        uint8_t *bytes;
        size_t length;
        ssize_t n;

        if (!reader->frame && reader->got == FRAME_HEADER)
            return errtext_set (err, "not a frame of spank-tf");
        if (!(bytes = _next_bytes (reader, &length)))
            return errtext_set (err, "%s", strerror (ENOMEM));
        n = recv (fd, bytes, length, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return 0;
        if (n < 0)
            return errtext_set (err, "%s", strerror (errno));
        if (n == 0)
            return errtext_set (err, "the connection was closed");
        reader->got += (size_t)n;
        if (!reader->frame && reader->got == FRAME_HEADER && _begin_frame (reader, err) < 0)
            return -1;
        if (!reader->frame)
            continue;
        reader->frame->used = reader->got;
        if (reader->got < reader->end)
            continue;
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): there is a block, from _begin_frame (). */
        if (reader->frame->block[reader->end - 1] != '\0')
            return errtext_set (err, "a frame whose last string is not terminated");
        *fp = reader->frame;
        reader->frame = NULL;
        /* gcc -fanalyzer is wrong: *fp has the frame. */
        reader->got = 0;
        return 1;
    }
}

void frame_reader_clear (struct frame_reader *reader)
{
    frame_destroy (reader->frame);
    reader->frame = NULL;
    reader->got = 0;
}

struct frame *frame_join (const struct iovec *part, int parts)
{
    struct frame *frame = frame_create ();

    if (frame)
        frame->used = 0;
    for (int i = 0; frame && i < parts; i++) {
        if (!_reserve (frame, part[i].iov_len)) {
            frame_destroy (frame);
            return NULL;
        }
        if (part[i].iov_len > 0)
            memcpy (frame->block + frame->used, part[i].iov_base, part[i].iov_len);
        frame->used += part[i].iov_len;
    }
    return frame;
}

int frame_store (struct frame *frame, const char *name)
{
    size_t length;
    const void *bytes = frame_bytes (frame, 0, &length);

    if (bytes)
        return descriptors_memory_file (name, bytes, length);
    errno = ENOMEM;
    return -1;
}

struct frame *frame_load (int fd)
{
    struct frame *frame = frame_create ();
    struct stat st;
    ssize_t n = -1;

    if (frame && fstat (fd, &st) == 0 && st.st_size > FRAME_HEADER
        && st.st_size <= FRAME_HEADER + FRAME_MAX_ANSWER
        && (frame->block = malloc (frame->size = (size_t)st.st_size)))
        n = pread (fd, frame->block, frame->size, 0);
    if (n < 0 || (size_t)n != frame->size || memcmp (frame->block, magic, sizeof (magic)) != 0
        || _length (frame->block) != frame->size - FRAME_HEADER || frame->block[frame->size - 1] != '\0') {
        frame_destroy (frame);
        return NULL;
    }
    frame->used = frame->size;
    return frame;
}
