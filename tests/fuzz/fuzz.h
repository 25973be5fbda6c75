/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the fuzz targets share. A target is a function that takes any bytes, and aborts if the code
 * that reads them breaks a promise. With --enable-fuzzing each one is a program of the engine;
 * without, `replay` has all of them.
 */
#ifndef TF_FUZZ_H
#define TF_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/errtext.h"
#include "protocol/frame.h"

/* All targets: NAME is in NAME.c, its corpus in corpus/NAME. */
/* clang-format off */
#define FUZZ_TARGETS(X) \
    X (conf_file) X (contact) X (cpus) X (frame) X (interface) X (last_line) X (layout) \
    X (messages) X (netlist) X (notify_message) X (pattern) X (placeholders) X (ports) X (proxy) \
    X (rendezvous) X (site) X (srun_words) X (submission) X (tasklist) X (tee_lines)
/* clang-format on */

/* FUZZ_TARGET (name) { ... } defines one; it reads `size` bytes at `data`. */
#ifdef FUZZ_ENGINE
#define FUZZ_TARGET(name) \
    static void name##_target (const uint8_t *data, size_t size); \
    int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size); \
    int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size) \
    { \
        fuzz_run (name##_target, data, size); \
        return 0; \
    } \
    static void name##_target (const uint8_t *data, size_t size)
#else
#define FUZZ_TARGET(name) \
    void name##_target (const uint8_t *data, size_t size); \
    void name##_target (const uint8_t *data, size_t size)
#endif

typedef void fuzz_function (const uint8_t *data, size_t size);

/* In bytes. Longer inputs are not tried. */
#define FUZZ_MAX_INPUT 65536

/*
 * Call the target with a copy of the input that is exactly as long. While it runs, an allocation
 * that is larger than fuzz_allow () permits aborts; at first that is what the input can justify.
 */
void fuzz_run (fuzz_function *target, const uint8_t *data, size_t size);
void fuzz_allow (size_t bytes);

/* Abort, and print the condition, if it is false. */
#define CHECK(condition) \
    do { \
        if (!(condition)) \
            fuzz_fail (__FILE__, __LINE__, #condition); \
    } while (0)
void fuzz_fail (const char *file, int line, const char *condition) __attribute__ ((noreturn));

#define COUNT(array) (sizeof (array) / sizeof ((array)[0]))

/* True if the text is one line of printable ASCII, as every error message must be. */
bool fuzz_is_line (const char *text);

/* Check a result: 0; or -1 and an error text that is a line. Returns true for 0. */
bool fuzz_succeeded (int rc, const struct errtext *err);

/* The input as a string, to be freed: up to its first NUL. */
char *fuzz_text (const uint8_t *data, size_t size);

/* The path of a file that is the input, until the next call. */
const char *fuzz_file (const uint8_t *data, size_t size);

/* From now on fopen () opens that file instead of any other, and glob () finds nothing else. */
void fuzz_include_itself (bool on);

/* Cut a line off *text, which moves behind it. The last one is "" as often as it is asked for. */
char *fuzz_line (char **text);

/* Send the bytes to a reader. Its frame; NULL if they are not one, or if it is too long. */
struct frame *fuzz_receive (const void *bytes, size_t length, uint32_t ceiling);

/* A received frame whose strings are the lines of the input. */
struct frame *fuzz_frame (const uint8_t *data, size_t size);

/* The frame as its reader gets it, or NULL if it is too long. The first one is destroyed. */
struct frame *fuzz_resend (struct frame *frame, uint32_t ceiling);

/* True if both frames are the same bytes. Both are destroyed. */
bool fuzz_same (struct frame *one, struct frame *other);

#endif
