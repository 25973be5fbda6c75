/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Decimal numbers in text. strtol () also accepts leading blanks, a sign and trailing text.
 */
#ifndef TF_NUMBER_H
#define TF_NUMBER_H

#include <stdint.h>

/*
 * Parse a text that is one or more decimal digits, with a value low..high, where low >= 0.
 * -1 if it is anything else or NULL; *number is unchanged then.
 */
int number_parse (int *number, const char *text, int low, int high);

/* The same for the number of a job, a user or a group, which has 32 bits. -1 if it is anything else. */
int number_parse_id (uint32_t *id, const char *text);

/*
 * Parse the digits at *text and move *text behind them. `high` is less than INT_MAX; every value
 * above it is returned as high + 1. -1, and *text is unchanged, if there is no digit.
 */
int number_scan (const char **text, int high);

#endif
