#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A job ends by itself: which task's end is the end of the job, how the other tasks are stopped,
# and which exit code srun returns.

# bats file_tags=proctrack:cgroup,proctrack:cgroup-v2,proctrack:linuxproc
load launch
load roles

setup_file ()
{
    start_cluster
}

before_test ()
{
    write_by_role
}

after_test ()
{
    slurm scancel --user "$user" --quiet
    # What a test of incomplete installations has mounted, if it failed.
    "$tests/cluster" run --on "$(node 2)" umount -q "$SPANK_TF_STAGE/libexec/spank-tf" || true
    site_arguments
    nothing_left
}

# --- auto: when the job is over

# bats test_tags=core,release
@test "chief and ps: when the chief ends, in any way, all others are stopped" {
    run_and_show -N3 -n4 --tf-tasks=chief,ps,worker:2 ./by-role chief='exit 0'
    step_and_tasks_end 0 'exit 0' stopped stopped stopped
    run_and_show -N3 -n4 --tf-tasks=worker,ps,worker,chief ./by-role chief='exit 3'
    step_and_tasks_end 3 stopped stopped stopped 'exit 3'
    run_and_show -N3 -n4 --tf-tasks=ps:2,master,worker ./by-role master='kill -SEGV $$'
    step_and_tasks_end 139 stopped stopped 'signal 11' stopped
}

@test "chief and ps: the job goes on when workers end, in any way, or when a ps exits with 0" {
    run_and_show -N3 -n7 --tf-tasks=chief,ps:2,worker:4 ./by-role worker0='exit 0' worker1='exit 3' \
        worker2='kill -KILL $$' ps1='exit 0' worker3='sleep 0.5; mark long_after; exec sleep 1000' chief='await long_after'
    step_and_tasks_end 137 'exit 0' stopped 'exit 0' 'exit 0' 'exit 3' 'signal 9' stopped
}

# bats test_tags=core,release
@test "ps and no chief: when the last worker ends, in any way, the job ends" {
    run_and_show -N2 -n3 --tf-tasks=ps,worker:2 ./by-role worker='exit 0'
    step_and_tasks_end 0 stopped 'exit 0' 'exit 0'
    run_and_show -N2 -n4 --tf-tasks=ps,worker:3 ./by-role worker0='exit 3' worker1='kill -TERM $$' \
        worker2='sleep 0.5; exit 5'
    step_and_tasks_end 143 stopped 'exit 3' 'signal 15' 'exit 5'
    run_and_show -N2 -n4 --tf-tasks=worker:2,ps:2 ./by-role worker0='exit 3' worker1='sleep 0.5; kill -KILL $$'
    step_and_tasks_end 137 'exit 3' 'signal 9' stopped stopped
}

# bats test_tags=core,release
@test "a ps that fails, by an exit code or a signal, ends the job with a message" {
    message='srun: error: spank_tf: step J.S: ps 1 (rank 2, NODE) failed with exit code 3. Its workers would wait for it forever and are stopped'
    run_and_show -N3 -n4 --tf-tasks=chief,ps:2,worker ./by-role ps1='exit 3'
    step_and_tasks_end 3 stopped stopped 'exit 3' stopped
    message='srun: error: spank_tf: step J.S: ps 0 (rank 0, NODE) failed with signal 9. Its workers would wait for it forever and are stopped'
    run_step -N3 -n3 --tf-tasks=ps,worker:2 ./by-role ps='kill -KILL $$'
    step_ends 137
}

# Plugin: tf-run refuses --multi-prog.
# bats test_tags=plugin
@test "a ps whose program cannot be started counts as failed" {
    printf '%s\n' '0,2 ./by-role' '1 ./nothing' > "$work/programs"
    message='srun: error: spank_tf: step J.S: ps 0 (rank 1, NODE) failed with exit code 2 (its program was not started; slurmstepd says why). Its workers would wait for it forever and are stopped'
    run_and_show -N3 -n3 --tf-tasks=chief,ps,worker --multi-prog programs
    step_and_tasks_end 2 stopped 'exit 2 (its program was not started; slurmstepd says why)' stopped
    [[ $stderr == *slurmstepd*'error: execve(): '*'./nothing: No such file or directory'* ]] || fail "slurmstepd does not say why"
}

# bats test_tags=core,release
@test "a program that no task can start is one line, whatever the list" {
    local list line

    for list in ps,worker:2 worker:3 chief,worker,evaluator ps,worker,+log; do
        run_step -N2 -n3 --tf-restart=2,any --tf-tasks="$list" ./nothing
        [ "$status" -eq 2 ] || fail "srun does not end with 2"
        [ "$(grep -c 'spank_tf: ' <<< "$stderr")" -eq 1 ] || fail "$list: more than one line"
        line=$(grep 'spank_tf: ' <<< "$stderr")
        [[ $line =~ ^'srun: error: spank_tf: step '[0-9.]+': no task could start its program; first failure: '.*', exit code 2 (its program was not started; slurmstepd says why)'$ ]] ||
            fail "another line: $line"
    done
}

# bats test_tags=core,by-run
@test "with a ps, srun says once that a worker has failed, and that the others go on" {
    run_step -N3 -n4 --tf-tasks=chief,ps,worker:2 ./by-role worker0='exit 3' worker1='sleep 0.5; exit 4' chief='sleep 1'
    [ "$status" -eq 4 ] || fail "srun's exit code"
    [ "$(grep -c 'worker 0 (rank 2, .*) failed with exit code 3. spank_tf does not stop the other tasks, which may wait for it; srun -K does$' <<< "$stderr")" -eq 1 ] &&
        [ "$(grep -c 'does not stop the other tasks' <<< "$stderr")" -eq 1 ] || fail "it does not"
}

