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

while sleep 5; do
    nodes=$(squeue -h -j "$SLURM_JOB_ID" -o %N) && names=$(scontrol show hostnames "$nodes") && [ "$names" ] || continue
    ! grep -Fqx "$2" <<< "$names" || continue
    if [ "$1" = requeue ]; then scontrol requeue "$SLURM_JOB_ID"; else scancel "$SLURM_JOB_ID"; fi
    sleep 30
done
