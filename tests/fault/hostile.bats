#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Root of one node of a step is hostile, and has the step's token; and what users write into names.

# bats file_tags=core
load ../system/launch
load faults

setup_file ()
{
    start_fault_cluster
}

# Start the step of faults.bash, and take its port and token on the second node before the third one joins.
start_and_take_token ()
{
    stop_slurmd 3
    start_step "$@"
    eventually 20 registered 4
    contact=$(python3 "$tests/fault/hostile.py" "$(pgrep -xu "$user" tf-rank | head -n 1)")
}

# From the second node: hostile KEY=VALUE…
hostile ()
{
    # shellcheck disable=SC2086  # words
    "$tests/cluster" run --on "$(node 2)" -- python3 "$tests/fault/hostile.py" "$(address login)" $contact "$@"
}

# The hello and the numbers of this rank of the third node.
of_node_3 ()
{
    echo "HOST=x ADDRESS=$(address "$(node 3)") PORT=25000 NODE_INDEX=2 RANK=$1 TASKS=6 COMPONENT_FIRST=0 COMPONENT_TASKS=6"
}

# Every byte is printable, and every line is one of spank_tf's, or one of Slurm's about tasks.
only_our_lines ()
{
    ! LC_ALL=C grep -nP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' "$1" || fail "$1 has control characters"
    ! grep -vE '^(srun: )?(error: )?spank_tf: step |^srun: error: [a-z0-9]+: tasks? [0-9,-]+: |^ |^[0-9T:+-]+ |^srun: (Job|Force|forcing|launch)|^slurmstepd: ' "$1" ||
        fail "$1 has a line that is not ours"
}

@test "what a hostile node registers makes no line, and sends nothing that a terminal obeys" {
    # shellcheck disable=SC2046  # words
    start_and_take_token "${program[@]}"
    # shellcheck disable=SC2046  # words
    hostile STEP="$job.0" 'NODE=n3\e[2J\nsrun: error: spank_tf: step 1.0: all is well' $(of_node_3 4) \
        'ERROR=\e]0;title\a\nsrun: error: spank_tf: step 1.0: all is well'
    continue_slurmd 3
    srun_ends 20
    [ "$status" -ne 0 ] || fail "srun succeeds"
    only_our_lines "$srun_output"
    [ "$(grep -c 'all is well' "$srun_output")" -eq 1 ] && printed "^srun: error: spank_tf: step $job\..*all is well" ||
        fail "not one line: $(< "$srun_output")"
    no_program_started
}

still_connected ()
{
    "$tests/cluster" run -- ss -Htn state established 'sport >= :25000 and sport <= :25999' | grep -c "$(address "$(node 3)")"
}

# A task has ended with exit code 1.
end=(ENDED=exit NUMBER=1 REPORT=1 SIGNS=unknown LIFE=0)

@test "a hostile node cannot report the end of another node's task, or take its place" {
    # shellcheck disable=SC2046  # words
    start_and_take_token --tf-log-dir="$work/logs" "${program[@]}"
    continue_slurmd 3
    eventually 20 started 6
    [ "$(still_connected)" -eq 2 ] || fail "the tasks of node 3 are not connected"
    [ "$(hostile NODE="$(node 3)" RECONNECTS=1 RANK=4 "${end[@]}")" = closed ] || fail "a report is answered"
    [ "$(hostile NODE="$(node 2)" RECONNECTS=1 RANK=4 "${end[@]}")" = closed ] || fail "another node's is"
    # shellcheck disable=SC2046  # words
    [ "$(hostile STEP="$job.0" NODE="$(node 3)" $(of_node_3 4))" = closed ] || fail "a registration is answered"
    [ "$(still_connected)" -eq 2 ] || fail "the tasks of node 3 lost their connections"
    [ "$(grep -c . "$srun_output")" -eq 1 ] &&
        printed "refused a connection for worker 3 \(rank 4, $(node 3)\): it came from $(address "$(node 2)") \(\"$(node 3)\"\), and the task had registered from $(address "$(node 3)")$" ||
        fail "srun does not report it, once: $(< "$srun_output")"
    slurm scancel "$job"
    srun_ends 60
    ! printed 'exit (code )?1' || fail "it is believed: $(< "$srun_output")"
}

@test "an escape sequence in the name of a job reaches neither srun's output nor master.log" {
    run slurm srun --jobid="$job" -J $'\e]0;x\a\nsrun: error: y' -N2 -n2 --tf-tasks=ps,worker \
        --tf-log-dir=logs-%x --tf-show sh -c 'exit 3'
    [ "$status" -eq 3 ] || fail "exit code $status"
    echo "$output" > "$srun_output"
    only_our_lines "$srun_output"
    only_our_lines "$(echo "$work"/logs-*/master.log)"
    run slurm srun --jobid="$job" -J $'\e]0;x\a\nsrun: error: y' -N2 -n2 --tf-tasks=ps,worker --tf-log-dir=/dev/%x true
    [ "$status" -ne 0 ] || fail "srun succeeds"
    echo "$output" > "$srun_output"
    only_our_lines "$srun_output"
}
