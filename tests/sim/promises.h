/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What users are promised, each sentence as a function over what was seen. None of them asks the code that
 * is judged: the rules of restarts and ends stand in these files and in oracle.c once more, as the documents
 * have them. A comment at each quotes the sentence that it guards.
 */
#ifndef TF_PROMISES_H
#define TF_PROMISES_H

#include "world.h"

/* NULL if it is kept; else why it is not (oracle_tell ()). */
typedef const char *promise (const struct history *history);

/* promises_lives.c */
promise never_two_in_one_place;
promise one_dictionary;
promise all_begin_together;
promise none_is_left_out;
promise at_most_n_restarts;
promise a_covered_failure_is_followed_by_a_life;

/* promises_stops.c */
promise nothing_is_ended_without_reason;
promise a_stop_gives_its_grace;
promise what_hangs_is_aborted;
promise a_failure_gives_its_grace;
promise what_gives_signs_does_not_hang;

/* promises_host.c */
promise sruns_host_ends_its_tasks_if_it_is_cut_off;
promise a_cut_off_sruns_host_runs_no_task;

/* promises_ends.c */
promise everything_ends;
promise ends_are_told_once;
promise none_runs_when_srun_has_ended;
promise the_replaced_exit_with_0;
promise the_table_is_the_exit_codes;
promise sruns_code;
promise no_success_without_the_work;
promise the_first_failure_is_the_first;
promise the_clock_goes_on;

/* promises_ledger.c */
promise the_ledger_is_the_truth;

#endif
