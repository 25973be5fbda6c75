#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A launch that is ended from outside: srun killed, the step or the job cancelled, a rank
# killed. Nothing of it stays, whatever keeps its barrier closed. The file by its other name,
# kill-cgroup.bats, is the same under proctrack/cgroup.

load ../common
load ../system/launch
load faults

setup_file ()
{
    local proctrack=linuxproc why=$BATS_FILE_TMPDIR/why

    [[ $BATS_TEST_FILENAME != *-cgroup.bats ]] || proctrack=cgroup
    export BATS_TEST_NAME_PREFIX="$proctrack: " no_cluster=
    start_fault_cluster --proctrack $proctrack 2> "$why" || case $? in
        77) no_cluster=$(< "$why") ;;
        *) cat "$why"; return 1 ;;
    esac
}

# --- srun

# As a user does it: one Ctrl-C asks, a second soon after it means it.
end_srun ()
{
    kill -"$1" "$srun"
    [ "$1" = INT ] || return 0
    eventually 10 said 'one more within 1 sec' || fail "srun does not ask"
    kill -INT "$srun"
}

# After each signal: it is as if the step had never been.
all_is_well_again ()
{
    mend
    all_is_well
    take_job
}

@test "srun ended in the queue: nothing of it stays" {
    for signal in INT TERM KILL; do
        begin -H "${step[@]}" "${stay[@]}"
        eventually 20 said 'queued and waiting for resources'
        since=$(now_ms)
        kill -$signal "$srun"
        within 2000 no_process_left
        # Slurm does not know of a KILL.
        slurm scancel --state=PENDING --me
        none_started
        all_is_well_again
    done
}

@test "srun ended before any rank is there: nothing of it stays" {
    for signal in INT TERM KILL; do
        stop_slurmd 1
        stop_slurmd 2
        stop_slurmd 3
        begin_step "${stay[@]}"
        eventually 20 rendezvous
        end_srun $signal
        continue_slurmd 1
        continue_slurmd 2
        continue_slurmd 3
        since=$(now_ms)
        within 10000 no_process_left
        one_cluster
        all_is_well_again
    done
}

@test "srun ended in the barrier: nothing of it stays" {
    for signal in INT TERM KILL; do
        cut_rendezvous 2
        begin_step "${stay[@]}"
        eventually 20 registered 4
        eventually 20 ranks 6
        since=$(now_ms)
        end_srun $signal
        within 2000 no_process_left
        none_started
        all_is_well_again
    done
}

@test "srun ended after the barrier: nothing of it stays" {
    for signal in INT TERM KILL; do
        begin_step "${stay[@]}"
        eventually 20 started 6
        since=$(now_ms)
        end_srun $signal
        within 5000 no_process_left
        all_is_well_again
    done
}

# --- scancel

@test "scancel of a step in the barrier, with a node cut off from the rendezvous: all of it is gone within 2 s" {
    cut_rendezvous 2
    begin_step "${stay[@]}"
    eventually 20 registered 4
    eventually 20 ranks 6
    id=$(slurm squeue -h -s -o %i)
    since=$(now_ms)
    slurm scancel "$id"
    within 2000 no_process_left
    none_started
}

@test "scancel of a job in the barrier, with a node cut off from the rendezvous: all of it is gone within 2 s" {
    cut_rendezvous 2
    begin_step "${stay[@]}"
    eventually 20 registered 4
    eventually 20 ranks 6
    since=$(now_ms)
    slurm scancel "$job"
    within 2000 no_process_left
    none_started
}

@test "scancel of a step in the barrier, with a node cut off from srun: no rank is there after 2 s" {
    host=$(node 4)
    cut_rendezvous 2
    begin_step "${stay[@]}"
    eventually 20 registered 4
    eventually 20 ranks 6
    cut_off 2
    id=$(slurm squeue -h -s -o %i)
    since=$(now_ms)
    slurm scancel "$id"
    within 2000 ranks 0
    srun_ends 40
    none_started
}

@test "scancel of a job in the barrier, with a node cut off from srun: no rank is there after 2 s" {
    host=$(node 4)
    cut_rendezvous 2
    begin_step "${stay[@]}"
    eventually 20 registered 4
    eventually 20 ranks 6
    cut_off 2
    since=$(now_ms)
    slurm scancel "$job"
    within 2000 ranks 0
    srun_ends 40
    none_started
}

# --- a rank

@test "a rank killed in the barrier: the others end, and rank, role and node are told" {
    stop_slurmd 2
    begin --jobid="$job" -N3 -n3 --tf-tasks=ps,worker:2 "${stay[@]}"
    eventually 20 registered 2
    since=$(now_ms)
    kill -KILL "$(pgrep -xu "$user" tf-rank --nslist net --ns "$(< "$SPANK_TF_CLUSTER/$(node 3).pid")")"
    within 4000 ranks 0
    told "1 of 3 ranks ended before the launch was complete: rank 2 \(worker 1\) on $(node 3)"
    continue_slurmd 2
    srun_ends 20
    [ "$status" -ne 0 ] || fail "srun succeeds"
    none_started
}
