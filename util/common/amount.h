/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Times and numbers as messages print them.
 */
#ifndef TF_AMOUNT_H
#define TF_AMOUNT_H

#include <stdint.h>

/* Room for one of them. */
struct amount_text {
    char text[48];
};

/* "12 s", "3 m 05 s", "31 m", "57 h 41 m". Returns the text in *room. */
const char *amount_duration (int64_t ms, struct amount_text *room);

/* "1,210", of a number that is not negative. */
const char *amount_number (int64_t number, struct amount_text *room);

#endif