# bats test_tags=core,release
@test "without a ps, tasks end by themselves, each in its own time" {
    message='srun: error: spank_tf: step J.S: chief 0 (rank 0, NODE) failed with exit code 3. The other tasks cannot continue without it and will be stopped in 30 s'
    run_and_show -N3 -n4 --tf-tasks=chief,worker:3 ./by-role chief='mark failed; exit 3' worker0='await failed; sleep 0.5; kill -KILL $$' \
        worker='await failed; sleep 0.5; exit 5'
    # The others end with 3 at most, so that srun does.
    step_and_tasks_end 3 'exit 3' 'signal 9' 'exit 5' 'exit 5'
    message='srun: error: spank_tf: step J.S: worker 0 (rank 0, NODE) failed with exit code 3. The other tasks cannot continue without it and will be stopped in 30 s'
    run_step -N3 -n3 --tf-tasks=worker:3 ./by-role worker0='exit 3' worker='sleep 1.5; echo trained'
    step_ends 3
    [ "$output" = $'trained\ntrained' ] || fail "a worker was stopped"
}

# bats test_tags=core,release
@test "without a ps, a task that fails ends the job: the others are stopped after a while" {
    site_arguments fail_grace=2
    message='srun: error: spank_tf: step J.S: worker 0 (rank 1, NODE) failed with exit code 1. The other tasks cannot continue without it and will be stopped in 2 s'
    run_and_show -N3 -n4 --tf-tasks=chief,worker:3 ./by-role worker0='exit 1' worker1='exit 0'
    step_and_tasks_end 1 stopped 'exit 1' 'exit 0' stopped
    ((took >= 2)) || fail "they had no time to end"
    [[ $stderr == *': first failure: worker 0 ('*', exit code 1'* ]]
    site_arguments fail_grace=0
    message='srun: error: spank_tf: step J.S: worker 0 (rank 0, NODE) failed with signal 9. The other tasks cannot continue without it and are stopped'
    run_and_show -N3 -n3 --tf-tasks=worker:3 ./by-role worker0='kill -KILL $$'
    step_and_tasks_end 137 'signal 9' stopped stopped
}

# bats test_tags=core,once
@test "... not so an evaluator or an auxiliary task, nor with another --tf-stop" {
    local stop

    site_arguments fail_grace=0
    message='srun: error: spank_tf: step J.S: +data 0 (rank 3, NODE) failed with exit code 4. spank_tf stops no other task'
    run_and_show -N2 -n4 --tf-tasks=worker:2,evaluator,+data ./by-role data='mark data; exit 4' evaluator='await data; sleep 0.5; mark failed; exit 3' \
        worker='await failed; sleep 1; exit 0'
    step_and_tasks_end 4 'exit 0' 'exit 0' 'exit 3' 'exit 4'
    message=
    for stop in workers never; do
        rm -f "$work"/mark.*
        run_and_show -N2 -n2 --tf-tasks=worker:2 --tf-stop=$stop ./by-role worker0='mark failed; exit 3' worker1='await failed; sleep 1; exit 0'
        step_and_tasks_end 3 'exit 3' 'exit 0'
    done
}

# bats test_tags=core,release
@test "no task is stopped in the first second of its program" {
    for _ in 1 2 3; do
        run_step -N3 -n3 --tf-tasks=ps,worker:2 hostname
        step_ends 0
        [ "$(wc -l <<< "$output")" -eq 3 ] || fail "a task was stopped before it had printed its line"
    done
    run_and_show -N3 -n3 --tf-tasks=ps,worker:2 ./by-role worker='exit 0' ps='sleep 0.5; exit 0'
    step_and_tasks_end 0 'exit 0' 'exit 0' 'exit 0'
}

# bats test_tags=core
@test "a step that is cancelled has one line, and no table" {
    local pid

    "$tests/cluster" run --user "$user" -- srun -Q -J cancelled -N3 -n3 --tf-show --tf-tasks=ps,worker:2 \
        ./by-role worker='mark $SLURM_TF_INDEX; exec sleep 1000' 2> "$work/stderr" 3>&- &
    pid=$!
    until [[ -e $work/mark.0 && -e $work/mark.1 ]]; do
        sleep 0.1
    done
    slurm scancel --quiet --name cancelled
    wait $pid || true
    stderr=$(< "$work/stderr")
    [ "$(plugin_messages)" = 'srun: spank_tf: step J.S was cancelled' ] || fail "another message"
    [[ $stderr != *'how its tasks ended'* && $stderr != *'first failure'* ]] || fail "a table of victims"
}

