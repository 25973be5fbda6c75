#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A node dies, and the training goes on with a spare, from its last checkpoint. The time from the node's death to
# the first new step is printed, by part.
#
# bats file_tags=slow

load ../system/launch
load ../system/nodes
load versions
load resume
load torch

setup_file ()
{
    start_cluster --nodes 4 --conf SlurmdTimeout=20
    cp "$tests"/../contrib/examples/{resume_*,spank_tf_watchdog}.py "$tests"/tensorflow/jax_steps.py "$SPANK_TF_CLUSTER/work"
}

before_test ()
{
    site_arguments lost_after=5 stop_grace=3
    out=$SPANK_TF_CLUSTER/work/$BATS_TEST_NUMBER.out
    saved=$SPANK_TF_CLUSTER/work/$BATS_TEST_NUMBER/saved
}

after_test ()
{
    reconnect_nodes
    site_arguments
    nothing_left
}

# Start a step with the python in a directory: begin_in DIRECTORY ARGUMENT-OF-SRUN…
begin_in ()
{
    slurm env HOME="$SPANK_TF_CLUSTER/work" PATH="$1:$PATH" \
        srun --no-kill --tf-show "${@:2}" > "$out" 2>&1 3>&- &
    srun=$!
}

# Wait for N lines: awaits N PATTERN
awaits ()
{
    eventually 150 printed "$1" "$2" "$out" || fail "not $1 times \"$2\": $(tail -n 40 "$out")"
}

# With that of a version: begin VERSION ARGUMENT-OF-SRUN…
begin ()
{
    begin_in "$(venv "$1")/bin" "${@:2}"
}

