# SPDX-License-Identifier: GPL-2.0-or-later
#
# contrib/examples/resume_*.sbatch, unchanged: jobs that a job of a higher partition preempts, and
# jobs that reach their time limit. Each saves its work, exits with 42, is requeued, and goes on
# where it was. Slurm must not signal a ps itself, so the jobs need proctrack/cgroup.
#
# bats file_tags=slow

load ../system/launch
load versions
load resume
load torch

setup_file ()
{
    local version

    # A requeued job waits until its credentials have expired, by default two minutes.
    export SPANK_TF_CLUSTER=$BATS_FILE_TMPDIR/cluster
    start_cluster --nodes 3 --conf PreemptType=preempt/partition_prio --conf PreemptMode=REQUEUE \
        --conf RequeueExit=42 --conf "AuthInfo=socket=$SPANK_TF_CLUSTER/munge/socket,cred_expire=5" \
        --conf "PartitionName=low Nodes=ALL GraceTime=120" --conf "PartitionName=urgent Nodes=ALL PriorityTier=9"
    for version in "${versions[@]}" torch; do
        mkdir "$SPANK_TF_CLUSTER/work/$version"
        cp "$tests"/../contrib/examples/{resume_*,spank_tf_watchdog.py} "$SPANK_TF_CLUSTER/work/$version"
        chown -R "$user" "$SPANK_TF_CLUSTER/work/$version"
    done
}

before_test ()
{
    [[ $proctrack == cgroup* ]] || skip "with proctrack/$proctrack Slurm signals every process itself"
}

after_test ()
{
    slurm scancel --quiet --user "$user"
    # A program that saves lives until KillWait, and Slurm looks for what is left in ever longer pauses.
    eventually 30 no_job_left
    rm -f "$SPANK_TF_CLUSTER/work/over"
    nothing_left
}

# Submit an example with this version, or with PyTorch, and wait until it has done 20 steps:
# trains VERSION|torch EXAMPLE ARGUMENT…
trains ()
{
    local bin

    if [ "$1" = torch ]; then bin=$torch_bin; else bin=$(venv "$1")/bin; fi
    work=$SPANK_TF_CLUSTER/work/$1
    job=$(slurm env -C "$work" HOME="$work" PATH="$bin:$PATH" \
        sbatch --parsable -p low "$2.sbatch" "${@:3}") || fail "sbatch"
    logs=$work/$2-$job
    log=${leader/ /}.log
    eventually 120 has_done "$leader" 20 "$logs/0/$log" || fail "no training: $(tail -n 20 "$logs/0/$log" "$logs.out")"
}

# Print a value of the job, as Slurm shows it: shown KEY
shown ()
{
    slurm scontrol -o show job "$job" | grep -oP "\b$1=\K[^ ]*"
}

is_requeued ()
{
    [ "$(shown Restarts)" = 1 ]
}

# Require that the job ends with 42, and is requeued; set $saved to the step that was saved.
saves ()
{
    eventually 150 is_requeued || fail "it is not requeued: $(shown JobState) $(tail -n 20 "$logs/0/$log" "$logs.out")"
    # Newer releases do not keep the exit code of a job that they requeue.
    grep -q "_job_complete: JobId=$job WEXITSTATUS 42$" "$SPANK_TF_CLUSTER/log/slurmctld.log" || fail "the job's exit code"
    [ "$(count_ends "$leader exit 42" "$logs/0/master.log")" -eq 1 ] || fail "other ends: $(< "$logs/0/master.log")"
    ! printed 1 'Restarting |\(restarted' "$logs.out" "$logs/0/master.log" || fail "--tf-restart"
    saved=$(last "$leader: preempted, saved at step " "$logs/0/$log")
    # BackupAndRestore numbers its checkpoints; there is one for every ten steps.
    [[ $logs != *keras* ]] || saved=$(($(sed -n 's/^model_checkpoint_path: "ckpt-\(.*\)"$/\1/p' "$logs/saved/chief/checkpoint") * 10))
    ((${saved:-0} >= 20)) || fail "saved at step ${saved:-?}: $(cat "$logs/0/$log")"
}

# Require that the next run of the job goes on there: its first loss is lower than that of the first run.
resumes ()
{
    eventually 120 has_done "$leader" $((saved + 1)) "$logs/1/$log" || fail "it does not go on: $(tail -n 20 "$logs/1/$log")"
    [ "$(last "$leader: starts at step " "$logs/1/$log")" -eq "$saved" ] || fail "it saved step $saved: $(cat "$logs/1/$log")"
    loss_falls 1 "$leader" "$logs/0/$log" <(sed "/^$leader: step /q" "$logs/1/$log")
}

# A job of another partition wants the nodes; it keeps them until it is known what was saved.
preempted ()
{
    trains "$@"
    slurm sbatch -Q -p urgent -N3 --exclusive --wrap 'until [ -e over ]; do sleep 0.1; done'
    saves
    touch "$SPANK_TF_CLUSTER/work/over"
    resumes
    eventually 120 job_has_ended "$job" || fail "it does not end: $(tail -n 20 "$logs/1/$log")"
    [ "$(shown JobState) $(shown ExitCode)" = "COMPLETED 0:0" ] || fail "it fails: $(tail -n 20 "$logs/1/$log")"
    printed 1 "^$leader: done, " "$logs/1/$log" || fail "not trained to the end"
}

# Its time limit is in more than a minute, when it gets --signal, and in less than two.
limited ()
{
    trains "$@" --steps=100000
    slurm scontrol update JobId="$job" TimeLimit="$(($(shown RunTime | cut -d: -f2) + 2))"
    saves
    "$tests/cluster" run -- scontrol update JobId="$job" TimeLimit=10
    resumes
}

# bats test_tags=core
@test "MultiWorkerMirroredStrategy is preempted, and goes on, newest TensorFlow" {
    leader='worker 0'
    preempted newest resume_multiworker
}

@test "MultiWorkerMirroredStrategy reaches its time limit, and goes on, TensorFlow 2.15" {
    leader='worker 0'
    limited 2.15.1 resume_multiworker
}

@test "Keras 2's BackupAndRestore is preempted, and goes on, TensorFlow 2.15" {
    leader='worker 0'
    preempted 2.15.1 resume_keras
}

@test "Keras 2's BackupAndRestore reaches its time limit, and goes on, TensorFlow 2.15" {
    leader='worker 0'
    limited 2.15.1 resume_keras
}

@test "ParameterServerStrategy is preempted, and goes on, newest TensorFlow" {
    leader='chief 0'
    preempted newest resume_parameter_server
}

@test "ParameterServerStrategy reaches its time limit, and goes on, TensorFlow 2.15" {
    leader='chief 0'
    limited 2.15.1 resume_parameter_server
}

@test "MonitoredTrainingSession is preempted, and goes on, newest TensorFlow" {
    leader='worker 0'
    preempted newest resume_monitored
}

@test "MonitoredTrainingSession reaches its time limit, and goes on, TensorFlow 2.15" {
    leader='worker 0'
    limited 2.15.1 resume_monitored
}

@test "DistributedDataParallel is preempted, and goes on, PyTorch" {
    install_torch
    needs_torch
    leader='worker 0'
    preempted torch resume_ddp
    grep -q ' new training steps (last: ' "$logs/1/master.log" || fail "it has sent no heartbeats: $(< "$logs/1/master.log")"
}
