# SPDX-License-Identifier: GPL-2.0-or-later
#
# Clusters whose nodes have GPUs, and this machine's own GPU.

# Its device file, /dev/nvidia0 for most: the path, or nothing.
device_file ()
{
    find /dev -maxdepth 1 -type c -name 'nvidia[0-9]*' | sort -V | head -n 1
}

# Why the tests of a device cannot run, or nothing.
why_no_device ()
{
    [[ ${SPANK_TF_GPU-} == cpu || $(device_file) ]] || echo "this machine has no device file /dev/nvidia0"
}

# Can Slurm keep a task from other GPUs than its own?
can_constrain ()
{
    [[ $proctrack == cgroup-v2 || ($proctrack == cgroup && -d /sys/fs/cgroup/devices) ]]
}

# For setup_file: two nodes with these GPUs, if possible with ConstrainDevices: start_gpu_cluster PREFIX DEVICE…
start_gpu_cluster ()
{
    local prefix=$1 device
    local -a devices=() options=()

    export SPANK_TF_CLUSTER=$BATS_FILE_TMPDIR/cluster
    mkdir "$SPANK_TF_CLUSTER"
    # Slurm calls each by the number in its file's name; CUDA counts those that it finds, from 0.
    for device in "${@:2}"; do
        cp -a "$device" "$BATS_FILE_TMPDIR/gpu${#devices[@]}"
        devices+=("$BATS_FILE_TMPDIR/gpu${#devices[@]}")
    done
    printf 'Name=gpu File=%s\n' "${devices[@]}" > "$SPANK_TF_CLUSTER/gres.conf"
    ! can_constrain || options=(--conf TaskPlugin=task/cgroup --cgroup-conf ConstrainDevices=yes)
    start_cluster --nodes 2 --prefix "$prefix" --conf GresTypes=gpu --node-conf "${prefix}1:Gres=gpu:${#devices[@]}" \
        --node-conf "${prefix}2:Gres=gpu:${#devices[@]}" "${options[@]}"
}
