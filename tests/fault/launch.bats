#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Faults while a step is launched: of nodes, the network and the rendezvous, unauthenticated
# clients, limits. The launch then succeeds, or every rank exits by its deadline, and one message
# names the ranks that were missing.

load ../system/launch
load faults

setup_file ()
{
    start_fault_cluster
}

# --- missing ranks

# bats test_tags=core
@test "a node whose slurmd is stopped: the other ranks exit by the deadline, and a message names rank, role and node" {
    stop_slurmd 2
    since=$(now_ms)
    start_step --tf-timeout=4 "${program[@]}"
    eventually 20 waiting_ranks 4
    within 6000 waiting_ranks 0
    prints_only "2 of 6 tasks did not register within 4 s \(on $(node 2)\), so the step was refused: worker 1 \(rank 2\), worker 2 \(rank 3\); check slurmd on the nodes, and that they can reach srun's host \(SrunPortRange\)"
    continue_slurmd 2
    srun_ends 20
    [ "$status" -ne 0 ] || fail "srun succeeds"
    no_program_started
}

@test "a node that reaches srun but not the rendezvous: all ranks exit by the deadline, and a message names rank, role and node" {
    cut_rendezvous 3
    since=$(now_ms)
    start_step --tf-timeout=2 "${program[@]}"
    eventually 20 waiting_ranks 6
    # A rank that receives no answer waits 5 s longer than the deadline.
    within 9000 srun_ended
    srun_ends 0
    [ "$status" -ne 0 ] || fail "srun succeeds"
    printed "error: spank_tf: step $job\.[0-9]+: 2 of 6 tasks did not register within 2 s \(on $(node 3)\), so the step was refused: worker 3 \(rank 4\), worker 4 \(rank 5\); check slurmd on the nodes, and that they can reach srun's host \(SrunPortRange\)$"
    printed "error: spank_tf: $(node 3): the rendezvous, .*, could not be reached: Connection timed out"
    no_program_started
}

@test "a node that is cut off after its ranks have registered: they exit, and so does srun" {
    # shellcheck disable=SC2034  # for start_step
    host=$(node 4)
    stop_slurmd 3
    since=$(now_ms)
    start_step --tf-timeout=4 "${program[@]}"
    eventually 20 registered 4
    cut_off 2
    within 11000 waiting_ranks 0
    prints_only "2 of 6 tasks did not register within 4 s \(on $(node 3)\), so the step was refused: worker 3 \(rank 4\), worker 4 \(rank 5\); check slurmd on the nodes, and that they can reach srun's host \(SrunPortRange\)"
    continue_slurmd 3
    srun_ends 30
    [ "$status" -ne 0 ] || fail "srun succeeds"
    no_program_started
}

@test "a long wait: after 5 s one message says how many ranks are missing, and on which nodes" {
    stop_slurmd 2
    stop_slurmd 3
    since=$(now_ms)
    start_step "$task_check" --roles="$roles"
    eventually 20 printed spank_tf
    (($(now_ms) - since >= 5000)) || fail "the message comes too early"
    [ "$(grep spank_tf "$srun_output" | sed "s/step $job\.[0-9]*/STEP/")" = "srun: spank_tf: STEP: waiting for 4 of 6 tasks to register (on $(node 2), $(node 3))" ] ||
        fail "another message: $(< "$srun_output")"
    continue_slurmd 2
    continue_slurmd 3
    srun_ends 20
    all_ok "$(< "$srun_output")" 6 || fail "the launch fails: $(< "$srun_output")"
    [ "$(grep -c spank_tf "$srun_output")" -eq 1 ] || fail "more than one message: $(< "$srun_output")"
}

@test "a longer wait: after half a minute it also says what to look at" {
    cut_rendezvous 2
    start_step "$task_check" --roles="$roles"
    eventually 50 printed SrunPortRange
    [ "$(grep spank_tf "$srun_output" | tail -n 1 | sed "s/step $job\.[0-9]*/STEP/")" = "srun: spank_tf: STEP: waiting for 2 of 6 tasks to register (on $(node 2)). If this persists, check slurmd on the nodes, and that they can reach srun's host (SrunPortRange)" ] ||
        fail "another message: $(< "$srun_output")"
    restore_rendezvous
    srun_ends 40
    all_ok "$(< "$srun_output")" 6 || fail "the launch fails: $(< "$srun_output")"
}

# --- the rendezvous

# bats test_tags=core
@test "tf-rendezvous is killed while ranks are in the barrier: every rank exits, and each node says why" {
    stop_slurmd 3
    start_step "${program[@]}"
    eventually 20 registered 4
    kill -KILL "$(rendezvous)"
    eventually 20 waiting_ranks 0
    continue_slurmd 3
    srun_ends 20
    [ "$status" -ne 0 ] || fail "srun succeeds"
    [ "$(grep -c 'error: spank_tf: .*: no rendezvous listens on ' "$srun_output")" -ge 2 ] ||
        fail "no message about the rendezvous: $(< "$srun_output")"
    no_program_started
}

# --- limits

# bats test_tags=core
@test "a limit of open files that is too low for the step is reported, with both numbers" {
    run slurm bash -c 'ulimit -n 40; exec "$@"' - srun -Q --jobid="$job" -N3 -n12 -O --tf-tasks=ps,worker:11 \
        sh -c 'echo "$TF_CONFIG" > started.$SLURM_PROCID'
    [ "$status" -ne 0 ] || fail "srun succeeds"
    [[ $(grep spank_tf <<< "$output") =~ ^"srun: error: spank_tf: step $job."[0-9]+" has 12 tasks, but srun's limit of 40 open files is enough for only "([0-9]+)". Raise the hard limit (ulimit -Hn) on srun's host"$ ]] ||
        fail "no such message"
    no_program_started
    # The number in the message fits, also when the soft limit has to be raised for it.
    fit=${BASH_REMATCH[1]}
    run slurm bash -c 'ulimit -Hn 40; ulimit -Sn 24; exec "$@"' - srun -Q --jobid="$job" -N3 -n"$fit" -O \
        --tf-tasks="worker:$fit" "$task_check" --roles="worker$(printf ',worker%.0s' $(seq 2 "$fit"))"
    all_ok "$output" "$fit" || fail "$fit tasks do not fit"
}

# --- the terminal

# bats test_tags=core
@test "Ctrl-C reaches srun only: after one the launch goes on, two end it" {
    cut_rendezvous 2
    start_in_terminal --tf-timeout=60 "${program[@]}"
    eventually 20 registered 4
    eventually 20 waiting_ranks 6
    printf '\003' >&5
    eventually 10 printed 'interrupt \(one more within 1 sec to abort\)'
    restore_rendezvous
    eventually 30 started 6
    one_cluster

    printf '\003' >&5
    sleep 0.3
    printf '\003' >&5
    srun_ends 20
    exec 5>&-
}

# As start_step, in the foreground of a terminal; what is written to descriptor 5 is typed there.
start_in_terminal ()
{
    local keys=$BATS_TEST_TMPDIR/keys command

    command=$(printf '%q ' "$tests/cluster" run --user "$user" -- srun --jobid="$job" "${step[@]}" "$@")
    mkfifo "$keys"
    exec 5<> "$keys"
    script -qefc "exec $command" /dev/null < "$keys" > "$srun_output" 2>&1 3>&- &
    # shellcheck disable=SC2034  # for srun_ends
    srun=$!
}
