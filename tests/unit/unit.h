/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the unit tests share: cmocka, the macros TEST and SKIP, and reproducible random text.
 */
#ifndef TF_UNIT_H
#define TF_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TEST(name) static void name (void **unused __attribute__ ((unused)))

/* Skip the test and print the reason; cmocka counts it as skipped. */
#define SKIP(reason) do { print_message ("skipped: %s\n", reason); skip (); } while (0)

/* cmocka 2 has other names for its own than cmocka 1. */
#define assert_between(value, low, high) \
    assert_true ((long long)(value) >= (low) && (long long)(value) <= (high))

static inline bool is_under_valgrind (void)
{
    const char *preload = getenv ("LD_PRELOAD");

    return preload && strstr (preload, "vgpreload");
}

/*
 * Check each line of a golden file that is neither empty nor a comment. Returns how many there are.
 * The function may change the text.
 */
static inline int check_golden_file (const char *path, void (*check_line) (char *text, int number))
{
    FILE *file = fopen (path, "re");
    char text[256];
    int checked = 0;

    assert_non_null (file);
    for (int number = 1; fgets (text, sizeof (text), file); number++)
        if (text[0] != '#' && text[0] != '\n') {
            check_line (text, number);
            checked++;
        }
    fclose (file);
    return checked;
}

#define COUNT(array) (sizeof (array) / sizeof ((array)[0]))

/* The number of random strings that a fuzz test tries. */
#define FUZZ_ROUNDS 100000
#define FUZZ_SEED UINT64_C (0x5370544600000001)

/* xorshift64*: the same numbers on every machine, so that a failure can be reproduced. */
static inline uint32_t fuzz_next (uint64_t *seed)
{
    *seed ^= *seed >> 12;
    *seed ^= *seed << 25;
    *seed ^= *seed >> 27;
    return (uint32_t)(*seed * UINT64_C (0x2545f4914f6cdd1d) >> 32);
}

/*
 * Write a random string of at most `max` characters to `text`, which has room for them and a NUL.
 * It is made of parts of `words`, a list separated by blanks; one time in 64 any other byte is
 * used instead.
 */
static inline void fuzz_text (uint64_t *seed, char *text, size_t max, const char *words)
{
    size_t length = fuzz_next (seed) % (max + 1), used = 0;

    while (used < length) {
        const char *word = words + fuzz_next (seed) % strlen (words);
        size_t n = strcspn (word, " ");

        if (fuzz_next (seed) % 64 == 0)
            text[used++] = (char)(fuzz_next (seed) % 255 + 1);
        else {
            n = n < length - used ? n : length - used;
            memcpy (text + used, word, n);
            used += n;
        }
    }
    text[used] = '\0';
}

/* True if the text is one non-empty line of printable ASCII, as every error message must be. */
static inline bool is_line (const char *text)
{
    for (const char *p = text; *p; p++)
        if (*p < 0x20 || *p > 0x7e)
            return false;
    return text[0] != '\0';
}

#endif
