#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Jobs whose steps are managed by a daemon on their first node instead of slurmctld (--stepmgr, Slurm
# 24.05 and later), and steps that do not wait for their srun (srun --async, 26.05), which need one.

# bats file_tags=release
load launch

setup_file ()
{
    ! slurm_is_from 24.05 || start_cluster --nodes 3 \
        --conf SlurmctldParameters=enable_stepmgr --conf PrologFlags=contain
}

before_test ()
{
    slurm_is_from 24.05 || skip "Slurm $(slurm_version) has no --stepmgr, which is new in 24.05"
    work=$SPANK_TF_CLUSTER/work
}

after_test ()
{
    [[ ! -e ${SPANK_TF_CLUSTER-}/nodes ]] || nothing_left
}

# Run a script in an allocation of two nodes: in_job OPTIONS-OF-SALLOC < SCRIPT
in_job ()
{
    run --separate-stderr slurm salloc -Q --stepmgr -N2 -n3 "$@" bash -s
}

@test "--stepmgr: every step of a job is a cluster of its own, and inherits" {
    in_job --tf-tasks=ps,worker:2 << END
[ "\$SLURM_STEPMGR" ] || exit
srun -Q $task_check --roles=ps,worker,worker < /dev/null
srun -Q --export=NONE $task_check --roles=ps,worker,worker < /dev/null
srun -Q -N1 -n1 --tf-tasks=chief $task_check --roles=chief < /dev/null
END
    [ "$status" -eq 0 ] && [ "$(grep -c ' ok digest=' <<< "$output")" -eq 7 ] || fail "a task is not ok"
}

@test "--stepmgr: a step that is refused does not hinder the next one" {
    in_job << END
srun -Q -N2 -n3 --tf-tasks=ps,worker true < /dev/null && echo started
srun -Q --tf-tasks=ps,worker:2 $task_check --roles=ps,worker,worker < /dev/null
END
    [[ $stderr == *'has 3 tasks, but --tf-tasks lists 2 (ps,worker)'* ]]
    [ "$status" -eq 0 ] && [ "$(grep -c ' ok digest=' <<< "$output")" -eq 3 ] || fail "a task is not ok"
    [[ $output != *started* ]]
}

# Its srun has ended when the tasks start.
@test "srun --async: the tasks print why they do not start, and the job's next step runs" {
    slurm_is_from 26.05 || skip "Slurm $(slurm_version) has no srun --async, which is new in 26.05"
    rm -f "$work"/async.*
    in_job << END
srun --async -o async.out --tf-tasks=ps,worker:2 touch async.started < /dev/null
until grep -q spank_tf async.out; do sleep 0.1; done
srun -Q --tf-tasks=ps,worker:2 $task_check --roles=ps,worker,worker < /dev/null
END
    [ "$status" -eq 0 ] && [ "$(grep -c ' ok digest=' <<< "$output")" -eq 3 ] || fail "a task is not ok"
    [ ! -e "$work/async.started" ]
    grep -q 'spank_tf: .*: no rendezvous listens on .*(srun --async does not)$' "$work/async.out" || fail "$(< "$work/async.out")"
}
