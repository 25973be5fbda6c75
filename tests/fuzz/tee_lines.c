/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The input is what a task prints.
 */
#include "config.h"

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "supervise/tee_lines.h"

#define NAME "w 1: "

struct result {
    char *bytes;
    size_t length;
};

static void _take (void *arg, const char *bytes, size_t length)
{
    struct result *result = arg;

    CHECK (length > 0 && (result->bytes = realloc (result->bytes, result->length + length)));
    memcpy (result->bytes + result->length, bytes, length);
    result->length += length;
}

/* In pieces of `piece` bytes. */
static struct result _lines (const char *bytes, size_t size, size_t piece)
{
    static struct tee_lines lines;
    struct result result = { NULL, 0 };

    tee_lines_init (&lines, NAME, _take, &result);
    for (size_t at = 0; at < size; at += piece) {
        tee_lines_add (&lines, bytes + at, piece < size - at ? piece : size - at);
        CHECK (lines.out == 0 && lines.held <= TEE_LINES_HELD);
    }
    tee_lines_end (&lines);
    CHECK (lines.held == 0 && !lines.open);
    return result;
}

/* Whole lines, each with the name. */
static void _check (const struct result *result)
{
    for (size_t at = 0; at < result->length;) {
        const char *end = memchr (result->bytes + at, '\n', result->length - at);

        CHECK (end && (size_t)(end - result->bytes) >= at + sizeof (NAME) - 1);
        CHECK (memcmp (result->bytes + at, NAME, sizeof (NAME) - 1) == 0);
        at = (size_t)(end - result->bytes) + 1;
    }
    CHECK (!result->bytes || !memchr (result->bytes, '\r', result->length));
}

/* No other byte than the ends of lines is lost, added or moved. */
static void _check_content (const struct result *result, const char *bytes, size_t size)
{
    size_t at = 0, name = 0;

    for (size_t i = 0; i < result->length; i++) {
        char c = result->bytes[i];

        if (name < sizeof (NAME) - 1) {
            name++;
            continue;
        }
        if (c == '\n') {
            name = 0;
            continue;
        }
        while (at < size && (bytes[at] == '\n' || bytes[at] == '\r'))
            at++;
        CHECK (at < size && bytes[at] == c);
        at++;
    }
    while (at < size && (bytes[at] == '\n' || bytes[at] == '\r'))
        at++;
    CHECK (at == size);
}

FUZZ_TARGET (tee_lines)
{
    struct result whole = _lines ((const char *)data, size, size ? size : 1);

    _check (&whole);
    _check_content (&whole, (const char *)data, size);
    for (size_t piece = 1; piece <= 3; piece++) {
        struct result again = _lines ((const char *)data, size, piece);

        CHECK (again.length == whole.length);
        CHECK (whole.length == 0 || memcmp (again.bytes, whole.bytes, whole.length) == 0);
        free (again.bytes);
    }
    free (whole.bytes);
}
