# SPDX-License-Identifier: GPL-2.0-or-later
#
# TensorFlow itself trains across nodes, with scripts that know nothing of Slurm. What serves
# for ever (a ps; the workers of ParameterServerStrategy) is ended by scancel.

load ../common.bash

setup_file ()
{
    local version

    for version in 2.15.1 newest; do
        "$tests/../contrib/tensorflow-env" "$version" > "$BATS_FILE_TMPDIR/python-$version"
    done
    start_cluster --nodes 3
    cp "$tests"/tensorflow/*.py "$tests/../contrib/examples/train.py" "$SPANK_TF_CLUSTER/work"
}

teardown_file ()
{
    stop_cluster
}

setup ()
{
    out=$SPANK_TF_CLUSTER/work/$BATS_TEST_NUMBER.out
}

teardown ()
{
    slurm scancel --quiet --user "$user"
    nothing_left
}

python ()
{
    echo "$(<"$BATS_FILE_TMPDIR/python-$1")/bin/python"
}

# N lines of the job's output so far say this: said N PATTERN
said ()
{
    [[ -e $out && $(grep -c -- "$2" "$out") -ge $1 ]]
}

await ()
{
    eventually 120 said "$@" || { cat "$out"; return 1; }
}

# Start srun in the background; what it prints goes to $out.
start_srun ()
{
    slurm env HOME="$SPANK_TF_CLUSTER/work" srun "$@" > "$out" 2>&1 3>&- &
}

# An all-reduce over the workers of three nodes, its sum checked by each of them.
all_reduce ()
{
    run slurm env HOME="$SPANK_TF_CLUSTER/work" \
        srun -N3 --tf-tasks=worker:3 "$(python "$1")" multiworker.py
    [ "$status" -eq 0 ] || fail "srun"
    [ "$(grep -c '^multiworker: replica [0-2] of 3: .* ok' <<< "$output")" -eq 3 ] || fail "sums"
}

@test "MultiWorkerMirroredStrategy reduces over three nodes, TensorFlow 2.15" {
    all_reduce 2.15.1
}

@test "MultiWorkerMirroredStrategy reduces over three nodes, newest TensorFlow" {
    all_reduce newest
}

# TensorFlow 1's server and MonitoredTrainingSession; both workers train, the loss falls.
monitored_session ()
{
    start_srun -N3 --tf-tasks=ps,worker,worker "$(python "$1")" train.py
    await 2 'worker [01]: done, [1-9][0-9]* of'
    ! grep -q 'too high' "$out"
}

@test "a ps and two workers train with MonitoredTrainingSession, TensorFlow 2.15" {
    monitored_session 2.15.1
}

@test "a ps and two workers train with MonitoredTrainingSession, newest TensorFlow" {
    monitored_session newest
}

parameter_server ()
{
    start_srun -N3 -n4 --tf-tasks=chief,ps,worker:rest "$(python "$1")" parameter_server.py
    await 1 '^parameter_server: ok'
}

@test "ParameterServerStrategy trains with a chief, a ps and workers, TensorFlow 2.15" {
    parameter_server 2.15.1
}

@test "ParameterServerStrategy trains with a chief, a ps and workers, newest TensorFlow" {
    parameter_server newest
}

# The same scripts from a batch job: the list stands in #SBATCH.
batch ()
{
    local version=$1 tasks=$2 list=$3 script=$4

    cat > "$SPANK_TF_CLUSTER/work/job.sh" <<END
#!/bin/bash
#SBATCH --nodes=3 --ntasks=$tasks --output=$out
#SBATCH --tf-tasks=$list
export HOME=$SPANK_TF_CLUSTER/work
srun $(python "$version") $script
END
    slurm sbatch "$SPANK_TF_CLUSTER/work/job.sh"
}

@test "a batch job reduces over three nodes, newest TensorFlow" {
    batch newest 3 chief,worker:rest multiworker.py
    await 3 '^multiworker: replica [0-2] of 3: .* ok'
}

@test "a batch job trains with a ps and MonitoredTrainingSession, TensorFlow 2.15" {
    batch 2.15.1 3 ps,worker:rest train.py
    await 2 'worker [01]: done, [1-9][0-9]* of'
}

@test "a batch job trains with ParameterServerStrategy, newest TensorFlow" {
    batch newest 4 chief,ps,worker:rest parameter_server.py
    await 1 '^parameter_server: ok'
}

@test "Estimator trains with a chief, a ps, a worker and an evaluator, TensorFlow 2.15" {
    local model=$SPANK_TF_CLUSTER/work/model

    slurm mkdir "$model"
    start_srun -N3 -n4 --tf-tasks=chief,ps,worker,evaluator "$(python 2.15.1)" estimator.py "$model"
    await 3 '^estimator: .*ok'
}
