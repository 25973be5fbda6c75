#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# However Slurm distributes a step over nodes, every rank gets the correct dictionary.

# bats file_tags=core,release,proctrack:cgroup,proctrack:linuxproc
load launch

setup_file ()
{
    start_cluster
}

after_test ()
{
    site_arguments
    nothing_left
}

# --- where Slurm puts the ranks

@test "block: consecutive ranks share a node" {
    launch ps,worker,worker,worker -N2 --ntasks-per-node=2 -m block --tf-tasks=ps,worker:3
    ran_on 1 1 2 2
}

@test "cyclic: consecutive ranks are on different nodes" {
    launch ps,worker,worker,worker -N2 --ntasks-per-node=2 -m cyclic --tf-tasks=ps,worker:3
    ran_on 1 2 1 2
}

@test "plane: blocks of ranks are distributed in turn" {
    launch chief,ps,ps,worker,worker,worker,worker,worker \
        -N2 --ntasks-per-node=4 -m plane=2 --tf-tasks=chief,ps:2,worker:rest
    ran_on 1 1 2 2 1 1 2 2
}

@test "arbitrary: SLURM_HOSTFILE places the ranks" {
    printf '%s\n' "$(node 3)" "$(node 1)" "$(node 3)" "$(node 2)" > "$SPANK_TF_CLUSTER/work/hostfile"
    SLURM_HOSTFILE=hostfile launch ps,worker,worker,worker -n4 -m arbitrary --tf-tasks=ps,worker:3
    ran_on 3 1 3 2
}

@test "uneven: nodes run different numbers of ranks" {
    launch ps,worker,worker,worker,worker -N3 -n5 --exclusive -m cyclic --tf-tasks=ps,worker:4
    ran_on 1 2 3 1 2
}

@test "every node runs many ranks" {
    local roles=chief,ps,ps,ps,ps

    launch "$roles$(printf ',worker%.0s' {1..27})" -N4 --ntasks-per-node=8 --tf-tasks=chief,ps:4,worker:rest
}

# --- the list

@test "the evaluator is only in its own dictionary" {
    launch chief,evaluator,ps,worker,worker -N2 -n5 --tf-stop=never --tf-tasks=chief,evaluator,ps,worker:2
}

@test "a role that the site adds comes after TensorFlow's roles" {
    site_arguments roles=tester,logger
    launch logger,worker,ps,tester,tester -N2 -n5 --tf-stop=never --tf-tasks=logger,worker,ps,tester:2
}

@test "a list per node applies to the ranks of each node, block" {
    launch ps,worker,worker,ps,worker,worker -N2 --ntasks-per-node=3 --tf-tasks-per-node=ps,worker:2
    ran_on 1 1 1 2 2 2
}

@test "a list per node applies to the ranks of each node, cyclic" {
    launch ps,ps,worker,worker,worker,worker -N2 --ntasks-per-node=3 -m cyclic --tf-tasks-per-node=ps,worker:2
    ran_on 1 2 1 2 1 2
}

@test "a list per node with "rest" fits nodes of different size" {
    launch ps,ps,worker,worker,worker -N2 -n5 --exclusive -m cyclic --tf-tasks-per-node=ps,worker:rest
    ran_on 1 2 1 2 1
}

# --- ways to start a step

# Plugin: tf-run refuses --multi-prog.
# bats test_tags=plugin
@test "--multi-prog: different programs are one cluster" {
    local roles=ps,worker,worker,evaluator

    cat > "$SPANK_TF_CLUSTER/work/programs" <<END
0      $task_check --roles=$roles
3      $task_check --timeout=60 --roles=$roles
1-2    $task_check --timeout=50 --roles=$roles
END
    run --separate-stderr slurm srun -Q -N2 -n4 --tf-stop=never --tf-tasks=$roles --multi-prog programs
    all_tasks_ok $roles
}

@test "two --overlap steps of a job at the same time are two clusters" {
    local work=$SPANK_TF_CLUSTER/work

    cat > "$work/two" <<END
step="srun -Q -N2 --ntasks-per-node=2 --overlap --tf-tasks=ps,worker:3 $task_check --roles=ps,worker,worker,worker"
> first
\$step --linger=600 > first 2> first.err &
until [ "\$(grep -c ok first)" -eq 4 ]; do sleep 0.1; done
\$step
kill -0 \$!
cat first first.err > first.seen
kill \$!
wait \$! || true
END
    run --separate-stderr slurm salloc -Q -N2 --ntasks-per-node=2 bash -e two
    all_tasks_ok ps,worker,worker,worker
    all_ok "$(cat "$work/first.seen")" 4 && [ "$(wc -l < "$work/first.seen")" -eq 4 ]
    [ -z "$(cut -d' ' -f7 "$work/first.seen" - <<< "$output" | sort | uniq -d)" ] || fail "an address is in both clusters"
}

