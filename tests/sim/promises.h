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
promise none_begins_when_slurm_has_asked_to_end;
promise what_slurm_ends_is_not_restarted;
promise an_evaluator_is_restarted_in_its_grace;

/* promises_stops.c */
promise nothing_is_ended_without_reason;
promise a_stop_gives_its_grace;
promise what_hangs_is_aborted;
promise a_failure_gives_its_grace;
promise what_gives_signs_does_not_hang;
promise a_stop_ends_with_its_grace;
promise a_failure_ends_the_others;
promise who_saves_may_end_by_itself;
promise an_evaluator_has_its_grace;
promise what_only_serves_goes_on;
promise only_what_hangs_is_aborted;
promise the_killed_are_told;

/* promises_host.c */
promise sruns_host_ends_its_tasks_if_it_is_cut_off;
promise a_cut_off_sruns_host_runs_no_task;

/* promises_spares.c */
promise what_is_lost_is_replaced;
promise an_outage_of_sruns_host_takes_no_place;
promise who_is_cut_off_stays_for_an_hour;
promise who_is_cut_off_does_not_stay_longer;
promise the_end_does_not_wait_for_a_lost_spare;
promise three_failures_move_a_place;
promise a_silent_node_is_no_hang;

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
promise slurm_learns_of_a_success_at_once;
promise what_slurm_ends_keeps_its_code;
promise the_lost_are_told_in_time;
promise what_waits_for_its_next_life_counts_as_stopped;

/* promises_requeue.c */
promise tasks_are_asked_to_save_once;
promise a_job_goes_on_only_if_it_has_saved;
promise what_serves_is_not_asked_to_save;

/* promises_preflight.c */
promise a_bad_node_is_not_used;
promise a_bad_spare_is_not_used;
promise a_good_node_is_not_condemned;
promise a_step_with_good_nodes_begins;
promise the_preflight_ends;

/* promises_ledger.c */
promise the_ledger_is_the_truth;

#endif
