#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The test infrastructure itself: a Slurm daemon that dies is reported and restarted, and the test
# that it disturbed is repeated, or fails if the plugin was the cause. Each test here runs bats on
# a small file of tests that kills a daemon of its own cluster.

# bats file_tags=core
load ../common

# There is no cluster but those of the inner tests.
after_test ()
{
    :
}

# Run bats on a file that consists of the common functions and the text on stdin, in which a test
# begins with %test: bats takes every @test of this file for one of its own.
run_bats_on_stdin ()
{
    local file=$BATS_TEST_TMPDIR/inner.bats

    { printf 'load %q\n' "$tests/common"; sed 's/^%test/@test/'; } > "$file"
    deaths=$BATS_TEST_TMPDIR/deaths
    : > "$deaths"
    # The program of that name in PATH is now another one, which needs what the one in bin sets.
    run env -u BATS_TEST_NAME_PREFIX -u BATS_TEST_TIMEOUT -u BATS_ROOT -u BATS_RUN_TMPDIR SPANK_TF_DEATHS="$deaths" \
        ${timeout:+BATS_TEST_TIMEOUT="$timeout"} \
        "$BATS_ROOT/bin/bats" --tap "$file" 3>&-
}

@test "a slurmd that crashes is reported and restarted, and a test that passed is repeated" {
    run_bats_on_stdin <<'TESTS'
setup_file () { start_cluster --nodes 2; }

%test "a job runs" {
    slurm srun -N2 true
    [ "$BATS_TEST_TRY_NUMBER" -gt 1 ] || slurm sbatch -Q -N2 --wrap "srun sleep 600"
    [ "$BATS_TEST_TRY_NUMBER" -gt 1 ] || kill -SEGV "$(< "$SPANK_TF_CLUSTER/$(node 1).pid")"
}

%test "another job runs" {
    slurm srun -N2 true
}
TESTS
    [ "$status" -eq 0 ] || fail "the repeated test, or the one after it, does not pass"
    grep -q '^ok 1 a job runs' <<< "$output" && grep -q '^ok 2 another' <<< "$output" || fail "not both tests pass"
    grep -q '^# .*: slurmd has died$' <<< "$output" && grep -q '^#  *#[0-9]* .* main ()' <<< "$output" || fail "no report"
    [ "$(grep -c 'a job runs$' "$deaths")" -eq 1 ] && [ "$(wc -l < "$deaths")" -eq 1 ] || fail "counted wrong: $(< "$deaths")"
}

@test "a slurmctld that crashes is restarted, and a test that failed by it is repeated" {
    run_bats_on_stdin <<'TESTS'
setup_file () { start_cluster --nodes 1; }

%test "a job runs" {
    [ "$BATS_TEST_TRY_NUMBER" -gt 1 ] || { kill -SEGV "$(< "$SPANK_TF_CLUSTER/slurmctld.pid")"; false; }
    slurm srun -N1 true
}
TESTS
    [ "$status" -eq 0 ] && grep -q '^ok 1' <<< "$output" || fail "the repeated test does not pass"
    grep -q '^# .*slurmctld: slurmctld has died$' <<< "$output" || fail "no report"
    [ "$(wc -l < "$deaths")" -eq 1 ] || fail "counted wrong: $(< "$deaths")"
}

@test "a slurmd that crashes is restarted, and a test that waits for it until its timeout is repeated" {
    timeout=10 run_bats_on_stdin <<'TESTS'
setup_file () { start_cluster --nodes 1; }

%test "a job runs" {
    [ "$BATS_TEST_TRY_NUMBER" -gt 1 ] || { kill -SEGV "$(< "$SPANK_TF_CLUSTER/$(node 1).pid")"; sleep 60 3>&- & wait; }
    slurm srun -N1 true
}
TESTS
    [ "$status" -eq 0 ] && grep -q '^ok 1' <<< "$output" || fail "the repeated test does not pass"
    [ "$(wc -l < "$deaths")" -eq 1 ] || fail "counted wrong: $(< "$deaths")"
}

@test "a daemon that crashes each time fails the test" {
    run_bats_on_stdin <<'TESTS'
setup_file () { start_cluster --nodes 1; }

%test "never without a crash" {
    kill -SEGV "$(< "$SPANK_TF_CLUSTER/$(node 1).pid")"
}
TESTS
    [ "$status" -eq 1 ] && grep -q '^not ok 1' <<< "$output" || fail "the test does not fail"
    [ "$(wc -l < "$deaths")" -eq 2 ] || fail "repeated otherwise than twice: $(< "$deaths")"
}

