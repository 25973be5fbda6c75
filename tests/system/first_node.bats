#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The node of the batch script, and so of srun and its rendezvous, dies in a job with spare tasks and --no-kill.

load ../common
load launch
load lives
load nodes

setup_file ()
{
    start_cluster --nodes 4 --conf SlurmdTimeout=10
}

before_test ()
{
    work=$SPANK_TF_CLUSTER/work
    find "$work" -mindepth 1 -delete
    make_lives
}

after_test ()
{
    reconnect_nodes
    site_arguments
    nothing_left
}

# A job on three nodes whose programs run until the test ends; $job: submit OPTION…
submit ()
{
    job=$(slurm sbatch --parsable --no-kill -N3 -n3 -o "$work/out" --tf-tasks=worker:2,spare --tf-restart=3 \
        --tf-log-dir="$work/log" "$@" <<END
#!/bin/sh
echo "run \${SLURM_RESTART_COUNT-0} on \$SLURM_JOB_NODELIST" >> $work/runs
exec srun --no-kill sh -c 'echo > $work/mark.\$SLURM_PROCID.\${SLURM_RESTART_COUNT-0}; sleep 1000'
END
    )
    eventually 60 both_run 0 || fail "it does not start: $(cat "$work/out")"
}

both_run ()
{
    [ -e "$work/mark.0.$1" ] && [ -e "$work/mark.1.$1" ]
}

runs ()
{
    [ "$(grep -c '' "$work/runs")" -eq "$1" ]
}

job_shows ()
{
    slurm scontrol show job "$job" | grep -q "$1"
}

@test "the first node dies: the job is requeued as soon as Slurm has given the node up, and runs on others" {
    site_arguments lost_after=5
    submit --requeue
    kill_node 1
    eventually 120 runs 2 || fail "it is not requeued: $(slurm scontrol show job "$job")"
    eventually 60 both_run 1 || fail "it does not run again"
    grep -q 'Slurm has given up .*; the job is requeued' "$work/log/"*master.log || fail "master.log: $(cat "$work/log/"*)"
    slurm scancel "$job"
}

@test "... and cancelled if it may not be requeued, or the site wants that" {
    local more

    for more in "--no-requeue" "--requeue"; do
        site_arguments lost_after=5 "$([[ $more == --no-requeue ]] || echo if_abandoned=cancel)"
        submit "$more"
        kill_node 1
        eventually 120 job_shows 'JobState=CANCELLED' || fail "it goes on: $(slurm scontrol show job "$job")"
        grep -q 'Slurm has given up .*; the job is cancelled' "$work/log/master.log" || fail "master.log: $(cat "$work/log/master.log")"
        reconnect_nodes
        rm -rf "$work"/mark.* "$work/log"
    done
}

@test "... and left alone with if_abandoned=no" {
    site_arguments lost_after=5 if_abandoned=no
    submit --requeue
    kill_node 1
    sleep 40
    job_shows 'JobState=RUNNING' || fail "something has ended it"
    slurm scancel "$job"
}