# Slurm ends the script and its srun before it has asked the tasks.
@test "a batch job that is cancelled does not miss its rendezvous" {
    local job

    for _ in 1 2 3 4 5; do
        rm -f "$work"/mark.*
        job=$(slurm sbatch --parsable -N3 -n3 -o cancelled.out -e cancelled.err --tf-tasks=ps,worker:2 <<< $'#!/bin/sh
srun ./by-role worker=\'mark $SLURM_TF_INDEX; exec sleep 1000\'
sleep 100')
        eventually 30 [ -e "$work/mark.0" ] && eventually 30 [ -e "$work/mark.1" ] || fail "it does not start"
        slurm scancel "$job"
        eventually 30 job_has_ended "$job" || fail "it does not end"
        ! grep 'the rendezvous has ended' "$work/cancelled.err" || fail "it misses it"
    done
}

# bats test_tags=core
@test "srun --wait: grace periods end before it, and what it kills is named" {
    run --separate-stderr slurm timeout 60 srun -N2 -n2 --wait=5 --tf-tasks=worker,evaluator --tf-grace=20 --tf-show \
        sh -c '[ $SLURM_TF_ROLE = evaluator ] || exit 0; trap "" TERM; while :; do sleep 0.1; done'
    [ "$status" -eq 0 ] || fail "srun returns $status: $stderr"
    [[ $stderr == *"spank_tf: srun kills all tasks 5 s after the first one ended (--wait): an evaluator gets at most 1 s, not 900 s, to finish; a stopped task gets 3 s, not 20 s"* ]] ||
        fail "the launch does not say what is cut: $stderr"
    [[ $stderr == *"killed after 3 s"* ]] || fail "the evaluator ends otherwise: $stderr"
    status=0
    slurm env SLURM_WAIT=2 timeout 60 srun -N2 -n2 --tf-tasks=worker:2 --tf-show \
        sh -c '[ $SLURM_PROCID = 1 ] || exit 0; exec sleep 1000' 2> "$SPANK_TF_CLUSTER/work/err" || status=$?
    [ "$status" -eq 137 ] || fail "srun returns $status"
    # The rendezvous notices srun's end, and tells the step's.
    eventually 10 grep -q 'srun killed the remaining tasks' "$SPANK_TF_CLUSTER/work/err" ||
        fail "the last line does not say what srun has killed: $(< "$SPANK_TF_CLUSTER/work/err")"
    stderr=$(< "$SPANK_TF_CLUSTER/work/err")
    [[ $stderr == *"worker 1"*"signal 9"*"spank_tf: step "*": srun killed the remaining tasks 2 s after the first one ended (--wait): worker 1 (rank 1, "* ]] ||
        fail "the last line is another: $stderr"
    [[ $stderr != *lost* && $stderr != *"first failure"* ]] || fail "something is lost: $stderr"
}

# --- auto: the evaluator

# bats test_tags=core,release,once
@test "the job waits for an evaluator only, which ends by itself" {
    message='srun: spank_tf: step J.S: the training has finished. Waiting up to 900 s for evaluator 0 (rank 3, NODE)'
    run_and_show -N3 -n4 --tf-tasks=chief,ps,worker,evaluator ./by-role chief='await ready; exit 0' \
        worker='trap "mark stopped; exit" TERM; sleep 1000 & mark ready; wait' evaluator='await stopped; sleep 0.5; exit 3'
    step_and_tasks_end 3 'exit 0' stopped stopped 'exit 3'
    # The same in a job without a ps.
    message='srun: spank_tf: step J.S: the training has finished. Waiting up to 900 s for evaluator 0 (rank 2, NODE)'
    run_and_show -N3 -n3 --tf-tasks=worker:2,evaluator ./by-role worker0='exit 0' worker1='sleep 0.5; mark last' \
        evaluator='await last; sleep 0.5; exit 0'
    step_and_tasks_end 0 'exit 0' 'exit 0' 'exit 0'
}

# bats test_tags=core,release,once
@test "an evaluator is stopped after its grace time" {
    site_arguments eval_grace=2
    message='srun: spank_tf: step J.S: the training has finished. Waiting up to 2 s for evaluator 0 (rank 3, NODE)'
    run_and_show -N3 -n4 --tf-tasks=chief,ps,worker,evaluator ./by-role chief='exit 0'
    step_and_tasks_end 0 'exit 0' stopped stopped stopped
    ((took >= 2)) || fail "it had no grace time"
    # A failed job is not waited for longer than the others.
    site_arguments eval_grace=60 fail_grace=1
    message='srun: spank_tf: step J.S: the training has failed. Waiting up to 1 s for evaluator 0 (rank 3, NODE)'
    run_and_show -N3 -n4 --tf-tasks=chief,ps,worker,evaluator ./by-role chief='exit 3'
    step_and_tasks_end 3 'exit 3' stopped stopped stopped
    message='srun: spank_tf: step J.S: the training has failed. Waiting up to 1 s for evaluator 0 (rank 1, NODE)'
    run_and_show -N2 -n2 --tf-tasks=chief,evaluator ./by-role chief='exit 3'
    step_and_tasks_end 3 'exit 3' stopped
    message=${message/rank 1/rank 3}
    run_and_show -N3 -n4 --tf-tasks=ps,worker:2,evaluator ./by-role worker='exit 3'
    step_and_tasks_end 3 stopped 'exit 3' 'exit 3' stopped
    site_arguments eval_grace=0
    message=
    run_and_show -N3 -n3 --tf-tasks=chief,worker,evaluator ./by-role chief='exit 0' worker='exit 0'
    step_and_tasks_end 0 'exit 0' 'exit 0' stopped
}

# --- by --tf-stop

# bats test_tags=core,release
@test "--tf-stop=chief: when the chief ends, all others are stopped, evaluators too, with or without a ps" {
    run_and_show -N3 -n5 --tf-stop=chief --tf-tasks=worker:2,chief,ps,evaluator ./by-role worker0='exit 5' ps='exit 6' \
        worker1='sleep 0.5; mark long_after; exec sleep 1000' chief='await long_after; exit 3'
    step_and_tasks_end 6 'exit 5' stopped 'exit 3' 'exit 6' stopped
    run_and_show -N3 -n3 --tf-stop=chief --tf-tasks=worker:2,master ./by-role master='kill -KILL $$'
    step_and_tasks_end 137 stopped stopped 'signal 9'
}

# bats test_tags=core,release,once
@test "--tf-stop=chief: without a chief, worker 0 takes its place" {
    run_and_show -N3 -n4 --tf-stop=chief --tf-tasks=ps,worker:3 ./by-role worker1='exit 3' \
        worker2='sleep 0.5; mark long_after; exec sleep 1000' worker0='await long_after'
    step_and_tasks_end 3 stopped 'exit 0' 'exit 3' stopped
    run_and_show -N3 -n3 --tf-stop=chief --tf-tasks=worker:3 ./by-role worker0='exit 0'
    step_and_tasks_end 0 'exit 0' stopped stopped
}

# bats test_tags=core,release
@test "--tf-stop=never: no task is stopped" {
    run_and_show -N3 -n4 --tf-stop=never --tf-tasks=chief,ps,worker,evaluator ./by-role chief='exit 0' ps='sleep 0.5; exit 3' \
        worker='sleep 0.5; exit 0' evaluator='sleep 0.5; exit 5'
    step_and_tasks_end 5 'exit 0' 'exit 3' 'exit 0' 'exit 5'
}

# bats test_tags=core,release
@test "--tf-stop=auto: the default" {
    site_arguments stop=never
    run_and_show -N3 -n3 --tf-stop=auto --tf-tasks=chief,ps,worker ./by-role chief='exit 3'
    step_and_tasks_end 3 'exit 3' stopped stopped
}

@test "a site's stop= is the default, and --tf-stop overrides it" {
    site_arguments stop=chief
    run_and_show -N3 -n3 --tf-tasks=worker:3 ./by-role worker0='exit 3'
    step_and_tasks_end 3 'exit 3' stopped stopped
    run_step -N3 -n3 --tf-stop=never --tf-tasks=worker:3 ./by-role worker0='exit 3' worker='sleep 0.5; echo trained'
    step_ends 3
    [ "$output" = $'trained\ntrained' ] || fail "a worker was stopped"
}

# Plugin: without it, sbatch --export=NONE keeps no option.
# bats test_tags=once,plugin
@test "--tf-stop of a job is inherited by its steps, which can override it" {
    local script codes=$'3\ntrained\ntrained\n5\n8'

    script='srun -Q --tf-show "$@" ./by-role worker0="exit 3" worker="sleep 20"; echo $?
        srun -Q --tf-stop=never ./by-role worker0="exit 5" worker="sleep 0.3; echo trained"; echo $?
        srun -Q --tf-stop=workers ./by-role worker0="exit 6" worker1="exit 7" worker="exit 8"; echo $?'
    batch -N3 -n3 --tf-tasks=worker:3 --export=NONE <<< "#!/bin/bash
#SBATCH --tf-stop=chief
export SLURM_EXPORT_ENV=ALL
$script"
    [ "$status" -eq 0 ] && [ "$output" = "$codes" ] || fail "the steps end otherwise"
    tasks_end 'exit 3' stopped stopped
    # sbatch's option overrides the script's.
    batch -N3 -n3 --tf-tasks=worker:3 --tf-stop=chief <<< "#!/bin/bash
#SBATCH --tf-stop=never
srun -Q --tf-show ./by-role worker0='exit 3'"
    [ "$status" -eq 3 ] || fail "the step ends otherwise"
    tasks_end 'exit 3' stopped stopped
    run --separate-stderr slurm salloc -Q -N3 -n3 --tf-tasks=worker:3 --tf-stop=chief bash -c "$script"
    [ "$status" -eq 0 ] && [ "$output" = "$codes" ] || fail "the steps end otherwise"
    tasks_end 'exit 3' stopped stopped
}

# --- messages

# bats test_tags=core,release
@test "--tf-show ends with how each rank ended" {
    run_and_show -N3 -n5 --tf-tasks=chief,ps,worker:3 ./by-role worker0='exit 0' worker1='exit 3' worker2='kill -SEGV $$' \
        chief='sleep 0.5; exit 0'
    step_ends 139
    [ "$(sed -n '/ how its tasks ended$/,/worker 2/p' <<< "$stderr" |
        sed -E 's/step [0-9.]*:/step J.S:/; s/ [a-z]+[0-9] +00:00:0[0-9] / NODE TIME /' | tr -s ' ')" = \
"spank_tf: step J.S: how its tasks ended
 rank role node elapsed end
 0 chief 0 NODE TIME exit 0
 1 ps 0 NODE TIME stopped
 2 worker 0 NODE TIME exit 0
 3 worker 1 NODE TIME exit 3
 4 worker 2 NODE TIME signal 11" ] || fail "another table"
    # The nodes are those of the table at the start.
    [ "$(sed -nE 's/^ *([0-9].*[a-z][0-9]) .*/\1/p' <<< "$stderr" | sort | uniq -cd | grep -c '^ *2 ')" -eq 5 ] || fail "other nodes"
}

# bats test_tags=core,release
@test "the last message of a step that fails names its first failure" {
    run_step -w "$(node 1),$(node 2),$(node 3)" -n5 --tf-tasks=chief,ps,worker:3 ./by-role worker0='exit 0' worker2='mark first; kill -SEGV $$' \
        worker1='await first; sleep 0.5; mark second; exit 3' chief='await second; sleep 0.5; exit 5'
    step_ends 139
    [[ $(grep spank_tf <<< "$stderr" | tail -n 1) =~ ^srun:\ error:\ spank_tf:\ step\ [0-9.]+:\ first\ failure:\ worker\ 2\ \($(node 3)\)\ at\ [0-9]{2}:[0-9]{2}:[0-9]{2},\ signal\ 11$ ]] ||
        fail "no such message"
}

# bats test_tags=core,release
@test "without --tf-show nothing is printed at a normal end" {
    run_step -N3 -n4 --tf-tasks=chief,ps,worker:2 ./by-role chief='exit 0'
    step_ends 0
    [ -z "$stderr" ] && [ -z "$output" ] || fail "something is printed"
}

# --- which tasks have a supervisor

# Require these names of the tasks' parents, in rank order, which $parent prints: parents NAME…
parent='echo $SLURM_PROCID $(cat /proc/$PPID/comm)'
parents ()
{
    [ "$(sort -n <<< "$output" | cut -d' ' -f2 | paste -sd' ')" = "$*" ] || fail "the parents are not: $*"
}

# bats test_tags=core,release
@test "every task of a step with several tasks has a supervisor" {
    run_step -N2 -n3 --tf-tasks=chief,ps,worker ./by-role chief="$parent; await ps; await worker" \
        ps="$parent; mark ps; exec sleep 1000" worker="$parent; mark worker; exec sleep 1000"
    step_ends 0
    parents tf-supervise tf-supervise tf-supervise
    run_step -n2 --tf-tasks=worker,evaluator ./by-role worker="$parent" evaluator="$parent"
    parents tf-supervise tf-supervise
    run_step -N2 -n3 --tf-tasks=worker:3 ./by-role worker="$parent"
    parents tf-supervise tf-supervise tf-supervise
    run_step -N2 -n3 --tf-stop=workers --tf-tasks=chief,worker:2 ./by-role chief="$parent" worker="$parent"
    parents tf-supervise tf-supervise tf-supervise
    run_step -n2 --tf-stop=chief --tf-tasks=worker:2 ./by-role worker0="$parent; await other" worker1="$parent; mark other; exec sleep 1000"
    parents tf-supervise tf-supervise
}

# bats test_tags=core,release
@test "no task has a supervisor with --tf-stop=never, nor a task that is alone" {
    run_step -N2 -n3 --tf-stop=never --tf-tasks=worker:3 ./by-role worker="$parent"
    parents slurmstepd slurmstepd slurmstepd
    run_step -N2 -n3 --tf-stop=never --tf-tasks=chief,ps,worker ./by-role chief="$parent" ps="$parent" worker="$parent"
    parents slurmstepd slurmstepd slurmstepd
    run_step -n1 --tf-tasks=worker ./by-role worker="$parent"
    parents slurmstepd
}

# bats test_tags=core,release
@test "SLURM_TASK_PID is the program's pid, and the program is in the supervisor's process group" {
    local pids='echo $SLURM_TASK_PID $$ $(ps -o pgid= -p $$) $(ps -o pgid= -p $PPID)'

    run_step -N2 -n3 --tf-tasks=ps,worker:2 ./by-role worker="$pids"
    step_ends 0
    [ "${#lines[@]}" -eq 2 ] || fail "not two lines"
    while read -r task_pid pid group parents_group; do
        [ "$task_pid" -eq "$pid" ] && [ "$group" -eq "$parents_group" ] || fail "another pid or process group"
    done <<< "$output"
}

@test "a supervisor needs little memory" {
    local size

    run_step -n3 --tf-tasks=worker:2,ps ./by-role worker='sed -n "s/^VmRSS:[[:space:]]*\([0-9]*\) kB/\1/p" /proc/$PPID/status'
    step_ends 0
    [ "${#lines[@]}" -eq 2 ] || fail "not two lines"
    for size in "${lines[@]}"; do
        ((size < 2048)) || fail "it has $size KiB"
    done
}

# bats test_tags=core,release
@test "a heterogeneous step ends as a whole" {
    run_and_show -N1 -n2 --tf-tasks=ps:2 ./by-role : -N1 -n1 --tf-tasks=chief ./by-role chief='exit 3' : -N1 -n2 --tf-tasks=worker:2 ./by-role
    step_and_tasks_end 3 stopped stopped 'exit 3' stopped stopped
    run_and_show -N1 -n2 --tf-stop=workers --tf-tasks=ps,worker:3 ./by-role worker0='exit 0' : -N2 -n2 ./by-role worker1='exit 3' worker2='sleep 0.5; exit 4'
    step_and_tasks_end 4 stopped 'exit 0' 'exit 3' 'exit 4'
}

# --- how a task is stopped

# slurmstepd 24.11 and later have handlers for SIGTERM and others; the task's process has them until its
# program starts. The user's prolog keeps it from that.
# Plugin: without it, TaskProlog runs before a task has a role.
# bats test_tags=core,release,plugin
@test "a task that is stopped before its program starts does not start it" {
    cat > "$work/prolog" <<'END'
#!/bin/sh
[ "$SLURM_TF_ROLE" = ps ] || exit 0
trap 'exit 0' TERM
touch mark.prolog
sleep 1000 & wait
END
    chmod 755 "$work/prolog"
    site_arguments stop_grace=1
    run_and_show --task-prolog="$work/prolog" -N2 -n3 --tf-tasks=chief,ps,worker ./by-role ps='touch started' \
        chief='await prolog; exit 0'
    step_and_tasks_end 0 'exit 0' stopped stopped
    [ ! -e "$work/started" ] || fail "the ps has started"
}

# bats test_tags=core,release
@test "a task receives SIGTERM, and has its grace time to exit" {
    run_and_show -N2 -n3 --tf-tasks=chief,ps,worker ./by-role ps='trap "sleep 2; echo saved; exit 5" TERM; sleep 1000 & mark ready; wait' \
        chief='await ready; exit 0'
    step_and_tasks_end 0 'exit 0' stopped stopped
    [ "$output" = saved ] || fail "it was killed too early"
}

# bats test_tags=core,release
@test "a task that ignores SIGTERM is killed after its grace time" {
    local stubborn='trap "" TERM INT HUP; mark ready; while :; do sleep 1; done' message

    # shellcheck disable=SC2034  # step_and_tasks_end reads it
    message='srun: spank_tf: step J.S: ps 0 (rank 1, NODE) did not exit within 1 s of SIGTERM and was killed. --tf-grace=SECONDS gives stopped tasks more time'
    site_arguments stop_grace=1
    run_and_show -N2 -n3 --tf-tasks=chief,ps,worker ./by-role ps="$stubborn" chief='await ready; exit 3'
    step_and_tasks_end 3 'exit 3' 'killed after 1 s' stopped
    # A user's --tf-grace, which is no site's, and at once.
    site_arguments stop_grace=60
    run_and_show --tf-grace=0:02 -N2 -n3 --tf-tasks=chief,ps,worker ./by-role ps="$stubborn" chief='await ready; exit 0'
    message=${message/1 s/2 s}
    step_and_tasks_end 0 'exit 0' 'killed after 2 s' stopped
    # shellcheck disable=SC2034  # step_ends reads it
    message=''
    run_and_show --tf-grace=0 --tf-show=json -N2 -n3 --tf-tasks=chief,ps,worker ./by-role ps="$stubborn" chief='await ready; exit 3'
    step_ends 3
    [[ $stderr == *'"rank":1,"role":"ps","index":0,'*'"end":"stopped","killed_after":0,'* ]] || fail "JSON does not say that it was killed"
}

# bats test_tags=core,release
@test "daemons of a task, in sessions of their own, are stopped with it, and do not delay the end" {
    # shellcheck disable=SC2034  # step_and_tasks_end reads it
    local message='srun: spank_tf: step J.S: ps 0 (rank 1, NODE), worker 0 (rank 2, NODE) did not exit within 1 s of SIGTERM and were killed. --tf-grace=SECONDS gives stopped tasks more time'
    local daemons

    site_arguments stop_grace=1
    cat > "$work/daemons" <<'END'
setsid sleep 1000 &
setsid -f sleep 1000
(sleep 1000 &)
(setsid sh -c 'trap "" TERM; (setsid sleep 1000 &); sleep 1000 & wait' &)
nohup sleep 1000 &
END
    run_and_show -N2 -n3 --tf-tasks=chief,ps,worker ./by-role ps='. ./daemons; mark ready; exec sleep 1000' \
        worker='. ./daemons; trap "exit 5" TERM; sleep 1000 & mark ready_too; wait' chief='await ready; await ready_too'
    step_and_tasks_end 0 'exit 0' 'killed after 1 s' 'killed after 1 s'
    # Of these alone: what srun and slurmstepd have of the user's may end a moment later.
    daemons=$(pgrep -a -r D,R,S,T -u "$user" -f '^(nohup )?(sleep 1000|setsid|sh -c trap)') && fail "a daemon is left: $daemons"
    true
}

@test "a task that forks as fast as it can is stopped" {
    # The other tasks need a moment, too, while it keeps all cores busy.
    site_arguments stop_grace=5
    cat > "$work/more" <<'END'
$SIG{TERM} = $SIG{CHLD} = "IGNORE";
open F, ">mark.ready";
fork while 1;
END
    # Its process id changes all the time.
    cat > "$work/other" <<'END'
$SIG{TERM} = $SIG{CHLD} = "IGNORE";
open F, ">mark.ready_too";
for (;;) { exit if fork }
END
    # As another user: the limit applies to all processes of a user. It takes a while.
    # shellcheck disable=SC2034  # step_and_tasks_end reads it
    message='srun: spank_tf: step J.S: ps 0 (rank 1, NODE) did not exit within 5 s of SIGTERM and was killed. --tf-grace=SECONDS gives stopped tasks more time'
    user=$other_user run_and_show -N2 -n3 --tf-tasks=chief,ps,worker ./by-role ps='exec prlimit --nproc=200 perl more' \
        chief='await ready; sleep 0.3'
    step_and_tasks_end 0 'exit 0' 'killed after 5 s' stopped
    eventually 60 no_process_left || fail "a process is left"
    user=$other_user run_and_show -N2 -n3 --tf-tasks=chief,ps,worker \
        ./by-role ps='prlimit --nproc=200 perl other & exec sleep 1000' chief='await ready_too; sleep 0.3'
    step_and_tasks_end 0 'exit 0' 'killed after 5 s' stopped
    eventually 60 no_process_left || fail "a process is left"
}

# bats test_tags=core,release
@test "a shell script that runs python is stopped with it, and does not continue" {
    run_and_show -N2 -n3 --tf-tasks=chief,ps,worker ./by-role ps='/usr/bin/python3 -c "
import time
open (\"mark.ready\", \"w\")
time.sleep (1000)"; echo "the script goes on"' chief='await ready'
    step_and_tasks_end 0 'exit 0' stopped stopped
    [ -z "$output" ] || fail "it continues"
}

@test "the time that a task has to end stands still while its job is suspended" {
    local step

    slurm srun -Q -J suspended -N2 -n3 --tf-grace=5 --tf-tasks=chief,ps,worker ./by-role chief='await ready; exit 0' \
        ps='trap "mark asked; sleep 1; sleep 1; sleep 1; sleep 0.5; mark saved; exit 0" TERM; mark ready
            while :; do sleep 0.1; done' > "$work/out" 2>&1 3>&- &
    step=$!
    eventually 20 test -e "$work/mark.asked" || fail "it is not stopped: $(< "$work/out")"
    "$tests/cluster" run -- scontrol suspend "$(slurm squeue -h -n suspended -o %i)"
    sleep 7
    [ ! -e "$work/mark.saved" ]
    "$tests/cluster" run -- scontrol resume "$(slurm squeue -h -n suspended -o %i)"
    wait "$step" && status=0 || status=$?
    [ "$status" -eq 0 ] || fail "it ends with $status: $(< "$work/out")"
    [ -e "$work/mark.saved" ] || fail "it was killed: $(< "$work/out")"
}

# --- a job that is asked to end can save

# Start a step, $step, whose programs write mark.ready.RANK, wait for that of so many, and send it this
# signal, or cancel its job (""): ask_to_end TASKS SIGNAL OPTION… ./by-role ROLE=COMMANDS…
ask_to_end ()
{
    slurm timeout 60 srun -Q -J asked --tf-show "${@:3}" > "$work/out" 2> "$work/err" 3>&- &
    step=$!
    eventually 20 all_ready "$1" || fail "they do not start: $(< "$work/err")"
    if [[ $2 ]]; then
        slurm scancel -s "$2" "$(slurm squeue -h -t R -n asked -o %i).0"
    else
        slurm scancel -n asked
    fi
}

all_ready ()
{
    [ "$(find "$work" -name 'mark.ready.*' | wc -l)" -eq "$1" ]
}

await_asked_step ()
{
    wait "$step" && status=0 || status=$?
    output=$(< "$work/out")
    stderr=$(< "$work/err")
    took=0
}

asked_step_ends ()
{
    await_asked_step
    step_and_tasks_end "$@"
}

# A chief whose last act needs an answer from every other task, so many seconds after it was asked
# to end: saving SECONDS TASK…
saving ()
{
    local task

    printf '%s' 'trap "echo asked >> mark.asked; mark end" TERM; mark ready.$SLURM_PROCID; await end; for i in $(seq '"$1"'0); do sleep 0.1; done; '
    for task in "${@:2}"; do
        printf 'mark ask.%s; await answer.%s; ' "$task" "$task"
    done
    printf 'mark saved; exit 42'
}

# A task that answers, and knows nothing of SIGTERM.
serving='mark ready.$SLURM_PROCID; await ask.$SLURM_TF_ROLE; mark answer.$SLURM_TF_ROLE; exec sleep 1000'

asked_once ()
{
    [ "$(cat "$work/mark.asked")" = asked ] || fail "the chief was not asked once: $(< "$work/mark.asked")"
}

needs_forwarded_signals ()
{
    [[ $proctrack == cgroup* ]] || skip "with proctrack/$proctrack Slurm signals every process itself"
}

# The tests' KillWait is 5 s, and nothing kills these tasks.
# bats test_tags=core,release
@test "a job that is asked to end: the chief saves, for as long as it needs, with the help of its ps and workers" {
    needs_forwarded_signals
    ask_to_end 3 TERM -N2 -n3 --tf-tasks=chief,ps,worker ./by-role chief="$(saving 7 ps worker)" ps="$serving" worker="$serving"
    asked_step_ends 42 'exit 42' stopped stopped
    asked_once
}

@test "a job that is asked to end: workers without a chief save with the help of their ps" {
    needs_forwarded_signals
    ask_to_end 3 TERM -N2 -n3 --tf-tasks=ps,worker:2 ./by-role ps="$serving" worker0="$(saving 1 ps)" \
        worker1='mark ready.2; await saved; sleep 1; exit 5'
    await_asked_step
    message='srun: spank_tf: step J.S was cancelled'
    # The second worker had SIGTERM when the first one had.
    step_ends 143
    [[ $stderr == *"task 1: Exited with exit code 42"* ]] || fail "the first one has not saved"
    asked_once
}

# bats test_tags=core
@test "a job that is asked to end: a ps that handles SIGTERM gets it once, when the chief has saved" {
    needs_forwarded_signals
    ask_to_end 3 TERM -N2 -n3 --tf-tasks=chief,ps,worker ./by-role chief="$(saving 1)" worker="$serving" \
        ps='trap "ls mark.saved >> asked.ps; exit" TERM; mark ready.1; sleep 1000 & wait'
    asked_step_ends 42 'exit 42' stopped stopped
    [ "$(cat "$work/asked.ps")" = mark.saved ] || fail "it got SIGTERM before that, or twice"
}

@test "scancel of a job: a ps that handles SIGTERM gets it before SIGKILL, if its chief does not end" {
    needs_forwarded_signals
    ask_to_end 2 "" -N2 -n3 --tf-tasks=chief,ps,worker ./by-role chief='trap "" TERM; mark ready.0; while :; do sleep 0.1; done' \
        worker='exit 0' ps='trap "mark ps_was_asked; exit" TERM; mark ready.1; sleep 1000 & wait'
    wait "$step" || true
    [ -e "$work/mark.ps_was_asked" ] || fail "it did not get SIGTERM"
}

# It does so before the others have ended, and no order has come.
@test "a job that is asked to end: a ps that SIGTERM ends when KillWait is nearly over counts as stopped" {
    needs_forwarded_signals
    ask_to_end 3 TERM -N2 -n3 --tf-tasks=chief,ps,worker ./by-role worker="$serving" \
        ps='trap "mark ps_was_asked; exit 143" TERM; mark ready.1; sleep 1000 & wait' \
        chief='trap "mark asked" TERM; mark ready.0; await ps_was_asked; sleep 1; exit 42'
    asked_step_ends 42 'exit 42' stopped stopped
}

asked_as_often ()
{
    [ "$(cat "$work/mark.asked" 2> /dev/null)" = "$1" ]
}

@test "SIGTERM as a warning, and scancel later: a ps that handles SIGTERM gets it once for each" {
    needs_forwarded_signals
    site_arguments stop_grace=0
    ask_to_end 2 TERM -N2 -n2 --tf-tasks=ps,worker ./by-role worker='trap "" TERM; mark ready.1; while :; do sleep 0.1; done' \
        ps='trap "echo asked >> mark.asked" TERM; mark ready.0; while :; do sleep 0.1; done'
    eventually 20 asked_as_often asked || fail "it does not get the first one"
    slurm scancel -n asked
    wait "$step" || true
    asked_as_often $'asked\nasked' || fail "it did not get each once: $(< "$work/mark.asked")"
}

@test "--tf-stop=never, and --tf-stop=workers for workers: every task is asked to end at once" {
    ask_to_end 2 TERM -N2 -n2 --tf-stop=never --tf-tasks=ps,worker ./by-role ps='mark ready.0; exec sleep 1000' \
        worker='trap "" TERM; mark ready.1; sleep 3; exit 0'
    await_asked_step
    message='srun: spank_tf: step J.S was cancelled'
    step_ends 143
    [[ $stderr == *"task 0: Terminated"* && $stderr != *"task 1"* ]] || fail "the tasks end otherwise"
    rm "$work"/mark.*
    ask_to_end 3 TERM -N2 -n3 --tf-stop=workers --tf-tasks=chief,ps,worker ./by-role ps='mark ready.1; exec sleep 1000' \
        worker='mark ready.2; exec sleep 1000' chief='trap "" TERM; mark ready.0; sleep 3; exit 0'
    wait "$step" && status=0 || status=$?
    grep -q 'task 2: Terminated' "$work/err" || fail "the worker was not asked at once: $(< "$work/err")"
}

# There the supervisor cannot withhold a signal, but the chief keeps its time.
@test "a job that is asked to end, where Slurm signals every process: the chief saves without its ps" {
    [[ $proctrack != cgroup* ]] || skip "with proctrack/$proctrack Slurm signals supervisors only"
    message='srun: spank_tf: step J.S was cancelled'
    ask_to_end 3 TERM -N2 -n3 --tf-tasks=chief,ps,worker ./by-role chief="$(saving 2)" ps='mark ready.1; exec sleep 1000' worker="$serving"
    await_asked_step
    step_ends 143
    asked_once
    [ -e "$work/mark.saved" ] || fail "the chief has not saved"
}

# --- together with Slurm's own ways to end a step

# bats test_tags=core,release
@test "srun's exit code is the greatest of the tasks that ended by themselves" {
    run_and_show -N2 -n4 --tf-tasks=chief,ps,worker:2 ./by-role worker0='exit 9' chief='sleep 0.5; exit 3' worker1='trap "exit 20" TERM; sleep 1000 & wait'
    step_and_tasks_end 9 'exit 3' stopped 'exit 9' stopped
    run_and_show -N2 -n4 --tf-tasks=chief,ps,worker:2 ./by-role worker0='exit 2' chief='sleep 0.5; exit 3'
    step_and_tasks_end 3 'exit 3' stopped 'exit 2' stopped
}

# bats test_tags=core,release
@test "a batch script continues after a step that ended by itself, with the step's exit code" {
    batch -N3 --ntasks-per-node=2 --tf-tasks=chief,ps:2,worker:rest <<END
#!/bin/bash
srun -Q ./by-role chief='exit 3'
echo "code \$?"
srun -Q ./by-role chief='exit 0' && echo "well"
srun -Q ./by-role ps0='kill -KILL \$\$'
echo "code \$?"
srun -Q --tf-stop=never $task_check --roles=chief,ps,ps,worker,worker,worker
exit 4
END
    [ "$status" -eq 4 ] || fail "the script has another exit code"
    [ "$(grep -v ^task-check: <<< "$output")" = $'code 3\nwell\ncode 137' ] && all_ok "$output" 6 || fail "the script continues otherwise"
    message='srun: error: spank_tf: step J.S: ps 0 (rank 1, NODE) failed with signal 9. Its workers would wait for it forever and are stopped'
    [ "$(plugin_messages)" = "$message" ] || fail "not this message alone"
}

# --- incomplete installations

# bats test_tags=core,release
@test "a node without tf-supervise is reported before any program starts, if the step needs it" {
    not_by_static_file "it is tf-supervise as well"
    local lib=$SPANK_TF_STAGE/libexec/spank-tf nodes

    nodes=$(node 1),$(node 2)
    mkdir "$work/lib"
    cp "$lib/tf-rendezvous" "$lib/tf-addresses" "$work/lib"
    "$tests/cluster" run --on "$(node 2)" mount --bind "$work/lib" "$lib"
    message="srun: error: spank_tf: step J.S: worker 0 (rank 2, NODE): $lib/tf-supervise: No such file or directory; spank-tf is not installed completely there"
    run_step -w "$nodes" --ntasks-per-node=2 --tf-tasks=chief,ps,worker:2 sh -c 'touch started'
    step_ends 1
    [ ! -e "$work/started" ] || fail "a program was started"
    message="srun: spank_tf: step J.S: worker 2 (rank 2, NODE): $lib/tf-supervise: No such file or directory; spank-tf is not installed completely there; the step runs without supervisors, so srun does not report which task fails first"
    run_step -w "$nodes" --ntasks-per-node=2 --tf-tasks=worker:4 "$task_check" --roles=worker,worker,worker,worker
    step_ends 0
    all_ok "$output" 4 || fail "a task is not ok"
    message=
    run_step -w "$nodes" --ntasks-per-node=2 --tf-stop=never --tf-tasks=chief,ps,worker:2 "$task_check" --roles=chief,ps,worker,worker
    step_ends 0
    all_ok "$output" 4 || fail "a task is not ok"
    "$tests/cluster" run --on "$(node 2)" umount "$lib"
}
