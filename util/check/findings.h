/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What tf-check has found: one line for each fact, with what to do if it is not as it should be.
 */
#ifndef TF_FINDINGS_H
#define TF_FINDINGS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* They are the exit codes too. */
enum level {
    LEVEL_OK,
    LEVEL_WARNING,
    LEVEL_ERROR,
};

struct finding {
    const char *check;      /* what was looked at, in JSON: "plugstack" */
    enum level level;
    char text[512];         /* printable (common/printable.h) */
    char advice[256];       /* what to do; "" if the level is LEVEL_OK */
};

#define FINDINGS_MAX 256

/* Zero it before use. A finding beyond FINDINGS_MAX is dropped, but its level counts. */
struct findings {
    size_t count;
    enum level worst;
    struct finding finding[FINDINGS_MAX];
};

void findings_ok (struct findings *findings, const char *check, const char *fmt, ...)
    __attribute__ ((format (printf, 3, 4)));

/* `advice` says what to do: "install it again". */
void findings_add (struct findings *findings, const char *check, enum level level, const char *advice,
                   const char *fmt, ...) __attribute__ ((format (printf, 5, 6)));

/* Print a line for each: "warning: ib0 is down; set it up". `quiet`: not those that are ok. */
void findings_print (const struct findings *findings, bool quiet, const char *prefix, FILE *to);

/* An array of objects. NULL if there is no memory. */
json_t *findings_json (const struct findings *findings);

/* "ok", "warning", "error" */
const char *level_name (enum level level);

#endif
