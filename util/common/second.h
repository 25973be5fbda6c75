/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Users set seconds; moments and durations are in milliseconds.
 */
#ifndef TF_SECOND_H
#define TF_SECOND_H

#include <stdint.h>

/* 64 bits: an option may have more seconds than an int has milliseconds. */
#define SECOND_MS INT64_C (1000)

#endif
