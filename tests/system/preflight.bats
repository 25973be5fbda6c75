#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# --tf-preflight: what is checked on real nodes, and what becomes of a bad one.

load ../common
load launch

setup_file ()
{
    start_cluster --nodes 4
}

before_test ()
{
    work=$SPANK_TF_CLUSTER/work
    check=$work/check
    out=$BATS_TEST_TMPDIR/srun.out
    find "$work" -mindepth 1 -delete
}

after_test ()
{
    "$tests/cluster" run --on "$(node 2)" -- sh -c 'tc qdisc del dev eth0 root; iptables -F; true' 2> /dev/null
    nothing_left
}

# The program of the preflight is this script; it is bad on node 2 where it says so.
write_check ()
{
    printf '#!/bin/sh\nis_2 () { [ "$SLURMD_NODENAME" = %s ]; }\n%s\n' "$(node 2)" "$1" > "$check"
    chmod 755 "$check"
}

# preflight NODES LIST ITEMS COMMAND…: the output, and the exit code in `code`.
preflight ()
{
    code=0
    # shellcheck disable=SC2086  # several options
    slurm srun -N"$1" ${list_options:-} --tf-tasks="$2" --tf-preflight="$3" "${@:4}" > "$out" 2>&1 || code=$?
}

expects ()
{
    grep -qF -e "$1" "$out" || fail "no \"$1\": $(< "$out")"
}

# bats test_tags=core
@test "good nodes pass all checks, and programs start as their first run" {
    preflight 3 worker:3 yes sh -c 'echo "run ${SLURM_TF_RESTART:-first}"'
    [ "$code" -eq 0 ] && [ "$(grep -c '^run first$' "$out")" -eq 3 ] || fail "$(< "$out")"
    [ "$(wc -l < "$out")" -eq 3 ] || fail "it prints more: $(< "$out")"
    [ -z "$(find "$work" -name '.spank_tf*')" ]
}

# bats test_tags=core
@test "a bad node's task gets a spare before anything starts, without a restart" {
    write_check '! is_2 || { echo first; echo "GPU 3 is bad"; exit 4; }'
    preflight 4 worker:3,spare "$check" sh -c 'echo "on $SLURMD_NODENAME run ${SLURM_TF_RESTART:-first}"'
    [ "$code" -eq 0 ]
    expects "$(node 2) did not pass the preflight: $check: \"GPU 3 is bad\". Result: worker 1 (rank 1) is now rank 3 on $(node 4)"
    expects "on $(node 4) run first"
    ! grep -q "^on $(node 2)" "$out" || fail "$(< "$out")"
}

@test "without a spare the step is refused with 125, and with warn it starts" {
    write_check '! is_2 || exit 4'
    preflight 2 worker:2 "$check" touch "$work/started"
    [ "$code" -eq 125 ]
    [ ! -e "$work/started" ]
    expects "$check: exit code 4, and no output. Result: no spare is free for its tasks"
    expects "the preflight has refused the step, and no program was started (exit code 125). Leave bad nodes out (--exclude=$(node 2))"
    ! grep -q "first failure" "$out" || fail "a task failed: $(< "$out")"
    preflight 2 worker:2 "$check,warn" touch "$work/started"
    [ "$code" -eq 0 ]
    [ -e "$work/started" ]
    expects "its tasks start there all the same (warn)"
}

@test "a program that hangs, forks, prints a megabyte, is not there or not executable ends, and leaves nothing" {
    write_check 'setsid sleep 987 & sleep 988'
    preflight 2 worker:2 "$check,timeout=1" true
    [ "$code" -eq 125 ]
    expects "$check: no result within 1 s"
    write_check 'setsid sleep 987 > /dev/null 2>&1 & head -c 1500000 /dev/zero | tr "\0" x; exit 0'
    preflight 2 worker:2 "$check" sh -c 'pgrep -u "$(id -u)" -x sleep'
    [ "$code" -eq 1 ] || fail "something is left: $(< "$out")"
    write_check 'head -c 1500000 /dev/zero | tr "\0" x; echo; echo last; exit 1'
    preflight 2 worker:2 "$check" true
    expects "$check: \"last\""
    chmod 644 "$check"
    preflight 2 worker:2 "$check" true
    expects "$check: cannot be executed: Permission denied"
    preflight 2 worker:2 "$check.not" true
    expects "preflight: all 2 nodes: $check.not: cannot be executed: No such file or directory"
}

