#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A launch that is ended from outside: srun is killed, the step or the job is cancelled, a rank is
# killed. Nothing is left behind, also when a node cannot be reached at that time.

# bats file_tags=proctrack:cgroup,proctrack:linuxproc
load ../system/launch
load faults

setup_file ()
{
    start_fault_cluster
}

# --- srun

# Send srun this signal; INT twice, as a user presses Ctrl-C: srun asks for the second.
end_srun ()
{
    kill -"$1" "$srun"
    [ "$1" = INT ] || return 0
    eventually 10 printed 'one more within 1 sec' || fail "srun does not ask for a second Ctrl-C"
    kill -INT "$srun"
}

# After each signal: check the cluster, and begin with a new job.
usable_again ()
{
    repair
    cluster_is_usable
    allocate_job
}

@test "srun is killed while its job waits in the queue: nothing is left behind" {
    for signal in INT TERM KILL; do
        start_srun -H "${step[@]}" "${program[@]}"
        eventually 20 printed 'queued and waiting for resources'
        since=$(now_ms)
        kill -$signal "$srun"
        within 2000 no_process_left
        # Slurm does not notice SIGKILL.
        slurm scancel --state=PENDING --user "$user"
        no_program_started
        usable_again
    done
}

@test "srun is killed before any rank has started: nothing is left behind" {
    for signal in INT TERM KILL; do
        stop_slurmd 1
        stop_slurmd 2
        stop_slurmd 3
        start_step "${program[@]}"
        eventually 20 rendezvous
        end_srun $signal
        continue_slurmd 1
        continue_slurmd 2
        continue_slurmd 3
        since=$(now_ms)
        within 10000 no_process_left
        one_cluster
        usable_again
    done
}

# bats test_tags=core
@test "srun is killed while ranks are in the barrier: nothing is left behind" {
    for signal in INT TERM KILL; do
        cut_rendezvous 2
        start_step "${program[@]}"
        eventually 20 registered 4
        eventually 20 waiting_ranks 6
        since=$(now_ms)
        end_srun $signal
        within 2000 no_process_left
        no_program_started
        usable_again
    done
}

@test "srun is killed while the programs run: nothing is left behind" {
    for signal in INT TERM KILL; do
        start_step "${program[@]}"
        eventually 20 started 6
        since=$(now_ms)
        end_srun $signal
        within 5000 no_process_left
        usable_again
    done
}

# --- scancel

@test "scancel of a job in the barrier, with a node cut off from the rendezvous: nothing is left after 2 s" {
    cut_rendezvous 2
    start_step "${program[@]}"
    eventually 20 registered 4
    eventually 20 waiting_ranks 6
    since=$(now_ms)
    slurm scancel "$job"
    within 2000 no_process_left
    no_program_started
}

@test "scancel of a job in the barrier, with a node cut off from srun: no rank is left after 2 s" {
    # shellcheck disable=SC2034  # for start_step
    host=$(node 4)
    cut_rendezvous 2
    start_step "${program[@]}"
    eventually 20 registered 4
    eventually 20 waiting_ranks 6
    cut_off 2
    since=$(now_ms)
    slurm scancel "$job"
    within 2000 waiting_ranks 0
    srun_ends 40
    no_program_started
}

# --- a rank

# bats test_tags=core
@test "a rank is killed in the barrier: the others exit, and a message names its rank, role and node" {
    stop_slurmd 2
    start_srun --jobid="$job" -N3 -n3 --tf-tasks=ps,worker:2 "${program[@]}"
    eventually 20 registered 2
    # shellcheck disable=SC2034  # for within
    since=$(now_ms)
    kill -KILL "$(pgrep -xu "$user" tf-rank --nslist net --ns "$(< "$SPANK_TF_CLUSTER/$(node 3).pid")")"
    within 4000 waiting_ranks 0
    prints_only "1 of 3 tasks ended before the launch was complete, so the step was refused: worker 1 \(rank 2, $(node 3)\)"
    continue_slurmd 2
    srun_ends 20
    [ "$status" -ne 0 ] || fail "srun succeeds"
    no_program_started
}

# --- a slurmstepd

# slurmd takes the node for idle then. Kill the step's slurmstepd of the N-th node with SIGKILL.
kill_slurmstepd ()
{
    kill -KILL "$(pgrep -ou root -f "^slurmstepd: \[$job\.[0-9]+\]" --nslist net --ns "$(< "$SPANK_TF_CLUSTER/$(node "$1").pid")")"
}

# Supervisors, fork servers, ranks in the barrier, and programs.
no_process_on ()
{
    ! pgrep -r D,R,S,T -u "$user" --nslist net --ns "$(< "$SPANK_TF_CLUSTER/$(node "$1").pid")" > /dev/null
}

# Nothing of the step is left on the N-th node, and the other nodes go on: only_node_ends N
only_node_ends ()
{
    local other

    eventually 20 no_process_on "$1" || fail "a process is left: $(ps -fu "$user")"
    for other in 1 2 3; do
        [ "$other" = "$1" ] || ! no_process_on "$other" || fail "node $other has ended, too: $(< "$srun_output")"
    done
}

@test "a slurmstepd is killed in the barrier: its tasks start nothing, and end" {
    for options in --tf-restart=0 --tf-restart=9; do
        cut_rendezvous 2
        start_step "$options" "${program[@]}"
        eventually 20 registered 4
        kill_slurmstepd 3
        restore_rendezvous
        eventually 20 started 4 || fail "the others do not start: $(< "$srun_output")"
        only_node_ends 3
        started 4 || fail "a program was started after its slurmstepd had died"
        end_leftovers
        usable_again
    done
}

# bats test_tags=core
@test "a slurmstepd is killed while programs run: its supervisors end them, and themselves" {
    for options in --tf-restart=0 --tf-restart=9; do
        start_step "$options" "${program[@]}"
        eventually 20 started 6
        kill_slurmstepd 3
        only_node_ends 3
        end_leftovers
        usable_again
    done
}

@test "a slurmstepd is killed while a task waits for its next life: there is none" {
    start_step --tf-restart=9 sh -c '
        echo life >> started.$SLURM_PROCID
        case $SLURM_PROCID$SLURM_TF_RESTART in
            4 | 41 | 42) kill -9 $$ ;;
        esac
        exec sleep 600'
    eventually 60 printed 'rank 4, .* Restarting it in 4 s'
    kill_slurmstepd 3
    only_node_ends 3
    eventually 20 printed 'rank 4, .*. Not restarted: its slurmstepd has died' || fail "no line says that: $(< "$srun_output")"
    [ "$(wc -l < "$work/started.4")" -eq 3 ] || fail "there was another life"
    end_leftovers
}
