/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "promises.h"

#include <stddef.h>

#define COUNT(array) (sizeof (array) / sizeof ((array)[0]))

const char *promises_check (const struct history *history, const char **why)
{
    static const struct {
        const char *name;
        promise *check;
    } list[] = {
        { "the clock goes on", the_clock_goes_on },
        { "never two in one place", never_two_in_one_place },
        { "one dictionary", one_dictionary },
        { "all begin together", all_begin_together },
        { "none is left out", none_is_left_out },
        { "at most N restarts", at_most_n_restarts },
        { "a bad node is not used", a_bad_node_is_not_used },
        { "a bad spare is not used", a_bad_spare_is_not_used },
        { "a good node is not condemned", a_good_node_is_not_condemned },
        { "a step with good nodes begins", a_step_with_good_nodes_begins },
        { "the preflight ends", the_preflight_ends },
        { "nothing is ended without reason", nothing_is_ended_without_reason },
        { "a stop gives its grace", a_stop_gives_its_grace },
        { "a failure gives its grace", a_failure_gives_its_grace },
        { "what hangs is aborted", what_hangs_is_aborted },
        { "srun's host ends its tasks if it is cut off", sruns_host_ends_its_tasks_if_it_is_cut_off },
        { "a cut-off srun's host runs no task", a_cut_off_sruns_host_runs_no_task },
        { "the replaced exit with 0", the_replaced_exit_with_0 },
        { "a covered failure is followed by a life", a_covered_failure_is_followed_by_a_life },
        { "ends are told once", ends_are_told_once },
        { "the table is the exit codes", the_table_is_the_exit_codes },
        { "the first failure is the first", the_first_failure_is_the_first },
        { "srun's exit code", sruns_code },
        { "no success without the work", no_success_without_the_work },
        { "none runs when srun has ended", none_runs_when_srun_has_ended },
        { "everything ends", everything_ends },
        { "the ledger is the truth", the_ledger_is_the_truth },
        { "what gives signs does not hang", what_gives_signs_does_not_hang },
        { "a stop ends with its grace", a_stop_ends_with_its_grace },
        { "a failure ends the others", a_failure_ends_the_others },
        { "who saves may end by itself", who_saves_may_end_by_itself },
        { "an evaluator has its grace", an_evaluator_has_its_grace },
        { "none begins when Slurm has asked to end", none_begins_when_slurm_has_asked_to_end },
        { "what Slurm ends is not restarted", what_slurm_ends_is_not_restarted },
        { "an evaluator is restarted in its grace", an_evaluator_is_restarted_in_its_grace },
        { "Slurm learns of a success at once", slurm_learns_of_a_success_at_once },
        { "what Slurm ends keeps its code", what_slurm_ends_keeps_its_code },
        { "the lost are told in time", the_lost_are_told_in_time },
        { "what only serves goes on", what_only_serves_goes_on },
        { "only what hangs is aborted", only_what_hangs_is_aborted },
        { "the killed are told", the_killed_are_told },
        { "what is lost is replaced", what_is_lost_is_replaced },
        { "an outage of srun's host takes no place", an_outage_of_sruns_host_takes_no_place },
        { "who is cut off stays for an hour", who_is_cut_off_stays_for_an_hour },
        { "who is cut off does not stay longer", who_is_cut_off_does_not_stay_longer },
        { "the end does not wait for a lost spare", the_end_does_not_wait_for_a_lost_spare },
        { "three failures move a place", three_failures_move_a_place },
        { "a silent node is no hang", a_silent_node_is_no_hang },
        { "what waits for its next life counts as stopped", what_waits_for_its_next_life_counts_as_stopped },
        { "tasks are asked to save once", tasks_are_asked_to_save_once },
        { "a job goes on only if it has saved", a_job_goes_on_only_if_it_has_saved },
        { "what serves is not asked to save", what_serves_is_not_asked_to_save },
    };

    for (size_t i = 0; i < COUNT (list); i++)
        if ((*why = list[i].check (history)))
            return list[i].name;
    return NULL;
}
