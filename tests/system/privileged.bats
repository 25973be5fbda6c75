#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What slurmstepd does as root is the same in a step with a list as in a plain one, and in that the same as without the
# plugin: it opens, connects to and starts nothing more.

load ../common
load launch

setup_file ()
{
    start_cluster --nodes 1
    slurm srun -Q -n1 true
}

# Print what slurmstepd does as root in a step: as_root ARGUMENTS-OF-SRUN...
as_root ()
{
    local trace=$SPANK_TF_CLUSTER/work/trace slurmd strace

    slurmd=$(< "$SPANK_TF_CLUSTER/$(node 1).pid")
    strace -f -qq -s 200 -o "$trace" \
        -e trace=socket,connect,bind,listen,open,openat,creat,mkdir,unlink,rename,execve,fork,vfork,clone,clone3,setuid,setresuid,setreuid \
        -p "$slurmd" 3>&- &
    strace=$!
    eventually 10 grep -q '^TracerPid:[[:space:]]*[1-9]' "/proc/$slurmd/status"
    slurm srun -Q "$@" > /dev/null || fail "the step fails"
    nothing_left
    kill "$strace"
    wait "$strace" || true
    python3 "$tests/system/privileged.py" "$trace"
}

@test "slurmstepd does nothing more as root in a step with a list" {
    command -v strace > /dev/null || skip "strace is not installed"
    as_root -n2 true > "$BATS_TEST_TMPDIR/plain"
    as_root -n2 --tf-tasks=ps,worker --tf-log-dir=logs --tf-restart=1 true > "$BATS_TEST_TMPDIR/list"
    grep -q 'openat(.*/spank_tf\.so' "$BATS_TEST_TMPDIR/plain" || fail "this is not what slurmstepd does"
    diff "$BATS_TEST_TMPDIR/plain" "$BATS_TEST_TMPDIR/list" || fail "it does something else"
}

@test "in a plain step slurmstepd loads the plugin, and does nothing more as root than without it" {
    command -v strace > /dev/null || skip "strace is not installed"
    as_root -n2 true | grep -v 'openat(.*/spank_tf\.so' > "$BATS_TEST_TMPDIR/with"
    : > "$SPANK_TF_CLUSTER/plugstack.conf"
    as_root -n2 true > "$BATS_TEST_TMPDIR/without"
    diff "$BATS_TEST_TMPDIR/without" "$BATS_TEST_TMPDIR/with" || fail "it does something else"
}