@test "a slurmd that crashes in a plugin's code fails the test at once" {
    cc -shared -fPIC -o "$BATS_FILE_TMPDIR/crashing_plugin.so" "$tests/selftest/crashing_plugin.c"
    echo "required $BATS_FILE_TMPDIR/crashing_plugin.so" > "$BATS_FILE_TMPDIR/plugstack.conf"
    export CRASHING_PLUGSTACK=$BATS_FILE_TMPDIR/plugstack.conf
    run_bats_on_stdin <<'TESTS'
setup_file ()
{
    start_cluster --nodes 1 --plugstack "$CRASHING_PLUGSTACK"
}

exited ()
{
    [ ! -e "/proc/$1" ]
}

%test "it crashes once" {
    pid=$(< "$SPANK_TF_CLUSTER/$(node 1).pid")
    [ "$BATS_TEST_TRY_NUMBER" -gt 1 ] || kill -TERM "$pid"
    eventually 10 exited "$pid"
}
TESTS
    [ "$status" -eq 1 ] && grep -q '^not ok 1' <<< "$output" || fail "the test does not fail"
    grep -q 'code of spank_tf.so is in this backtrace' <<< "$output" && grep -q 'slurm_spank_slurmd_exit' <<< "$output" ||
        fail "the backtrace is not shown"
    [ ! -s "$deaths" ] || fail "counted as Slurm's own fault: $(< "$deaths")"
}

@test "a daemon that disappears without a core file fails the test at once" {
    run_bats_on_stdin <<'TESTS'
setup_file () { start_cluster --nodes 1; }

%test "it disappears" {
    pid=$(< "$SPANK_TF_CLUSTER/$(node 1).pid")
    kill -KILL "$pid"
    until [ ! -e "/proc/$pid" ]; do sleep 0.1; done
}
TESTS
    [ "$status" -eq 1 ] && grep -q '^not ok 1' <<< "$output" && grep -q 'no core file' <<< "$output" || fail "the test does not fail"
    [ ! -s "$deaths" ] || fail "counted as Slurm's own fault: $(< "$deaths")"
}

@test "--own-pids: a node sees its own processes only, and its slurmd is restarted like any other" {
    run_bats_on_stdin <<'TESTS'
setup_file () { start_cluster --nodes 2 --own-pids; }

%test "a job sees one slurmd" {
    [ "$(slurm srun -N2 sh -c 'grep -lx slurmd /proc/[0-9]*/comm | wc -l' | paste -sd' ')" = "1 1" ]
    [ "$BATS_TEST_TRY_NUMBER" -gt 1 ] || kill -SEGV "$(< "$SPANK_TF_CLUSTER/$(node 1).pid")"
}
TESTS
    [ "$status" -eq 0 ] && grep -q '^ok 1' <<< "$output" || fail "the repeated test does not pass"
    [ "$(wc -l < "$deaths")" -eq 1 ] || fail "counted wrong: $(< "$deaths")"
}

# Slurm 24.11 and later move the processes of slurmd's cgroup, and slurmd does not start when one of them
# ends meanwhile. slurmd forks to become a daemon, and the processes in between end at any time.
@test "cgroup-v2: slurmd is alone in its cgroup when it starts, and when it is restarted" {
    local cluster=$BATS_FILE_TMPDIR/c programs=$BATS_TEST_TMPDIR/programs started=$BATS_TEST_TMPDIR/started

    "$tests/cluster" supports cgroup-v2 || skip "there is no cgroup v2 for it"
    chmod 755 "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR"
    mkdir "$programs"
    cat > "$programs/slurmd" << END
#!/bin/bash
if [ "\$*" != -V ]; then
    read -r cgroup < /proc/self/cgroup
    mapfile -t processes < "/sys/fs/cgroup\${cgroup#0::}/cgroup.procs"
    echo "\${#processes[@]} \$1" >> $started
fi
exec $(type -P slurmd) "\$@"
END
    chmod 755 "$programs/slurmd"
    export PATH=$programs:$PATH
    "$tests/cluster" start --dir "$cluster" --proctrack cgroup-v2 --nodes 1
    kill -SEGV "$(< "$cluster/$(< "$cluster/nodes").pid")"
    "$tests/cluster" check --dir "$cluster" || [ $? -eq 3 ]
    "$tests/cluster" stop --dir "$cluster"
    [ "$(< "$started")" = $'1 -D\n1 -D' ] || fail "beside it, processes may end, or it forks: $(< "$started")"
}

@test "every bats file leaves setup, teardown and teardown_file to common.bash" {
    run grep -nE '^(setup|teardown|teardown_file) *\(\)' "$tests"/*/*.bats "$tests"/*/*.bash
    [ "$status" -eq 1 ] || fail "these would switch the check of the daemons off"
}
