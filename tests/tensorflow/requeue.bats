#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# --tf-requeue: a training that takes longer than its time limit saves, and goes on in the job's next runs.
#
# bats file_tags=slow

load ../system/launch
load ../system/nodes
load versions
load resume
load torch

setup_file ()
{
    export SPANK_TF_CLUSTER=$BATS_FILE_TMPDIR/cluster
    # A requeued job waits until its credentials have expired, by default two minutes.
    start_cluster --nodes 4 --conf "AuthInfo=socket=$SPANK_TF_CLUSTER/munge/socket,cred_expire=5"
    cp "$tests"/../contrib/python/spank_tf_watchdog.py \
        "$tests"/tensorflow/{keras_jax,lightning}_steps.py "$SPANK_TF_CLUSTER/work"
}

after_test ()
{
    slurm scancel --quiet --user "$user"
    nothing_left
}

# It is asked to save within a minute, because it now ends in one to two minutes.
shorten ()
{
    local minutes

    minutes=$(slurm scontrol -o show job "$job" | grep -oP '\bRunTime=\d+:0?\K\d+')
    slurm scontrol update JobId="$job" TimeLimit=$((minutes + 2))
}

# Wait for N lines: awaits N PATTERN
awaits ()
{
    eventually 250 printed "$1" "$2" "$out" || fail "not $1 times \"$2\": $(tail -n 40 "$out") $(slurm scontrol show job "$job")"
}

# Three runs of a job, each of which goes on where the one before has saved. The last one takes some steps more:
# three_runs TASK BIN LIST FACTOR-OF-LOSS_FALLS SCRIPT ARGUMENT…, in which $saved is what it saves, and $steps how many steps it takes
three_runs ()
{
    local run begun=0 before

    out=$SPANK_TF_CLUSTER/work/$BATS_TEST_NUMBER.out
    job=$(slurm env HOME="$SPANK_TF_CLUSTER/work" PATH="$2:$PATH" JAX_PLATFORMS=cpu sbatch --parsable -N4 --ntasks-per-node=1 -t 10 --requeue --no-kill \
        --open-mode=append -o "$out" --tf-tasks="$3" --tf-restart=2,any --tf-requeue=90 --tf-watchdog=600 <<< "#!/bin/bash
export saved=$SPANK_TF_CLUSTER/work/$BATS_TEST_NUMBER.saved steps=100000
[ \"\${SLURM_RESTART_COUNT-0}\" -lt 2 ] || steps=\$((\$(sed -n 's/^$1: step \([0-9]*\),.*/\1/p' $out | tail -n 1) + 50))
srun --no-kill sh -c '[ \$SLURM_TF_ROLE = evaluator ] || exec python $5; until grep -q \": done, \" $out; do sleep 1; done'") || fail "sbatch fails"
    for run in 1 2; do
        eventually 250 has_done "$1" $((begun + 20)) "$out" || fail "no 20 steps in run $run: $(tail -n 40 "$out")"
        shorten
        awaits $run 'the tasks have saved in run'
        before=$(last "$1: step " "$out")
        "$tests/cluster" run -- scontrol update JobId="$job" TimeLimit=10
        awaits $((run + 1)) "^$1: starts at step"
        begun=$(last "$1: starts at step " "$out")
        ((begun >= before - 10 && begun <= before + 10)) || fail "after step $before, run $((run + 1)) starts at step $begun"
    done
    awaits 1 "^$1: done, "
    awaits 1 'all 3 runs of the job: '
    eventually 60 job_has_ended "$job" || fail "it does not end: $(tail -n 40 "$out")"
    job_shows JobState=COMPLETED && job_shows Restarts=2 || fail "it is $(slurm scontrol show job "$job") $(tail -n 40 "$out")"
    grep -E "^srun: (error: )?spank_tf|^$1: (starts|preempted|done)" "$out" | sed 's/^/# /' >&3
    loss_falls "$4" "$1" "$out"
}

@test "Keras 3 on JAX goes on in three runs, with a spare" {
    local why

    why=$("$tests/../contrib/tensorflow-env" jax 2>&1 > /dev/null) || skip "JAX cannot be installed: ${why##*$'\n'}"
    # shellcheck disable=SC2016  # for the job's shell
    three_runs 'worker 0' "$(venv jax)/bin" worker:3,spare 100 'keras_jax_steps.py $saved.npz $steps 0.1'
}

@test "Lightning goes on in three runs, with an evaluator" {
    install_torch
    # shellcheck disable=SC2086  # several words
    venv_with $lightning_packages
    # shellcheck disable=SC2016  # for the job's shell
    three_runs 'worker 0' "$venv/bin" worker:2,chief,evaluator 100 \
        'lightning_steps.py $saved $steps 0.1'
}
