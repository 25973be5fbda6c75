/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What users read of a step's ledger (job/ledger.h).
 */
#ifndef TF_LEDGER_TEXT_H
#define TF_LEDGER_TEXT_H

#include <stddef.h>

struct fact;
struct ledger;

#define LEDGER_TEXT_SIZE 512

/*
 * "60 h 00 m: 57 h 41 m of progress (96 %; step 86,120 was the last), 3 restarts cost 2 h 19 m (1,210 steps
 * twice, 31 m; noticing 18 m; starting 1 h 30 m)". Returns buf.
 */
const char *ledger_text (const struct ledger *ledger, char *buf, size_t size);

/* What a restart of all has cost: ", 12 s after the last sign of what was lost (noticing 10 s; ...)". */
const char *ledger_text_restart (const struct fact *fact, char *buf, size_t size);

#endif