# Kill the N-th node, and require that TASK, as in "worker 0", resumes where the last checkpoint was, which is of a
# step that it has printed, or of the next one that it would have printed: lose_node N TASK
lose_node ()
{
    local killed=$((${EPOCHREALTIME//[.,]/} / 1000)) noticed stopped started step

    kill_node "$1"
    awaits 1 'and replaced: '
    noticed=$(ms_since $killed)
    awaits 1 'all tasks restarted'
    stopped=$(ms_since $killed)
    step=$(sed '/all tasks restarted/q' "$out" | last "$2: step " -)
    awaits 2 "^$2: starts at step"
    started=$(ms_since $killed)
    eventually 100 has_done "$2" "$((step + 1))" "$out" || fail "$2 does not go on after step $step: $(tail -n 40 "$out")"
    echo "# after a node's death with lost_after=5: noticed after $noticed ms, the others stopped and the pause over after" \
        "$stopped ms, the framework ready after $started ms, the first new step after $(ms_since $killed) ms" >&3
    at=$(last "$2: starts at step " "$out")
    ((at == step || at == step + 10 || at == step - 10)) || fail "after step $step, $2 starts again at step $at"
}

# Require that srun ends, and that the work is done: after a node failure, srun's own exit code depends on Slurm's release.
is_done ()
{
    eventually 150 eval "! kill -0 $srun 2> /dev/null" || fail "srun does not end: $(tail -n 40 "$out")"
    printed 1 'the training has finished. 1 task was replaced' "$out" || fail "the work is not done: $(tail -n 40 "$out")"
}

# The two workers of a step that was begun go on when this node dies: workers_go_on NODE FACTOR-OF-LOSS_FALLS
workers_go_on ()
{
    eventually 150 has_done 'worker 0' 20 "$out" || fail "worker 0 does not begin: $(tail -n 40 "$out")"
    lose_node "$1" 'worker 0'
    is_done
    printed 2 '^worker [01]: done, 200 steps' "$out" || fail "a worker is not done: $(tail -n 40 "$out")"
    loss_falls "$2" 'worker 0' "$out"
}

# A worker of MultiWorkerMirroredStrategy: mirrored VERSION SCRIPT
mirrored ()
{
    begin "$1" -N3 -n3 --tf-tasks=worker:2,spare --tf-restart=2,any python "$2" "$saved" --steps=200 --pause=0.05
    workers_go_on 2 4
}

@test "MultiWorkerMirroredStrategy goes on when a node dies, newest TensorFlow" {
    mirrored newest resume_multiworker.py
}

@test "MultiWorkerMirroredStrategy goes on when a node dies, TensorFlow 2.15" {
    mirrored 2.15.1 resume_multiworker.py
}

@test "Keras 2's BackupAndRestore goes on when a node dies" {
    mirrored 2.15.1 resume_keras.py
}

# The node of the ps, and that of the chief, which has two tasks with it: parameter_server VERSION NODE
parameter_server ()
{
    begin "$1" -N4 -n4 --tf-tasks=chief,ps,worker,spare --tf-restart=2,any \
        python resume_parameter_server.py "$saved" --steps=200 --pause=0.05
    eventually 150 has_done 'chief 0' 20 "$out" || fail "the chief does not begin: $(tail -n 40 "$out")"
    lose_node "$2" 'chief 0'
    is_done
    printed 1 '^chief 0: done' "$out" || fail "the chief is not done"
    loss_falls 100 'chief 0' "$out"
}

@test "ParameterServerStrategy goes on when the node of its ps dies, newest TensorFlow" {
    parameter_server newest 2
}

@test "ParameterServerStrategy goes on when the node of its chief dies, newest TensorFlow" {
    parameter_server newest 1
}

# The node of process 0 dies, at which the others meet: process_0_dies PYTHON'S-DIRECTORY PROGRAM…
process_0_dies ()
{
    slurm mkdir "${saved%/*}"
    begin_in "$1" -N3 -n3 --tf-tasks=worker:2,spare --tf-restart=2,any "${@:2}"
    workers_go_on 1 100
}

@test "JAX goes on when the node of process 0 dies" {
    local why

    why=$("$tests/../contrib/tensorflow-env" jax 2>&1 > /dev/null) || skip "JAX cannot be installed: ${why##*$'\n'}"
    export JAX_PLATFORMS=cpu
    process_0_dies "$(venv jax)/bin" python jax_steps.py "$saved" 200 0.05
}

@test "PyTorch goes on when the node of process 0 dies" {
    install_torch
    needs_torch
    process_0_dies "$torch_bin" python resume_ddp.py "$saved" --steps=200 --pause=0.05
}

# Two processes of a library that counts by Slurm's variables train with a spare, before and after it has the place of
# process 0: counts_by_slurm LIBRARY PACKAGE…
counts_by_slurm ()
{
    local library=$1

    install_torch
    venv_with "${@:2}"
    cp "$tests/tensorflow/slurm_numbers.py" "$SPANK_TF_CLUSTER/work"
    begin_in "$venv/bin" -N3 --ntasks-per-node=1 --tf-tasks=worker:2,spare --tf-restart=2,any --tf-frameworks=torch \
        python slurm_numbers.py "$library" 1 2 200
    awaits 2 "^$library: worker [01] has done 20 steps"
    kill_node 1
    awaits 2 "^$library: worker [01] is done"
    diff <(for i in 0 1; do yes "$library: worker $i is process $i of 2, 0 of its node" | head -n 2; done) \
        <(grep 'is process' "$out" | sort) || fail "not these processes: $(< "$out")"
    is_done
}

@test "Lightning trains with a spare, before and after it has taken a place" {
    # shellcheck disable=SC2086  # several words
    counts_by_slurm lightning $lightning_packages
}

@test "Ignite trains with a spare, before and after it has taken a place" {
    # shellcheck disable=SC2086  # several words
    counts_by_slurm ignite $ignite_packages
}

@test "mmengine trains with a spare, before and after it has taken a place" {
    # shellcheck disable=SC2086  # several words
    counts_by_slurm mmengine $mmengine_packages
}

@test "accelerate trains with a spare, before and after it has taken a place" {
    # shellcheck disable=SC2086  # several words
    counts_by_slurm accelerate $accelerate_packages
}

# contrib/examples/resume_lost_node.sbatch, unchanged.
@test "without spares, a batch script starts srun again on the nodes that are left" {
    local logs

    cp "$tests"/../contrib/examples/resume_lost_node.sbatch "$SPANK_TF_CLUSTER/work"
    job=$(slurm env HOME="$SPANK_TF_CLUSTER/work" PATH="$(venv newest)/bin:$PATH" \
        sbatch --parsable resume_lost_node.sbatch --steps=200 --pause=0.05) || fail "sbatch fails"
    logs=$SPANK_TF_CLUSTER/work/resume_lost_node-$job
    out=$logs/worker0.log
    eventually 150 has_done 'worker 0' 20 "$out" || fail "worker 0 does not begin: $(tail -n 40 "$out" "$logs.out")"
    kill_node 3
    awaits 2 '^worker 0: starts at step'
    eventually 150 job_has_ended "$job" || fail "the job does not end: $(tail -n 40 "$out" "$logs.out")"
    [[ $(slurm scontrol -o show job "$job") == *" ExitCode=0:0 "* ]] || fail "the job fails: $(tail -n 40 "$out" "$logs.out")"
    (($(last 'worker 0: starts at step ' "$out") > 0)) || fail "it does not resume: $(< "$out")"
    printed 1 '^worker 0: done, 200 steps' "$out" || fail "worker 0 is not done"
    grep -q '2 tasks on 2 nodes' "$logs/master.log" || fail "not two tasks: $(< "$logs/master.log")"
}
