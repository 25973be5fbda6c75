/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "fuzz.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* What any input justifies: a task list of one-letter roles becomes items of 68 bytes each. */
#define BYTES_PER_BYTE 128
#define BYTES_AT_LEAST 8192

static size_t allowed = SIZE_MAX;
static size_t input_size;

void fuzz_fail (const char *file, int line, const char *condition)
{
    fprintf (stderr, "%s:%d: %s: false for an input of %zu bytes\n", file, line, condition, input_size);
    abort ();
}

void fuzz_allow (size_t bytes)
{
    allowed = bytes;
}

void fuzz_run (fuzz_function *target, const uint8_t *data, size_t size)
{
    uint8_t *copy;

    if (size > FUZZ_MAX_INPUT)
        return;
    CHECK (copy = malloc (size));
    if (size)
        memcpy (copy, data, size);
    input_size = size;
    fuzz_allow (BYTES_AT_LEAST + BYTES_PER_BYTE * size);
    target (copy, size);
    fuzz_allow (SIZE_MAX);
    free (copy);
}

/* The allocations of spank-tf itself; libc's own are not wrapped. */
void *__real_malloc (size_t size);
void *__wrap_malloc (size_t size);
void *__real_calloc (size_t count, size_t size);
void *__wrap_calloc (size_t count, size_t size);
void *__real_realloc (void *old, size_t size);
void *__wrap_realloc (void *old, size_t size);

void *__wrap_malloc (size_t size)
{
    CHECK (size <= allowed);
    return __real_malloc (size);
}

void *__wrap_calloc (size_t count, size_t size)
{
    CHECK (count == 0 || size <= allowed / count);
    return __real_calloc (count, size);
}

void *__wrap_realloc (void *old, size_t size)
{
    CHECK (size <= allowed);
    return __real_realloc (old, size);
}

bool fuzz_is_line (const char *text)
{
    for (const char *p = text; *p; p++)
        if (*p < 0x20 || *p > 0x7e)
            return false;
    return text[0] != '\0';
}

bool fuzz_succeeded (int rc, const struct errtext *err)
{
    CHECK (rc == 0 || (rc == -1 && fuzz_is_line (err->text)));
    return rc == 0;
}

char *fuzz_text (const uint8_t *data, size_t size)
{
    char *text = strndup ((const char *)data, size);

    CHECK (text);
    return text;
}

static char path[32];
static bool includes_itself;

const char *fuzz_file (const uint8_t *data, size_t size)
{
    static int fd = -1;

    if (fd < 0)
        CHECK ((fd = memfd_create ("fuzz", MFD_CLOEXEC)) >= 0);
    CHECK (ftruncate (fd, 0) == 0 && pwrite (fd, data, size, 0) == (ssize_t)size);
    snprintf (path, sizeof (path), "/proc/self/fd/%d", fd);
    return path;
}

void fuzz_include_itself (bool on)
{
    includes_itself = on;
}

FILE *__real_fopen (const char *name, const char *mode);
FILE *__wrap_fopen (const char *name, const char *mode);
typedef int glob_error (const char *path, int error);
int __real_glob (const char *pattern, int flags, glob_error *on_error, glob_t *found);
int __wrap_glob (const char *pattern, int flags, glob_error *on_error, glob_t *found);

FILE *__wrap_fopen (const char *name, const char *mode)
{
    if (!includes_itself)
        return __real_fopen (name, mode);
    if (!strstr (name, "missing"))
        return __real_fopen (path, mode);
    errno = ENOENT;
    return NULL;
}

int __wrap_glob (const char *pattern, int flags, glob_error *on_error, glob_t *found)
{
    if (!includes_itself)
        return __real_glob (pattern, flags, on_error, found);
    return strstr (pattern, "missing") ? GLOB_NOMATCH : __real_glob (path, flags, on_error, found);
}

char *fuzz_line (char **text)
{
    char *line = *text, *end = strchrnul (line, '\n');

    *text = *end ? end + 1 : end;
    *end = '\0';
    return line;
}

struct frame *fuzz_receive (const void *bytes, size_t length, uint32_t ceiling)
{
    struct frame_reader reader = { .ceiling = ceiling };
    struct frame *frame = NULL;
    int pair[2];

    CHECK (socketpair (AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
    CHECK (send (pair[0], bytes, length, MSG_NOSIGNAL) == (ssize_t)length);
    if (frame_read (&reader, pair[1], &frame, NULL) != 1)
        frame = NULL;
    frame_reader_clear (&reader);
    close (pair[0]);
    close (pair[1]);
    return frame;
}

struct frame *fuzz_frame (const uint8_t *data, size_t size)
{
    uint8_t *bytes = malloc (FRAME_HEADER + size + 1);
    struct frame *frame;
    size_t length = size + 1;

    CHECK (bytes);
    memcpy (bytes, (const uint8_t[]){ 'S', 'p', 'T', 'F', 0, FRAME_VERSION, 0, 0 }, 8);
    for (int i = 0; i < 4; i++)
        bytes[8 + i] = (uint8_t)(length >> (24 - 8 * i));
    for (size_t i = 0; i < size; i++)
        bytes[FRAME_HEADER + i] = data[i] == '\n' ? '\0' : data[i];
    bytes[FRAME_HEADER + size] = '\0';
    frame = fuzz_receive (bytes, FRAME_HEADER + length, FRAME_MAX_CONFIGURATION);
    CHECK (frame);
    free (bytes);
    return frame;
}

struct frame *fuzz_resend (struct frame *frame, uint32_t ceiling)
{
    struct frame *received = NULL;
    const void *bytes;
    size_t length;

    CHECK (frame && (bytes = frame_bytes (frame, 0, &length)));
    if (length - FRAME_HEADER <= ceiling)
        CHECK (received = fuzz_receive (bytes, length, ceiling));
    frame_destroy (frame);
    return received;
}

bool fuzz_same (struct frame *one, struct frame *other)
{
    size_t length, other_length;
    const void *bytes = frame_bytes (one, 0, &length);
    const void *other_bytes = frame_bytes (other, 0, &other_length);
    bool same = bytes && other_bytes && length == other_length && memcmp (bytes, other_bytes, length) == 0;

    frame_destroy (one);
    frame_destroy (other);
    return same;
}