# drops A B: node A drops packets that node B sends it.
drops ()
{
    "$tests/cluster" run --on "$(node "$1")" -- iptables -A INPUT -s "$(address "$(node "$2")")" -p tcp -j DROP
}

@test "a slow link is compared with the others, and its node is bad" {
    "$tests/cluster" run --on "$(node 2)" -- tc qdisc add dev eth0 root tbf rate 20mbit burst 64kbit latency 100ms
    preflight 4 worker:4 links true
    [ "$code" -eq 125 ] && [ "$(grep -c 'did not pass' "$out")" -eq 1 ] || fail "$(< "$out")"
    expects "$(node 2) did not pass the preflight: links: "
    expects "is the median of the nodes"
}

@test "a firewall between two nodes is named, and makes none of them bad" {
    drops 2 1
    preflight 3 worker:3 links true
    [ "$code" -eq 0 ] && [ "$(wc -l < "$out")" -eq 1 ] || fail "$(< "$out")"
    expects "preflight: $(node 1) and $(node 2) do not reach each other, and both reach other nodes"
}

@test "a node that hears no other node is bad, and gets a spare" {
    drops 2 1
    drops 2 3
    list_options="--no-kill --tf-restart=1" preflight 3 worker:2,spare links true
    [ "$code" -eq 0 ] || fail "$(< "$out")"
    expects "$(node 2) did not pass the preflight: links: it reaches no other node. Result: worker 1 (rank 1) is now rank 2 on $(node 3)"
}

# What happens on a cluster: the events are in journals of many nodes, and root reads all of them, as with clush.
start_journals ()
{
    local name

    cp "$tests/../contrib/notify/drain" "$work/drain"
    for name in "$@"; do
        "$tests/cluster" run --on "$name" -- mount -t tmpfs tmpfs /run
        "$tests/cluster" run --on "$name" -- sh -c 'mkdir -p /run/systemd/journal /run/log/journal; exec /lib/systemd/systemd-journald' \
            > "$BATS_TEST_TMPDIR/journald.$name" 2>&1 3>&- &
        journals+=($!)
        eventually 20 "$tests/cluster" run --on "$name" -- test -S /run/systemd/journal/socket || fail "$(cat "$BATS_TEST_TMPDIR/journald.$name")"
    done
    # shellcheck disable=SC2016  # of that script
    printf '"%s" run --on "%s" -- journalctl "$@"\n' "$tests/cluster" "$1" "$tests/cluster" "$2" > "$BATS_TEST_TMPDIR/everywhere"
}

# What root's timer does, with COMMAND, which prints journals; then print the nodes that are drained: collect COMMAND [OPTIONS]
collect ()
{
    "$tests/cluster" run -- "$work/drain" --collect --journalctl="$1" --state="$BATS_TEST_TMPDIR/state" "${@:2}" > "$BATS_TEST_TMPDIR/drain.out"
    slurm sinfo -h -N -t drain -o '%N %E'
}

# bats test_tags=plugin
@test "contrib/notify/drain: one user drains no node; two do, whose batch jobs have other first nodes" {
    local everywhere="sh $BATS_TEST_TMPDIR/everywhere" here job journals=() name result
    local -a on_node=("$tests/cluster" run --on)

    # Slurm kills what the batch script leaves.
    job='srun --tf-tasks=worker:3 --tf-preflight=links true; code=$?; while pgrep -x -u "$(id -u)" tf-notify; do sleep 0.1; done; exit $code'
    start_journals "$(node 1)" "$(node 2)"
    site_arguments "notify=$work/drain"
    "${on_node[@]}" "$(node 4)" -- tc qdisc add dev eth0 root tbf rate 20mbit burst 64kbit latency 100ms
    run slurm sbatch -Q -W -N3 -o "$work/own" -w "$(node 1),$(node 2),$(node 4)" --wrap="$job"
    [ "$status" -eq 125 ] || fail "$output; $(cat "$work/own")"
    "${on_node[@]}" "$(node 1)" -- journalctl --sync
    result=$(collect "$everywhere")
    [ -z "$result" ] || fail "one user drains $result"
    collect "$everywhere" --users=1 --dry-run
    result="dry run: $(< "$BATS_TEST_TMPDIR/drain.out")"
    run -125 "$tests/cluster" run --user "$other_user" -- sbatch -Q -W -N3 -o /dev/null -w "$(node 2),$(node 3),$(node 4)" --wrap="$job"
    "${on_node[@]}" "$(node 2)" -- journalctl --sync
    for name in "$(node 1)" "$(node 2)"; do
        here=$(collect "${on_node[*]} $name -- journalctl")
        result+=", of one node: $here"
    done
    result+=", two users: $(collect "$everywhere")"
    "$tests/cluster" run -- scontrol update NodeName="$(node 4)" State=RESUME || true
    "${on_node[@]}" "$(node 4)" -- tc qdisc del dev eth0 root
    kill "${journals[@]}"
    for name in "$(node 1)" "$(node 2)"; do
        "${on_node[@]}" "$name" -- umount -l /run
    done
    [ "$result" = "dry run: drain $(node 4): spank_tf preflight: links, of 1 users, of one node: , of one node: , two users: $(node 4) spank_tf preflight: links, of 2 users" ] ||
        fail "$result"
}

