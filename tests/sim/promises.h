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

/* All of them, by the file that has them. */
/* clang-format off */
#define PROMISES(X) \
    X (the_clock_goes_on) /* what follows is not true of one that stands */ \
    /* promises_lives.c */ \
    X (never_two_in_one_place) \
    X (one_dictionary) \
    X (all_begin_together) \
    X (none_is_left_out) \
    X (at_most_n_restarts) \
    X (a_covered_failure_is_followed_by_a_life) \
    X (none_begins_when_slurm_has_asked_to_end) \
    X (what_slurm_ends_is_not_restarted) \
    X (an_evaluator_is_restarted_in_its_grace) \
    /* promises_stops.c */ \
    X (nothing_is_ended_without_reason) \
    X (a_stop_gives_its_grace) \
    X (what_hangs_is_aborted) \
    X (a_failure_gives_its_grace) \
    X (what_gives_signs_does_not_hang) \
    X (a_stop_ends_with_its_grace) \
    X (a_failure_ends_the_others) \
    X (who_saves_may_end_by_itself) \
    X (an_evaluator_has_its_grace) \
    X (what_only_serves_goes_on) \
    X (only_what_hangs_is_aborted) \
    X (the_killed_are_told) \
    /* promises_host.c */ \
    X (sruns_host_ends_its_tasks_if_it_is_cut_off) \
    X (a_cut_off_sruns_host_runs_no_task) \
    /* promises_spares.c */ \
    X (what_is_lost_is_replaced) \
    X (an_outage_of_sruns_host_takes_no_place) \
    X (who_is_cut_off_stays_for_an_hour) \
    X (who_is_cut_off_does_not_stay_longer) \
    X (the_end_does_not_wait_for_a_lost_spare) \
    X (three_failures_move_a_place) \
    X (a_silent_node_is_no_hang) \
    /* promises_ends.c */ \
    X (everything_ends) \
    X (ends_are_told_once) \
    X (none_runs_when_srun_has_ended) \
    X (the_replaced_exit_with_0) \
    X (the_table_is_the_exit_codes) \
    X (sruns_code) \
    X (no_success_without_the_work) \
    X (the_first_failure_is_the_first) \
    X (slurm_learns_of_a_success_at_once) \
    X (what_slurm_ends_keeps_its_code) \
    X (the_lost_are_told_in_time) \
    X (what_waits_for_its_next_life_counts_as_stopped) \
    /* promises_requeue.c */ \
    X (tasks_are_asked_to_save_once) \
    X (a_job_goes_on_only_if_it_has_saved) \
    X (what_serves_is_not_asked_to_save) \
    /* promises_preflight.c */ \
    X (a_bad_node_is_not_used) \
    X (a_bad_spare_is_not_used) \
    X (a_good_node_is_not_condemned) \
    X (a_step_with_good_nodes_begins) \
    X (the_preflight_ends) \
    /* promises_ledger.c */ \
    X (the_ledger_is_the_truth)
/* clang-format on */

#define PROMISE_DECLARE(name) promise name;
PROMISES (PROMISE_DECLARE)

#endif