@test "successive sruns of one job are separate clusters" {
    run --separate-stderr slurm salloc -Q -N2 --ntasks-per-node=2 bash -ec "
        for i in 1 2 3; do srun -Q -n2 -N2 --tf-tasks=ps,worker $task_check --roles=ps,worker; done
        srun -Q -n2 -N1 --tf-tasks=worker:2 $task_check --roles=worker,worker"
    [ "$status" -eq 0 ] && [ -z "$stderr" ] && [ "$(grep -c ' ok digest=' <<< "$output")" -eq 8 ] || fail "a task is not ok"
}

# bats test_tags=by-run
@test "a heterogeneous step with a list for each component is one cluster" {
    run --separate-stderr slurm salloc -Q -N3 --ntasks-per-node=2 srun -Q \
        -N1 -n2 --tf-tasks=ps:2 "$task_check" --roles=ps,ps,worker,worker,chief : \
        -N1 -n1 --tf-tasks=worker "$task_check" --roles=ps,ps,worker,worker,chief : \
        -N1 -n2 --tf-tasks=worker,chief "$task_check" --roles=ps,ps,worker,worker,chief
    all_tasks_ok ps,ps,worker,worker,chief
    ran_on 1 1 2 3 3
}

@test "a heterogeneous step with one list for all is one cluster" {
    run --separate-stderr slurm salloc -Q -N2 --ntasks-per-node=2 srun -Q \
        -N1 -n2 --tf-tasks=ps,worker:3 "$task_check" --roles=ps,worker,worker,worker : \
        -N1 -n2 "$task_check" --roles=ps,worker,worker,worker
    all_tasks_ok ps,worker,worker,worker
    ran_on 1 1 2 2
}

@test "the only list of a heterogeneous step may be on its last component" {
    launch ps,worker,worker -n1 : -n2 --tf-tasks=ps,worker:rest
}

@test "a heterogeneous job of srun with --tf-tasks and --tf-tasks-per-node is one cluster" {
    launch chief,ps,worker,worker,ps,worker,worker -n1 --tf-tasks=chief : -N2 --ntasks-per-node=3 --tf-tasks-per-node=ps,worker:2
}

@test "together with --mpi=pmi2, which has descriptors and variables of its own" {
    launch ps,worker,worker --mpi=pmi2 -N2 -n3 --tf-tasks=ps,worker:2
}

# --- a task's terminal, input and output

@test "-l labels every line with its rank" {
    run --separate-stderr slurm srun -Q -l -N2 -n3 --tf-tasks=ps,worker:2 "$task_check" --roles=ps,worker,worker
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    [ "$(grep -cE '^([0-2]): task-check: rank \1 .* ok' <<< "$output")" -eq 3 ] || fail "the labels are not the ranks"
}

@test "--pty: task 0 has the terminal, and the lines of the table end with CR LF" {
    run slurm script -qec "srun -Q --pty -N2 -n3 --tf-show --tf-tasks=ps,worker:2 \
        sh -c 'test ! -t 0 || tty; exec $task_check --roles=ps,worker,worker'" /dev/null
    [ "$status" -eq 0 ] || fail "a task is not ok"
    [[ $output == *$'spank_tf: step '*$'\r\n  rank  '*$'\r\n'*$'/dev/pts/'*'task-check: rank 0 ps 0'*' ok '* ]]
    # Slurm 20.11 ends a program's line with CR CR LF.
    ! grep -E '^(spank_tf:| )' <<< "$output" | grep -qvP '[^\r]\r$' || fail "a line does not end with CR LF"
}

# bats test_tags=by-run
@test "standard input and its end reach every rank" {
    launch ps,worker,worker -N2 -n3 --tf-tasks=ps,worker:2 \
        sh -c 'echo "$SLURM_PROCID reads $(cat)"; exec "$@"' - <<< "a word"
    [ "$(grep -c '^[0-2] reads a word$' <<< "$output")" -eq 3 ] || fail "not every rank reads it"
}

@test "--input: none, a file, one rank" {
    echo "a word" > "$SPANK_TF_CLUSTER/work/words"
    launch ps,worker,worker --input=none -N2 -n3 --tf-tasks=ps,worker:2 \
        sh -c 'echo "$SLURM_PROCID reads $(cat)"; exec "$@"' - <<< "not read"
    [ "$(grep -c '^[0-2] reads $' <<< "$output")" -eq 3 ] || fail "--input=none is read"
    launch ps,worker,worker --input=words -N2 -n3 --tf-tasks=ps,worker:2 \
        sh -c 'echo "$SLURM_PROCID reads $(cat)"; exec "$@"' - <<< "not read"
    [ "$(grep -c '^[0-2] reads a word$' <<< "$output")" -eq 3 ] || fail "the file is not the input"
    launch ps,worker,worker --input=2 -N2 -n3 --tf-tasks=ps,worker:2 \
        sh -c 'echo "$SLURM_PROCID reads $(cat)"; exec "$@"' - <<< "for one"
    [ "$(grep -c ' reads for one$' <<< "$output")" -eq 1 ] || fail "not exactly one rank reads it"
}
