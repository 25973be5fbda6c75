#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# first_node_guard.sh requeue|cancel HOST: requeue or cancel the job when Slurm has given up HOST, that of the batch
# script, which a job with --no-kill survives. It is a step of its own, on two other nodes, beside the training:
#
#     srun --overlap --no-kill --tf-tasks=none -N2 -n2 -x "$SLURMD_NODENAME" \
#         first_node_guard.sh requeue "$SLURMD_NODENAME" & guard=$!
#     srun --no-kill python train.py; code=$?
#     kill "$guard"; exit "$code"
#
# A step with spare tasks does that by itself (--tf-if-abandoned), as long as a spare is free. If HOST dies, so does the
# srun of this step, but not its tasks. A node that is cut off does not reach slurmctld, and does nothing.
#
# first_node_guard.sh again HOST OPTION... PROGRAM...: with -N1 -n1, and --tf-if-abandoned=no for the training. srun runs
# the program on the nodes that are left, one task on each if no option says otherwise, and then ends the job, whose state
# is CANCELLED even if the work is done. What srun and it print is in guard-JOB.out in the working directory.
# Not where HOST may be cut off and live: its task may still run, and write, when the others have begun again.

# The number of an array's job may be that of the whole array.
job=${SLURM_ARRAY_JOB_ID:+${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID} job=${job:-$SLURM_JOB_ID}

# To end the job's other steps: to Slurm the training runs as long as its tasks do.
end_other_steps ()
{
    local step

    for step in $(squeue -h -s -j "$job" -o %i); do
        [[ $step != *.+([0-9]) || $step = "$job.$SLURM_STEP_ID" ]] || scancel "$step"
    done
    sleep 5
}

# srun reads what this step's own srun has set for it.
run_again ()
{
    local count variable id=$SLURM_JOB_ID

    exec >> "guard-$id.out" 2>&1 < /dev/null
    end_other_steps
    count=$(wc -l <<< "$names")
    for variable in ${!SLURM_@}; do
        [ "$variable" = SLURM_CONF ] || unset "$variable"
    done
    srun --jobid="$id" --overlap --no-kill -N"$count" -n"$count" "$@"
    echo "first_node_guard: srun has ended with $?"
    scancel "$job"
}

shopt -s extglob
while sleep 5; do
    nodes=$(squeue -h -j "$job" -o %N) && names=$(scontrol show hostnames "$nodes") && [ "$names" ] || continue
    ! grep -Fqx "$2" <<< "$names" || continue
    case $1 in
        requeue) scontrol requeue "$job" ;;
        again) run_again "${@:3}" ;;
        *) scancel "$job" ;;
    esac
    sleep 30
done
