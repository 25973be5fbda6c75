# SPDX-License-Identifier: GPL-2.0-or-later
#
# A training that hangs, because one of its workers is stopped or stays in an endless loop, goes on with --tf-watchdog and
# --tf-restart: TensorFlow, Keras and JAX themselves.

# bats file_tags=slow

load ../system/launch
load versions
load resume

setup_file ()
{
    local why

    # The reason is kept for each test.
    why=$("$tests/../contrib/tensorflow-env" jax 2>&1 > /dev/null) || export why_no_jax="JAX cannot be installed: ${why##*$'\n'}"
    start_cluster --nodes 2
    cp "$tests"/../contrib/examples/{resume_*,spank_tf_watchdog}.py "$tests/tensorflow/jax_steps.py" "$SPANK_TF_CLUSTER/work"
}

before_test ()
{
    work=$SPANK_TF_CLUSTER/work
    logs=$work/$BATS_TEST_NUMBER.logs
    out=$work/$BATS_TEST_NUMBER.out
    saved=$work/$BATS_TEST_NUMBER.saved
}

# Start two workers with a version's python: begin VERSION SCRIPT ARGUMENT…
begin ()
{
    # It is longer than any step, and shorter than TensorFlow's own patience with a worker that is gone, ten seconds.
    slurm env HOME="$work" JAX_PLATFORMS=cpu PATH="$(venv "$1")/bin:$PATH" \
        srun -Q -N2 -n2 --tf-tasks=worker:2 --tf-show --tf-log-dir="$logs" --tf-watchdog=5,300 --tf-restart=1 \
        python "${@:2}" > "$out" 2>&1 3>&- &
    srun=$!
}

# Set $pid to the program of a worker: program INDEX
program ()
{
    for pid in $(pgrep -u "$user" python); do
        [ "$(grep -czxE "SLURM_TF_(ROLE=worker|INDEX=$1)" "/proc/$pid/environ")" -ne 2 ] || return 0
    done 2> /dev/null
    return 1
}

# Require that the training, of which worker 1 is stopped after step 20, goes on from what was saved, to its end, and that
# worker 1 has left the stacks of its first life: goes_on STEPS
goes_on ()
{
    local at

    eventually 200 has_done 'worker 1' 20 "$logs/worker1.log" || fail "no training: $(tail -n 20 "$logs"/*.log "$out")"
    eventually 10 program 1 || fail "no worker 1"
    kill -STOP "$pid"
    eventually 200 eval "! kill -0 $srun 2> /dev/null" || fail "srun does not end: $(tail -n 40 "$out" "$logs"/*.log)"
    wait "$srun" && status=0 || status=$?
    [ "$status" -eq 0 ] || fail "not 0, but $status: $(tail -n 40 "$out" "$logs"/*.log)"
    grep -qE 'no activity for [0-9]+ s: worker 1 \(rank 1, [^ ]+\), stopped by a signal, since [0-9:]{8}, ".+"; 1 other since [0-9:]{8}$' "$out" ||
        fail "another verdict: $(< "$out")"
    [ "$(grep -c 'Restarting all tasks in' "$out")" -eq 1 ] || fail "not one restart: $(< "$out")"
    [ "$(count_ends 'worker [01] exit 0 \(restarted 1 time\)' "$out")" -eq 2 ] || fail "other ends: $(< "$out")"
    at=$(last 'worker 0: starts at step ' "$logs/worker0.log")
    ((at >= 20)) || fail "it starts at step $at again"
    printed 2 "^worker [01]: done, $1 steps" "$logs"/worker?.log || fail "a worker is not done: $(tail -n 20 "$logs"/*.log)"
    grep -q '^Fatal Python error: Aborted' "$logs/worker1.log" || fail "no stacks: $(< "$logs/worker1.log")"
    grep -qE 'resume_.*\.py", line [0-9]+ in <module>$|jax_steps.py", line [0-9]+ in <module>$' "$logs/worker1.log" ||
        fail "not the stack of its script: $(< "$logs/worker1.log")"
}

@test "MultiWorkerMirroredStrategy, newest TensorFlow: a worker that is stopped" {
    begin newest resume_multiworker.py "$saved" --steps=60 --pause=0.05
    goes_on 60
}

@test "MultiWorkerMirroredStrategy, TensorFlow 2.15: a worker that is stopped" {
    begin 2.15.1 resume_multiworker.py "$saved" --steps=60 --pause=0.05
    goes_on 60
}

@test "Keras 2's fit () with the callback, TensorFlow 2.15: a worker that is stopped" {
    begin 2.15.1 resume_keras.py "$saved" --steps=100 --pause=0.05
    goes_on 100
}

@test "JAX: a worker that is stopped" {
    [[ ! ${why_no_jax-} ]] || skip "$why_no_jax"
    begin jax jax_steps.py "$saved" 60 0.05
    goes_on 60
}
