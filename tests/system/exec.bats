#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# tf-exec between srun and a program, with the variables that the plugin sets. golden/tf-exec has
# its replacements case by case.

# bats file_tags=core,release
load ../common

setup_file ()
{
    start_cluster
}

before_test ()
{
    tf_exec=$SPANK_TF_STAGE/bin/tf-exec
}

# Run a command as a chief, a ps and two workers on three nodes; before it, optionally, the exit
# code that is expected, as for `run`: step [-127] COMMAND…
step ()
{
    local -a code=()

    [[ $1 != -[0-9]* ]] || { code=("$1") && shift; }
    run "${code[@]}" --separate-stderr slurm srun -Q -l -N3 -n4 --tf-timeout=60 --tf-stop=never --tf-tasks=chief,ps,worker:2 "$@"
}

@test "every task gets its own role and address, and all tasks the same cluster" {
    step "$tf_exec" echo {node} {address}:{port} {role}:{index} {rank} {num_ps} {num_workers} \
        {chief_hosts} {ps_hosts} {worker_hosts} {cluster}
    [ "$status" -eq 0 ] || fail "the step failed"
    local -a printed at role=(chief:0 ps:0 worker:0 worker:1)
    local same rank

    # In rank order, after srun's label: node, address, role and the rest.
    mapfile -t printed < <(sort <<< "$output")
    [ ${#printed[@]} -eq 4 ] || fail "not every task has printed a line"
    [ "$(cut -d' ' -f2 <<< "$output" | sort -u)" = "$(head -n 3 "$SPANK_TF_CLUSTER/nodes" | sort)" ] ||
        fail "these are not the step's nodes"
    mapfile -t at < <(sort <<< "$output" | cut -d' ' -f3)
    same="1 2 ${at[0]} ${at[1]} ${at[2]},${at[3]}"
    same+=" {\"chief\":[\"${at[0]}\"],\"ps\":[\"${at[1]}\"],\"worker\":[\"${at[2]}\",\"${at[3]}\"]}"
    for rank in 0 1 2 3; do
        [ "$(cut -d' ' -f3- <<< "${printed[rank]}")" = "${at[rank]} ${role[rank]} $rank $same" ] ||
            fail "rank $rank has printed something else"
    done
}

@test "another program for some roles" {
    step "$tf_exec" --ps="echo serves {index}" --worker="echo works on {index}" echo leads {index}
    [ "$(sort <<< "$output")" = "0: leads 0
1: serves 0
2: works on 0
3: works on 1" ] || fail "another program ran"
}

@test "the exit code is the program's, and the program is the task's own process" {
    step "$tf_exec" sh -c '[ "$(cat /proc/$SLURM_TASK_PID/comm)" = sh ] && exit 7'
    [ "$status" -eq 7 ] || fail "not the program's exit code"
}

@test "a program that cannot be executed is reported as srun does it" {
    step -127 "$tf_exec" /no/such/program
    [ "$(grep -c '^[0-3]: tf-exec: error: /no/such/program: No such file or directory$' <<< "$stderr")" -eq 4 ] ||
        fail "not a line from every task"
    step -126 "$tf_exec" /etc/passwd
}

@test "without --tf-tasks it says which option is missing" {
    run --separate-stderr slurm srun -Q -n1 "$tf_exec" true
    [ "$status" -eq 1 ] || fail "it ran"
    [[ $stderr == *"tf-exec: error: this is not a task of --tf-tasks (SLURM_TF_ROLE is not set); use srun --tf-tasks=LIST tf-exec ..."* ]] ||
        fail "no such message"
}
