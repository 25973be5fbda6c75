#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Auxiliary tasks, "+data" in a list: in no TF_CONFIG, known to every task, stopped when the
# work is done.

# bats file_tags=proctrack:cgroup,proctrack:cgroup-v2,proctrack:linuxproc
load launch
load roles

setup_file ()
{
    start_cluster --nodes 3
}

before_test ()
{
    write_by_role
}

after_test ()
{
    slurm scancel --user "$user" --quiet
    site_arguments
    nothing_left
}

# bats test_tags=core,release
@test "in every layout an auxiliary task is in no TF_CONFIG, and all tasks know its address" {
    launch worker,+data,evaluator,+log,+data,chief -N3 -n6 -m cyclic --tf-stop=workers --tf-tasks=worker,+data,evaluator,+log,+data,chief
    launch +data,ps,worker,worker,worker -N3 -n5 --tf-tasks=+data,ps,worker:rest
    launch worker,+data,+data,+data -N2 -n4 --tf-tasks=worker,+data:rest
}

@test "so it is in lists for each node and for each component, and with --tf-hold=no" {
    launch worker,+data,worker,+data -N2 --ntasks-per-node=2 --tf-tasks-per-node=worker:rest,+data
    launch +data,worker,worker,+data,+log -n1 --tf-tasks=+data : -N2 -n4 --tf-tasks=worker:2,+data,+log
    run --separate-stderr slurm srun -Q -N2 --tf-hold=no --tf-tasks=worker,+data "$task_check" \
        --roles=worker,+data --not-held
    all_tasks_ok worker,+data
}

# bats test_tags=core
@test "it is stopped when the work is done; its failure is reported at once and ends nothing else" {
    slurm timeout 60 srun -Q -N3 -n5 --tf-show --tf-tasks=worker:2,+data:2,+log ./by-role data0='exit 3' log='exit 0' \
        worker0='exit 0' worker1='await reported' 2> "$work/err" &
    eventually 30 grep -q '+data 0 (rank 2, .*) failed with exit code 3. spank_tf stops no other task' "$work/err" ||
        fail "not reported: $(< "$work/err")"
    touch "$work/mark.reported"
    status=0
    wait $! || status=$?
    # shellcheck disable=SC2034  # for step_and_tasks_end
    stderr=$(< "$work/err") took=0
    message='srun: error: spank_tf: step J.S: +data 0 (rank 2, NODE) failed with exit code 3. spank_tf stops no other task'
    step_and_tasks_end 3 'exit 0' 'exit 0' 'exit 3' stopped 'exit 0'
}

@test "it serves until the evaluator has ended too, and fails with a ps's cluster as without" {
    message='srun: spank_tf: step J.S: the training has finished. Waiting up to 900 s for evaluator 0 (rank 1, NODE)'
    run_and_show -N3 -n3 --tf-tasks=worker,evaluator,+data ./by-role worker='exit 0' \
        evaluator='sleep 0.5; kill -0 $(cat data) && exit 0; exit 4' data='echo $$ > data; exec sleep 1000'
    step_and_tasks_end 0 'exit 0' 'exit 0' stopped
    message='srun: error: spank_tf: step J.S: +data 0 (rank 3, NODE) failed with signal 9. spank_tf stops no other task'
    run_and_show -N2 -n4 --tf-tasks=chief,ps,worker,+data ./by-role data='mark dead; kill -KILL $$' chief='await dead; sleep 0.5'
    step_and_tasks_end 137 'exit 0' stopped stopped 'signal 9'
}

# bats test_tags=core
@test "with -K its failure ends the step, and the message is still true" {
    message='srun: error: spank_tf: step J.S: +data 0 (rank 1, NODE) failed with exit code 3. spank_tf stops no other task'
    run_step -K -N2 -n2 --tf-show --tf-tasks=worker,+data ./by-role data='exit 3'
    [ "$status" -eq 137 ] || [ "$status" -eq 143 ] || fail "srun's exit code"
    [ "$(plugin_messages)" = "$message" ] || fail "the message differs"
}

