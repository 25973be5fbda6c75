#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A hook of enroot, for sites where a container has the wrong variables of spank-tf. Install it beside enroot's own:
#
#     install -m 755 60-spank-tf.sh /etc/enroot/hooks.d/
#
# enroot alone passes nothing of a task's environment on; with this hook it passes on what spank-tf has set.
#
# With pyxis a container belongs to all tasks of a node, and pyxis gives what the container's environment has to each
# of them. enroot's hook 50-slurm-pmi.sh copies SLURM_TF_... of the first task there, and 50-slurm-pytorch.sh sets
# torch's variables; this one takes both out again, and numbers that are not the same for all tasks, so that each task
# keeps its own. It is not needed where plugstack.conf has spank_tf_late.so behind pyxis.
#
#     ENROOT_ENVIRON    the file with the container's environment, from enroot
#     PYXIS_VERSION     from pyxis

set -euo pipefail

[[ -n ${SLURM_TF_ROLE-} ]] || exit 0

# "RANK:5a1d2c3b,WORLD_SIZE:9f8e7d6c"
IFS=, read -r -a names <<< "${SLURM_TF_ADDED-}"
names=("${names[@]%%:*}" "${!SLURM_TF_@}" SLURMD_NODENAME
    SLURM_{PROCID,LOCALID,NODEID,NTASKS,NPROCS,NNODES,NODELIST,TASKS_PER_NODE,NTASKS_PER_NODE}
    SLURM_STEP_{NUM_TASKS,NUM_NODES,NODELIST,TASKS_PER_NODE})

for name in "${names[@]}"; do
    [[ -n $name ]] || continue
    sed -i "/^$name=/d" "$ENROOT_ENVIRON"
    [[ -n ${PYXIS_VERSION-} || ! -v $name ]] || printf '%s=%s\n' "$name" "${!name}" >> "$ENROOT_ENVIRON"
done

# An evaluator or an auxiliary task is no process of PyTorch, and may be the first of a node whose others are. With
# PYTORCH_VERSION pyxis sets RANK and LOCAL_RANK by itself, in every task.
if [[ -n ${PYXIS_VERSION-} && ",${SLURM_TF_ADDED-},evaluator,${SLURM_TF_BESIDE-}," == *,@(RANK:|"$SLURM_TF_ROLE",)* ]]; then
    sed -i -E '/^(MASTER_ADDR|MASTER_PORT|WORLD_SIZE|RANK|LOCAL_RANK|PYTORCH_VERSION)=/d' "$ENROOT_ENVIRON"
fi