# From now on $work/bin has these programs, which add a line to $work/calls: count_calls PROGRAM…
count_calls ()
{
    local name

    mkdir "$work/bin"
    for name in "$@"; do
        # shellcheck disable=SC2016  # of that script
        printf '#!/bin/sh\necho >> %s\nexec %s "$@"\n' "$work/calls" "$(command -v "$name")" > "$work/bin/$name"
    done
    chmod 755 "$work/bin"/*
}

# True if so many jobs run.
runs_jobs ()
{
    [ "$("$tests/cluster" run -- squeue -h -t R | wc -l)" -eq "$1" ]
}

# What prints these records, as journalctl does, is $work/journal: write_records < LINES, each "UID JOB NODE"
write_records ()
{
    awk -v at="$(date +%s%6N)" '{ printf "{\"__REALTIME_TIMESTAMP\":\"%s\",\"_UID\":\"%s\",\"MESSAGE\":\"{\\\"job\\\":%s,\\\"node\\\":\\\"%s\\\",\\\"item\\\":\\\"links\\\"}\"}\n", at, $1, $2, $3 }' \
        > "$work/records"
    echo "cat $work/records" > "$work/journal"
}

# bats test_tags=plugin
@test "contrib/notify/drain: a job whose name has nodes and users, and records without end, drain no node" {
    local job name own result who

    cp "$tests/../contrib/notify/drain" "$work/drain"
    count_calls scontrol squeue
    for who in "$user" "$other_user"; do
        own=$(id -u "$who")
        # Slurm prints the name before the user and the nodes. One is not UTF-8.
        name=$'\xff'" UserId=x($own) NodeList=ALL x"
        job=$("$tests/cluster" run --user "$who" -- sbatch --parsable -J "$name" -n1 -w "$(node 1)" -o /dev/null --wrap='sleep 100')
        seq 2000 | sed "s/.*/$own & $(node 3)/"
        # As in a user namespace: nobody has these numbers.
        seq 2000000001 2000001000 | sed "s/.*/& $job $(node 1)/"
        echo "$own $job ALL"
        echo "$own $job $(node 3)"
        echo "$own $job $(node 1)"
    done | write_records
    eventually 30 runs_jobs 2 || fail "the jobs do not run"
    PATH=$work/bin:$PATH collect "sh $work/journal" > "$BATS_TEST_TMPDIR/drained"
    result="$(xargs < "$BATS_TEST_TMPDIR/drained"), $(($(wc -l < "$work/calls") < 300))"
    for name in 1 2 3 4; do
        "$tests/cluster" run -- scontrol update NodeName="$(node $name)" State=RESUME 2> /dev/null || true
    done
    end_all
    [ "$result" = "$(node 1) spank_tf preflight: links, of 2 users, 1" ] || fail "$result"
}

# A job of this user on node 1, whose number is in $job.
sleep_on_node_1 ()
{
    job=$("$tests/cluster" run --user "$1" -- sbatch --parsable -n1 -w "$(node 1)" -o /dev/null --wrap='sleep 100')
}

take_back ()
{
    "$tests/cluster" run -- scontrol update NodeName="$(node 1)" State=RESUME || true
}

