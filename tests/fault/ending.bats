#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Faults while a job runs, and while it ends by itself: of tasks, supervisors, the rendezvous,
# srun and the network. The job still ends as it should, or a message says that it will not end
# by itself; and nothing is left behind.

# bats file_tags=proctrack:cgroup,proctrack:linuxproc
load ../system/launch
load ../system/roles
load faults

# task-check exits by itself, and must not be stopped before that.
step+=(--tf-stop=never)

setup_file ()
{
    start_fault_cluster
    write_by_role
}

# Start a step of three tasks in the test's job: the chief on the first node, the ps on the
# second, the worker on the third. start_by_role OPTION… ./by-role ROLE=COMMANDS…
start_by_role ()
{
    rm -f "$work"/mark.*
    start_srun --jobid="$job" -w "$(node 1),$(node 2),$(node 3)" -N3 -n3 --tf-tasks=chief,ps,worker "$@"
}

await_mark ()
{
    eventually 20 test -e "$work/mark.$1" || fail "no task has marked $1: $(< "$srun_output")"
}

# Require that srun exits within so many seconds, with this code, and, with --tf-show, that its
# tasks end so: srun_and_tasks_end SECONDS CODE END…
srun_and_tasks_end ()
{
    srun_ends "$1"
    [ "$status" -eq "$2" ] || fail "srun's exit code is not $2: $(< "$srun_output")"
    stderr=$(< "$srun_output")
    (($# == 2)) || tasks_end "${@:3}"
}

# Wait until all three tasks run their programs; a task without commands runs sleep.
all_programs_run ()
{
    await_mark there
    eventually 20 processes 2 sleep && eventually 20 processes 3 sleep || fail "not every program runs: $(< "$srun_output")"
}

# The user's processes with this name on the N-th node: processes N NAME
processes ()
{
    pgrep -r D,R,S,T -xu "$user" "$2" --nslist net --ns "$(< "$SPANK_TF_CLUSTER/$(node "$1").pid")"
}

# --- the stop comes while a task is still being launched

# bats test_tags=core
@test "a ps that is still in its task prolog when the chief ends is stopped, and its program never starts" {
    site_arguments stop_grace=1
    cat > "$work/prolog" <<'END'
#!/bin/sh
[ $SLURM_PROCID -ne 1 ] || { touch mark.prolog; exec sleep 1000; }
END
    chmod 755 "$work/prolog"
    start_by_role --tf-show --task-prolog="$work/prolog" ./by-role chief='await prolog; exit 3' ps='mark started; exec sleep 1000'
    srun_and_tasks_end 10 3 'exit 3' stopped stopped
    [ ! -e "$work/mark.started" ] || fail "its program was started"
    site_arguments
}

# bats test_tags=core
@test "a rank that has not yet read the rendezvous' answer when the chief ends is stopped" {
    stop_slurmd 3
    start_by_role --tf-show ./by-role chief='exit 3'
    eventually 20 registered 2
    rank=$(processes 2 tf-rank)
    kill -STOP "$rank"
    continue_slurmd 3
    eventually 20 printed 'task 0: Exited with exit code 3'
    kill -CONT "$rank"
    srun_and_tasks_end 10 3 'exit 3' stopped stopped
}

@test "tasks that exit at the moment when they are stopped: each is reported as stopped or with its own exit code" {
    # All tasks exit at the next quarter of a second.
    together='t=$(date +%s%N); sleep $(printf 0.%09d $((250000000 - t % 250000000)))'
    for i in {1..20}; do
        ps=$((i % 2 * 3)) worker=$((i / 2 % 2 * 5))
        start_srun --jobid="$job" -w "$(node 1),$(node 2),$(node 3)" -N3 -n3 --tf-show --tf-tasks=ps,worker:2 \
            ./by-role ps="$together; exit $ps" worker="$together; exit $worker"
        srun_ends 10
        stderr=$(< "$srun_output")
        ends=$(task_ends "$srun_output" | cut -d' ' -f4-)
        [ "$(wc -l <<< "$ends")" -eq 3 ] && ! grep -vxE "stopped|exit 0|exit $ps|exit $worker" <<< "$ends" ||
            fail "these are not their ends: $stderr"
        # As Slurm does it: the greatest exit code.
        greatest=$(cut -d' ' -f2 <<< "${ends//stopped/exit 0}" | sort -n | tail -n 1)
        [ "$status" -eq "$greatest" ] || fail "srun's exit code is $status: $stderr"
    done
}

# --- srun

@test "srun is killed while a task is in its grace time: nothing is left behind" {
    site_arguments rendezvous_ports=25000-25999 stop_grace=60
    for signal in INT TERM KILL; do
        start_by_role ./by-role chief='await ready; exit 3' ps='trap "mark asked" TERM; mark ready; while :; do sleep 1; done'
        await_mark asked
        # shellcheck disable=SC2034  # for within
        since=$(now_ms)
        kill -$signal "$srun"
        [ $signal != INT ] || { eventually 10 printed 'one more within 1 sec'; kill -INT "$srun"; }
        within 10000 no_process_left
        repair
        cluster_is_usable
        allocate_job
    done
}

# --- the rendezvous

# bats test_tags=core
@test "tf-rendezvous is killed before any rank has started: no program starts, and a message says why" {
    stop_slurmd 1
    stop_slurmd 2
    stop_slurmd 3
    start_by_role sh -c 'echo > started.$SLURM_PROCID'
    eventually 20 rendezvous
    kill -KILL "$(rendezvous)"
    continue_slurmd 1
    continue_slurmd 2
    continue_slurmd 3
    srun_and_tasks_end 20 1
    printed 'error: spank_tf: .*: no rendezvous listens on ' ||
        fail "no message about the rendezvous: $(< "$srun_output")"
    no_program_started
}

# The chief runs. The ps has not read its answer: its process is $rank.
start_with_slow_ps ()
{
    stop_slurmd 3
    start_by_role "$@" ./by-role chief='mark there; await end; exit 3'
    eventually 20 registered 2
    rank=$(processes 2 tf-rank)
    kill -STOP "$rank"
    continue_slurmd 3
    await_mark there
}

@test "tf-rendezvous is killed while the job runs: it goes on, and the others are stopped when the chief ends" {
    start_with_slow_ps --tf-show
    kill -KILL "$(rendezvous)"
    kill -CONT "$rank"
    all_programs_run
    eventually 20 printed 'tf-rendezvous was killed and restarted. The job continues$' || fail "no line: $(< "$srun_output")"
    kill -KILL "$(rendezvous)"
    eventually 20 rendezvous
    touch "$work/mark.end"
    srun_and_tasks_end 60 3 'exit 3' stopped stopped
    [ "$(grep -c 'how its tasks ended' "$srun_output")" -eq 1 ] || fail "not one table: $(< "$srun_output")"
    printed 'first failure: chief 0 \(.*, exit code 3' || fail "the failure is not named: $(< "$srun_output")"
}

# --- the network

# Drop all packets between the rendezvous and the N-th node.
cut_connection ()
{
    "$tests/cluster" run --on "$(node "$1")" -- iptables -I INPUT -p tcp --sport 25000:25999 -j DROP
    "$tests/cluster" run --on "$(node "$1")" -- iptables -I OUTPUT -p tcp --dport 25000:25999 -j DROP
}

restore_connections ()
{
    local node

    for node in 1 2 3; do
        "$tests/cluster" run --on "$(node "$node")" -- iptables -F
    done
}

after_test ()
{
    restore_connections
    repair
    site_arguments rendezvous_ports=25000-25999
    cluster_is_usable
}

worker_ended ()
{
    ! processes 3 tf-supervise
}

@test "the chief ends while the ps' node is cut off from the rendezvous for good: the worker is stopped, and scancel ends the job" {
    start_by_role ./by-role chief='mark there; await cut; exit 3'
    all_programs_run
    cut_connection 2
    touch "$work/mark.cut"
    # Its supervisor waits a minute for the return of the rendezvous.
    eventually 75 printed 'task 0: Exited with exit code 3' || fail "the chief does not end"
    eventually 10 worker_ended || fail "the worker does not end"
    processes 2 sleep || fail "the ps has ended"
    slurm scancel "$(slurm squeue -h -s -o %i)"
    srun_ends 10
    [ "$status" -ne 0 ] || fail "srun succeeds"
}

# --- supervisors

# bats test_tags=core
@test "a supervisor is killed: its program is killed, too" {
    start_by_role ./by-role chief='mark there; exec sleep 1000'
    await_mark there
    id=$(slurm squeue -h -s -o %i)
    kill -KILL "$(processes 1 tf-supervise)"
    eventually 5 printed 'task 0: Killed' || fail "the task has not ended"
    ! processes 1 sleep || fail "its program still runs"
    # It fails if the step has already ended.
    slurm scancel "$id" || true
    srun_ends 10
}

@test "a task and its supervisor are killed together, as by the OOM killer: the job ends" {
    start_by_role ./by-role chief='mark there; kill -KILL 0'
    srun_and_tasks_end 30 137
    start_by_role ./by-role ps='kill -KILL 0'
    srun_and_tasks_end 30 137
}
