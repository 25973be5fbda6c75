#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The first node of a batch job dies: the job is requeued, and the training goes on from its last checkpoint. The time
# from the node's death to the first new step is printed, by part.

# bats file_tags=slow

load ../system/launch
load ../system/nodes
load versions
load resume
load torch

setup_file ()
{
    export SPANK_TF_CLUSTER=$BATS_FILE_TMPDIR/cluster
    start_mortal_cluster --nodes 4
    cp "$tests"/../contrib/examples/{resume_*,spank_tf_watchdog}.py "$SPANK_TF_CLUSTER/work"
}

before_test ()
{
    site_arguments lost_after=5
    out=$SPANK_TF_CLUSTER/work/$BATS_TEST_NUMBER.out
    saved=$SPANK_TF_CLUSTER/work/$BATS_TEST_NUMBER/saved
}

after_test ()
{
    reconnect_nodes
    site_arguments
    nothing_left
}

# A batch job with the python in a directory and these options, whose first node dies: survives DIRECTORY OPTION… PROGRAM…
survives ()
{
    local killed step requeued begun at

    slurm mkdir -p "${saved%/*}"
    job=$(slurm env HOME="$SPANK_TF_CLUSTER/work" PATH="$1:$PATH" sbatch --parsable -N3 -n3 --no-kill --requeue \
        -o "$out" --open-mode=append --tf-tasks=worker:2,spare --tf-restart=2,any <<< "#!/bin/sh
exec srun --no-kill ${*:2}")
    eventually 150 has_done 'worker 0' 20 "$out" || fail "worker 0 does not begin: $(tail -n 40 "$out")"
    killed=$((${EPOCHREALTIME//[.,]/} / 1000))
    kill_node 1
    step=$(last "worker 0: step " "$out")
    eventually 90 job_shows Restarts=1 || fail "it is not requeued: $(slurm scontrol show job "$job") $(tail -n 40 "$out")"
    requeued=$(ms_since $killed)
    eventually 120 printed 2 '^worker 0: starts at step' "$out" || fail "it does not run again: $(tail -n 40 "$out")"
    begun=$(ms_since $killed)
    eventually 100 has_done 'worker 0' $((step + 1)) "$out" || fail "it does not go on after step $step: $(tail -n 40 "$out")"
    echo "# after the first node's death with SlurmdTimeout=20, lost_after=5: requeued after $requeued ms, the framework ready" \
        "after $begun ms, the first new step after $(ms_since $killed) ms" >&3
    at=$(last "worker 0: starts at step " "$out")
    ((at > 0 && at <= step + 10 && at >= step - 10)) || fail "after step $step, it starts again at step $at"
    eventually 150 job_has_ended "$job" || fail "it does not end: $(tail -n 40 "$out")"
    job_shows JobState=COMPLETED || fail "it has not completed: $(slurm scontrol show job "$job") $(tail -n 40 "$out")"
    printed 2 '^worker [01]: done, 300 steps' "$out" || fail "a worker is not done: $(tail -n 40 "$out")"
}

@test "MultiWorkerMirroredStrategy survives the death of its first node, newest TensorFlow" {
    survives "$(venv newest)/bin" python resume_multiworker.py "$saved" --steps=300 --pause=0.05
    loss_falls 4 'worker 0' "$out"
}

@test "PyTorch survives the death of its first node" {
    install_torch
    needs_torch
    survives "$torch_bin" python resume_ddp.py "$saved" --steps=300 --pause=0.05
    loss_falls 100 'worker 0' "$out"
}