# bats test_tags=plugin
@test "contrib/notify/drain: what Slurm has confirmed counts when it has forgotten the job, and a node that was taken back stays" {
    local first job result

    cp "$tests/../contrib/notify/drain" "$work/drain"
    mkdir "$work/bin"
    sleep_on_node_1 "$user"
    first="$(id -u "$user") $job $(node 1)"
    # shellcheck disable=SC2016  # of that script
    printf '#!/bin/sh\ncase "$*" in *--jobs=%s" "*) exit 1 ;; esac\nexec %s "$@"\n' "$job" "$(command -v squeue)" > "$work/bin/squeue"
    chmod 755 "$work/bin/squeue"
    sleep_on_node_1 "$other_user"
    eventually 30 runs_jobs 2 || fail "the jobs do not run"
    write_records <<< "$first"
    result="one: $(collect "sh $work/journal")"
    write_records <<< "$first"$'\n'"$(id -u "$other_user") $job $(node 1)"
    printf '#!/bin/sh\n[ "$1" != update ] || exit 1\nexec %s "$@"\n' "$(command -v scontrol)" > "$work/bin/scontrol"
    chmod 755 "$work/bin/scontrol"
    result+=", refused: $(PATH=$work/bin:$PATH collect "sh $work/journal")"
    rm "$work/bin/scontrol"
    result+=", both: $(PATH=$work/bin:$PATH collect "sh $work/journal")"
    take_back
    result+=", taken back: $(collect "sh $work/journal")"
    write_records <<< "$first"$'\n'"$(id -u "$other_user") $job $(node 1)"
    result+=", bad again: $(collect "sh $work/journal")"
    take_back
    end_all
    [ "$result" = "one: , refused: , both: $(node 1) spank_tf preflight: links, of 2 users, taken back: , bad again: $(node 1) spank_tf preflight: links, of 2 users" ] ||
        fail "$result"
}

@test "preflight= of a site, --tf-preflight=no, sbatch, salloc, and inside the script" {
    local job="srun -N2 --tf-tasks=worker:2"

    write_check '! is_2 || exit 4'
    site_arguments "preflight=$check"
    run -125 --separate-stderr slurm srun -N2 --tf-tasks=worker:2 true
    [[ $stderr == *"$(node 2) did not pass the preflight: $check: exit code 4"* ]] || fail "srun: $stderr"
    run -0 --separate-stderr slurm srun -N2 --tf-tasks=worker:2 --tf-preflight=no true
    [ -z "$stderr" ] || fail "no: $stderr"
    site_arguments
    run -125 slurm salloc -Q -N2 --tf-preflight="$check" sh -c "$job true"
    run -125 slurm sbatch -Q -W -N2 -o "$work/inherited" --tf-preflight="$check" --wrap="$job true"
    run -125 slurm sbatch -Q -W -N2 -o "$work/inside" --wrap="$job --tf-preflight=$check true"
    [ "$(grep -l "$(node 2) did not pass the preflight" "$work/inherited" "$work/inside" | wc -l)" -eq 2 ] || fail "no line"
}

@test "scancel while nodes are checked calls none of them bad" {
    local job last tasks

    write_check "echo > $work/checks.\$SLURM_JOB_ID.\$SLURMD_NODENAME; exec sleep 900"
    for tasks in 1 2; do
        last=$(node $tasks)
        job=$(slurm sbatch --parsable -N$tasks -w "$(node 1),$last" -o "$work/cancelled" --wrap="srun --tf-tasks=worker:$tasks --tf-preflight=$check touch started")
        eventually 30 test -e "$work/checks.$job.$(node 1)" -a -e "$work/checks.$job.$last" || fail "no checks: $(< "$work/cancelled")"
        slurm scancel "$job"
        eventually 60 job_has_ended "$job"
        ! grep -E 'did not pass|refused|first failure' "$work/cancelled" || fail "$(< "$work/cancelled")"
    done
}

@test "Ctrl-C while nodes are checked ends the step, and leaves nothing" {
    write_check "echo > $work/checks.\$SLURMD_NODENAME; exec sleep 900"
    # shellcheck disable=SC2016  # of that shell
    run --separate-stderr slurm timeout 120 sh -c '"$@" & pid=$!
        until [ -e checks.'"$(node 1)"' ] && [ -e checks.'"$(node 2)"' ]; do sleep 0.1; done
        kill -INT $pid; sleep 0.2; kill -INT $pid; wait $pid' sh \
        srun -N2 --tf-tasks=worker:2 --tf-preflight="$check,timeout=1h" touch started
    [ "$status" -ne 0 ] && [ "$status" -ne 124 ] && [ ! -e "$work/started" ] || fail "it goes on"
    [[ $stderr != *'did not pass'* ]] || fail "a node is called bad"
}
