#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Two jobs of one user on the same nodes, whose scripts choose the same port themselves, as without spank-tf: the
# second one fails, and the first one does not notice.

load ../common
load versions

setup_file ()
{
    start_cluster --nodes 2 --prefix own
    cp "$tests/tensorflow/own_port.py" "$SPANK_TF_CLUSTER/work"
}

before_test ()
{
    work=$SPANK_TF_CLUSTER/work
}

# VERSION NAME
train ()
{
    slurm env HOME="$work" timeout 180 srun -Q -N2 -n2 --tf-tasks=worker:2 "$(python "$1")" own_port.py "$2" > "$work/$2.out" 2>&1
}

second_fails ()             # VERSION
{
    local first

    rm -f "$work"/*.out "$work/end"
    train "$1" first 3>&- &
    first=$!
    eventually 90 grep -qx 'first: trains' "$work/first.out" || fail "it does not train: $(< "$work/first.out")"
    ! train "$1" second || fail "both have port 15000: $(< "$work/second.out")"
    grep -q 'Could not start gRPC server' "$work/second.out" || fail "another failure: $(< "$work/second.out")"
    touch "$work/end"
    wait $first || fail "the second job has destroyed the first one: $(< "$work/first.out")"
    [ "$(grep -cx 'first: done' "$work/first.out")" -eq 2 ] || fail "$(< "$work/first.out")"
}

@test "the second of two jobs whose scripts choose the same port fails, and the first one completes, TensorFlow 2.15" {
    second_fails 2.15.1
}

@test "... newest TensorFlow" {
    second_fails newest
}
