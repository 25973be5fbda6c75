#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Keras 3, JAX and DTensor themselves, by the variables that each task gets. JAX's coordinator
# listens on the port that its task holds.

load ../common
load versions

setup_file ()
{
    local why

    # The reason is kept for each test.
    why=$("$tests/../contrib/tensorflow-env" jax 2>&1 > /dev/null) || export why_no_jax="JAX cannot be installed: ${why##*$'\n'}"
    start_cluster --nodes 3 --prefix keras
    cp "$tests/tensorflow/jax_sum.py" "$tests"/../contrib/examples/{keras_jax.*,spank_tf_watchdog.py} "$SPANK_TF_CLUSTER/work"
}

before_test ()
{
    work=$SPANK_TF_CLUSTER/work
}

# Run a command of Slurm's with JAX's Python in PATH.
with_jax ()
{
    [[ ! ${why_no_jax-} ]] || skip "$why_no_jax"
    run --separate-stderr slurm env HOME="$work" JAX_PLATFORMS=cpu PATH="$(venv jax)/bin:$PATH" timeout 200 "$@"
    [ "$status" -eq 0 ] || fail "it fails"
}

# Require these lines of jax_sum, among those of Gloo, "PROCESS of PROCESSES, ROLE INDEX": summed LINE…
summed ()
{
    diff <(printf 'jax_sum: process %s: ok\n' "$@") <(grep ^jax_sum: <<< "$output" | sort) || fail "not these processes"
}

# bats test_tags=core
@test "jax.distributed.initialize () finds two and four processes on three nodes, block and cyclic" {
    local distribution

    with_jax srun -Q -N2 -n2 --tf-tasks=worker:2 python jax_sum.py
    summed "0 of 2, worker 0" "1 of 2, worker 1"
    for distribution in block cyclic; do
        with_jax srun -Q -N3 -n4 -m $distribution --tf-tasks=chief,worker:3 python jax_sum.py
        summed "0 of 4, chief 0" "1 of 4, worker 0" "2 of 4, worker 1" "3 of 4, worker 2"
    done
}

# JAX waits in the shutdown of the task that fails, here for 70 s and not for its 300, and aborts then.
@test "an exception in one JAX process: its task is named after a minute, and before those that die of it" {
    [[ ! ${why_no_jax-} ]] || skip "$why_no_jax"
    cat > "$work/nan.py" <<'END'
import os, time
import jax
import numpy as np
from jax.experimental import multihost_utils
jax.distributed.initialize(shutdown_timeout_seconds=70)
for step in range(1000):
    if step == 3 and jax.process_index() == 1:
        raise ValueError("NaN in the loss")
    multihost_utils.process_allgather(np.zeros(4))
    print("step", step, flush=True)
END
    run --separate-stderr slurm env HOME="$work" JAX_PLATFORMS=cpu PATH="$(venv jax)/bin:$PATH" timeout 400 \
        srun -Q -N3 -n3 --tf-tasks=worker:3 --tf-log-dir="$work/nan" python nan.py
    [ "$status" -ne 0 ] || fail "it has not failed"
    grep -qE "spank_tf: step [^ ]+: worker 1 \(rank 1, [^ ]+\) printed a traceback at [0-9:]{8}: \"ValueError: NaN in the loss\"; its log is $work/nan/worker1.log. It has not exited since$" <<< "$stderr" ||
        fail "it is not named after a minute"
    # The coordinator may end it before the others.
    grep -qE 'first failure: worker 1 \(|error: spank_tf: step [^ ]+: worker 1 \([^ ]+\) printed a traceback at [0-9:]{8}: "ValueError: NaN in the loss"; .*first (failure|to end): ' <<< "$stderr" ||
        fail "it does not come first"
}

@test "two steps of one job at the same time have coordinators of their own" {
    with_jax salloc -Q -N3 -n4 --overcommit bash -c '
        srun -Q --overlap -N2 -n2 --tf-tasks=worker:2 python jax_sum.py first second > first.out & first=$!
        srun -Q --overlap -N2 -n2 --tf-tasks=worker:2 python jax_sum.py second first > second.out &
        wait $first && wait $!'
    output=$(cat "$work/first.out" "$work/second.out")
    summed "0 of 2, worker 0" "0 of 2, worker 0" "1 of 2, worker 1" "1 of 2, worker 1"
}

@test "a chief that is the last task, an evaluator, a heterogeneous step, and ports that are not held" {
    with_jax srun -Q -N3 --tf-tasks=worker:2,chief python jax_sum.py
    summed "0 of 3, chief 0" "1 of 3, worker 0" "2 of 3, worker 1"
    with_jax srun -Q -N3 --tf-tasks=worker:2,evaluator sh -c '[ $SLURM_TF_ROLE = evaluator ] || exec python jax_sum.py'
    summed "0 of 2, worker 0" "1 of 2, worker 1"
    with_jax srun -Q -N1 -n1 --tf-tasks=chief python jax_sum.py : -N2 -n2 --tf-tasks=worker:2 python jax_sum.py
    summed "0 of 3, chief 0" "1 of 3, worker 0" "2 of 3, worker 1"
    with_jax srun -Q -N2 -n2 --tf-hold=no --tf-frameworks=jax --tf-tasks=worker:2 python jax_sum.py
    summed "0 of 2, worker 0" "1 of 2, worker 1"
}

# bats test_tags=core
@test "Keras 3 on JAX trains with model.fit () and DataParallel" {
    with_jax srun -Q -N2 -n2 --tf-tasks=worker:2 python keras_jax.py
    [ "$(grep -cE '^keras_jax: process [01] of 2: sum 3, .* ok$' <<< "$output")" -eq 2 ] || fail "not two processes"
    with_jax srun -Q -N3 -n3 --tf-tasks=worker:2,chief python keras_jax.py
    [ "$(grep -cE '^keras_jax: process [012] of 3: sum 7, .* ok$' <<< "$output")" -eq 3 ] || fail "not three processes"
}

@test "the batch file for Keras 3 on JAX" {
    chown "$user" "$work"
    with_jax sbatch -Q --wait keras_jax.sbatch
    [ "$(cat "$work"/keras_jax-*/worker?.log | grep -cE '^keras_jax: process [01] of 2: sum 3, .* ok$')" -eq 2 ] || fail "not two processes"
}

# The default of --tf-frameworks can change only what reads these variables.
@test "TensorFlow reads none of these variables, and Keras only in initialize ()" {
    local version

    for version in "${versions[@]}"; do
        run grep -rlE 'KERAS_DISTRIBUTION_|JAX_COORDINATOR_ADDRESS|JAX_LOCAL_DEVICE_IDS|SLURM_TF_' "$(venv "$version")/lib"
        ((status <= 1)) || fail "its files cannot be read"
        ! grep -vE '/keras/src/distribution/distribution_lib(_test)?\.py$|/__pycache__/|/jax/' <<< "$output" | grep -q . ||
            fail "TensorFlow $version reads one"
    done
}

@test "the lines of doc/guide/frameworks.md make a mesh of DTensor of all workers" {
    { sed -n '/^## DTensor/,/^## PyTorch/s/^    //p' "$tests/../doc/guide/frameworks.md"; echo 'print("mesh of", mesh.size)'; } > "$work/mesh.py"
    run --separate-stderr slurm env HOME="$work" CUDA_VISIBLE_DEVICES= timeout 200 srun -Q -N2 -n2 --tf-tasks=worker:2 \
        "$(python newest)" mesh.py
    [ "$status" -eq 0 ] && [ "$output" = $'mesh of 2\nmesh of 2' ] || fail "not this mesh"
}
