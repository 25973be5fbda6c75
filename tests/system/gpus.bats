#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A ps sees no GPU, because TensorFlow would allocate the memory of the workers' GPUs for it; a
# worker sees exactly what Slurm gave it. The GPUs are device files, which is all that Slurm
# checks.

# bats file_tags=core
load launch

setup_file ()
{
    make_gpus
    start_cluster --nodes 2 --prefix gpunode --conf GresTypes=gpu \
        --node-conf gpunode1:Gres=gpu:4 --node-conf gpunode2:Gres=gpu:4
    # A ps exits by itself here, and must not be stopped before it has printed everything.
    site_arguments stop=never
    cat > "$SPANK_TF_CLUSTER/work/gpus" <<'END'
env | sed -nE 's/^((CUDA|ROCR|HIP)_VISIBLE_DEVICES|ZE_AFFINITY_MASK|GPU_DEVICE_ORDINAL|SLURM_STEP_GPUS|SLURM_JOB_GPUS|SLURM_GPUS[A-Z_]*)=/'"$SLURM_PROCID"' &/p' | sort
END
}

after_test ()
{
    site_arguments stop=never
    nothing_left
}

# Set $output to each rank's variables about GPUs, "RANK NAME=VALUE" in a line: gpus
# SRUN-ARGUMENT…
gpus ()
{
    run --separate-stderr slurm srun -Q "$@"
    [ "$status" -eq 0 ] && [ -z "$stderr" ] || fail "srun"
    output=$(sort <<< "$output")
}

# Require that LIST changes nothing but for these ranks, which see no GPU:
# hides RANK,… LIST SRUN-ARGUMENT…
hides ()
{
    local ranks=$1 list=$2 plain

    shift 2
    gpus "$@" sh gpus
    plain=$output
    [ "$(grep -cE '^[0-9]+ CUDA_VISIBLE_DEVICES=[0-9]' <<< "$plain")" -gt 0 ] || fail "Slurm gives no GPU"
    gpus --tf-tasks="$list" "$@" sh gpus
    diff <(grep -vE "^[$ranks] " <<< "$output") <(grep -vE "^[$ranks] " <<< "$plain") || fail "a worker sees something else"
    diff <(grep -E "^[$ranks] (CUDA|ROCR|HIP|ZE)_" <<< "$output") <(none "${ranks//,/ }") || fail "a ps sees a GPU"
}

# The variables of ranks that see no GPU.
none ()
{
    local rank

    for rank in $1; do
        printf "$rank %s\n" CUDA_VISIBLE_DEVICES= HIP_VISIBLE_DEVICES= ROCR_VISIBLE_DEVICES= ZE_AFFINITY_MASK=255
    done | sort
}

@test "where the tasks of a node share its GPUs, a ps sees none and a worker sees what it sees in a plain step" {
    hides 0 ps,worker,worker -N1 -n3 --gres=gpu:2
    hides 0,2 ps,worker,ps,worker -N2 -n4 --gres=gpu:3
}

@test "where each task has a GPU of its own, the same" {
    hides 0 ps,worker,worker,worker -N1 -n4 --gpus-per-task=1
    hides 1 worker,ps,worker,worker -N2 -n4 --gpus-per-task=1
    hides 0 ps,worker,worker -N1 -n3 --gres=gpu:3 --gpu-bind=map_gpu:2,0,1
}

@test "only a ps is changed" {
    hides 1 chief,ps,worker,evaluator -N1 -n4 --gres=gpu:4
}

@test "hide_gpus=no changes nothing" {
    local plain

    gpus -N1 -n2 --gres=gpu:2 sh gpus
    plain=$output
    site_arguments hide_gpus=no stop=never
    gpus -N1 -n2 --gres=gpu:2 --tf-tasks=ps,worker sh gpus
    [ "$output" = "$plain" ] || fail "not the same as in a plain step: $plain"
}

@test "a heterogeneous step whose workers have GPUs and whose ps has none" {
    local plain

    gpus -n1 sh gpus : -n2 --gres=gpu:2 sh gpus
    plain=$output
    gpus -n1 --tf-tasks=ps sh gpus : -n2 --gres=gpu:2 --tf-tasks=worker:2 sh gpus
    diff <(grep -v '^0 ' <<< "$output") <(grep -v '^0 ' <<< "$plain")
    diff <(grep -E '^0 (CUDA|ROCR|HIP|ZE)_' <<< "$output") <(none 0)
    grep -q '^[12] CUDA_VISIBLE_DEVICES=[0-9]' <<< "$plain" || fail "Slurm gives no GPU"
}

@test "a batch job with GPUs" {
    local plain

    batch -N1 -n2 --gres=gpu:2 <<END
#!/bin/bash
srun -Q sh gpus
END
    plain=$(sort <<< "$output")
    grep -q '^1 CUDA_VISIBLE_DEVICES=[0-9]' <<< "$plain" || fail "Slurm gives no GPU"
    batch -N1 -n2 --gres=gpu:2 --tf-tasks=ps,worker <<END
#!/bin/bash
srun -Q sh gpus
END
    diff <(grep '^1 ' <<< "$output" | sort) <(grep '^1 ' <<< "$plain")
    diff <(grep -E '^0 (CUDA|ROCR|HIP|ZE)_' <<< "$output" | sort) <(none 0)
}