# bats test_tags=core
@test "with --tf-restart it is restarted alone, with the same address" {
    message="srun: spank_tf: step J.S: +data 0 (rank 2, NODE) ended at TIME, signal 9. Restarting it in 1 s (restarts left without progress: 2)"
    run_and_show -N3 -n3 --tf-restart=3 --tf-tasks=worker:2,+data ./by-role worker='await again' \
        data='echo $SLURM_TF_ADDRESS:$SLURM_TF_PORT $SLURM_TF_DATA >> data
            [ -n "$SLURM_TF_RESTART" ] || kill -KILL $$; mark again; exec sleep 1000'
    [ "$status" -eq 0 ] && [ "$(plugin_messages)" = "$message" ] || fail "it ends otherwise"
    [ "$(sort -u "$work/data" | wc -l)" -eq 1 ] && [ "$(wc -l < "$work/data")" -eq 2 ] || fail "$(< "$work/data")"
    [ "$(count_ends '\+data 0 stopped \(restarted 1 time\)' <<< "$stderr")" -eq 1 ] || fail "the table differs"
}

@test "while an evaluator has its grace, it is restarted, and so are auxiliary tasks" {
    slurm timeout 60 srun -Q -N3 -n3 --tf-show --tf-restart=2 --tf-tasks=worker,evaluator,+data ./by-role worker='exit 0' \
        evaluator='await over; [ -n "$SLURM_TF_RESTART" ] || kill -KILL $$; await served; exit 0' \
        data='await over; [ -n "$SLURM_TF_RESTART" ] || kill -KILL $$; mark served; exec sleep 1000' 2> "$work/err" &
    eventually 30 grep -q 'the training has finished' "$work/err" || fail "not over: $(< "$work/err")"
    touch "$work/mark.over"
    status=0
    wait $! || status=$?
    stderr=$(< "$work/err")
    [ "$status" -eq 0 ] || fail "the step fails"
    [ "$(count_ends '(evaluator 0 exit 0|\+data 0 stopped) \(restarted 1 time\)' <<< "$stderr")" -eq 2 ] || fail "the table differs"
}

@test "a job that is asked to end: it serves until the others have ended" {
    [[ $proctrack != linuxproc ]] || skip "linuxproc sends Slurm's signal to every process"
    slurm timeout 60 srun -Q -N2 -n2 --tf-show --tf-tasks=worker,+data ./by-role data='echo $$ > data; exec sleep 1000' \
        worker='trap "sleep 1; echo saved; exit 7" TERM; until [ -s data ]; do sleep 0.1; done; mark ready; while :; do sleep 0.1; done' \
        > "$work/out" 2> "$work/err" &
    eventually 30 test -e "$work/mark.ready" || fail "not ready: $(< "$work/err")"
    slurm scancel --signal=TERM --user "$user"
    wait $! || status=$?
    stderr=$(< "$work/err") output=$(< "$work/out")
    [ "$output" = saved ] || fail "the worker did not save"
    tasks_end 'exit 7' stopped
}

# Plugin: tf-check looks for it on each node.
# bats test_tags=core,plugin
@test "tf-exec, log files and the tables know it" {
    local exec=$SPANK_TF_STAGE/bin/tf-exec

    printf '#!/bin/sh\necho "serves at $1"\nexec sleep 1000\n' > "$work/serve"
    chmod 755 "$work/serve"
    run --separate-stderr slurm srun -Q -N3 --tf-tasks=worker:2,+data --tf-log-dir=logs --tf-show=json \
        "$exec" --data='./serve {data_hosts}' \
        sh -c 'until [ -s logs/data0.log ]; do sleep 0.1; done; echo "reads $1"' sh {data_hosts}
    [ "$status" -eq 0 ] || fail "the step fails"
    address=$(sed -n 's/^serves at //p' "$work/logs/data0.log")
    [[ $address == *:* ]] && [ "$(cat "$work"/logs/worker?.log)" = "reads $address"$'\n'"reads $address" ] || fail "the logs differ"
    [[ $stderr == *'"role":"+data","index":0,'*"\"port\":${address##*:},"*'/logs/data0.log"'* ]] || fail "the JSON differs"
}

@test "an srun in a task does not take over the addresses of the outer step" {
    run --separate-stderr slurm srun -Q -N2 -n2 --tf-tasks=worker,+data ./by-role worker='
        srun -Q --overlap -N1 -n1 --tf-tasks=worker sh -c "env | grep -c -e SLURM_TF_DATA -e SLURM_TF_BESIDE"
        srun -Q --overlap -N1 -n1 --tf-tasks=none sh -c "env | grep -c -e SLURM_TF_DATA -e SLURM_TF_BESIDE"
        SLURM_TF_DATA=mine srun -Q --overlap -N1 -n1 --tf-tasks=none printenv SLURM_TF_DATA'
    [ "$output" = $'0\n0\nmine' ] || fail "the inner step has them"
}
