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
struct past_runs;

#define LEDGER_TEXT_SIZE 512

/*
 * "60 h 00 m in total, 57 h 41 m (96 %) new training steps (last: 86,120), 10 m start-up, 2 h 09 m for 3
 * restarts (repeating 1,210 steps 31 m, detection 18 m, pauses 12 s, start-up 1 h 20 m)". Returns buf.
 */
const char *ledger_text (const struct ledger *ledger, char *buf, size_t size);

/* The same of all runs of a job (protocol/slurm_job.h). */
const char *ledger_text_runs (const struct past_runs *runs, char *buf, size_t size);

/* What a restart of all has cost: ", 12 s after the last answer of a lost task (detection 10 s, ...)". */
const char *ledger_text_restart (const struct fact *fact, char *buf, size_t size);

#endif
