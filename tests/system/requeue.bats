#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# doc/guide/preemption.md's recipe for jobs that exit with 42 to be requeued, where Slurm has --requeue=expedite.

load launch

setup_file ()
{
    slurm_is_from 25.11 || return 0
    # A requeued job waits until its credentials have expired, by default two minutes.
    export SPANK_TF_CLUSTER=$BATS_FILE_TMPDIR/cluster
    start_cluster --nodes 1 --conf RequeueExit=42 --conf SlurmctldParameters=enable_expedited_requeue \
        --conf "AuthInfo=socket=$SPANK_TF_CLUSTER/munge/socket,cred_expire=5"
}

before_test ()
{
    slurm_is_from 25.11 || skip "this Slurm has no --requeue=expedite"
}

after_test ()
{
    slurm_is_from 25.11 || return 0
    slurm scancel --user "$user" --quiet
    nothing_left
}

# In a batch file: the step exits with 42 in the job's first run.
step='srun -Q --tf-tasks=worker:2 sh -c "[ \$SLURM_RESTART_COUNT ] || exit 42"'

job_is ()
{
    # shellcheck disable=SC2053  # it is a pattern
    [[ $(slurm squeue -h -j "$1" -o '%T %r') == $2 ]]
}

# bats test_tags=release
@test "a job with --requeue=expedite that exits with 42 is held" {
    job=$(slurm sbatch --parsable -n2 --requeue=expedite <<< "#!/bin/sh
$step")
    eventually 30 job_is "$job" '*[Hh]eld*' || fail "it is $(slurm squeue -h -j "$job" -o '%T %r')"
}

# bats test_tags=release
@test "the batch file's scontrol requeue works there, too" {
    job=$(slurm sbatch --parsable -n2 --requeue=expedite <<< "#!/bin/sh
$step; [ \$? != 42 ] || scontrol requeue \$SLURM_JOB_ID")
    eventually 60 job_has_ended "$job" || fail "it is $(slurm squeue -h -j "$job" -o '%T %r')"
    [[ $(slurm scontrol show job "$job") == *JobState=COMPLETED*Restarts=1* ]] || fail "it has not completed"
}
