#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# PyTorch's processes meet at the address and port of process 0, by the command in README.md. PyTorch is
# Debian's; that of PyPI brings CUDA.

load ../common

setup_file ()
{
    local why

    # The reason is kept for each test.
    why=$("$tests/install-packages" python3-torch 2>&1 > /dev/null) ||
        export why_no_torch="PyTorch cannot be installed: ${why##*$'\n'}"
    start_cluster --nodes 4 --prefix torch
    cp "$tests/tensorflow/torch_sum.py" "$SPANK_TF_CLUSTER/work/train.py"
    mkdir "$SPANK_TF_CLUSTER/work/bin"
    ln -s /usr/bin/python3 "$SPANK_TF_CLUSTER/work/bin/python"
}

after_test ()
{
    slurm scancel --quiet --user "$user"
    nothing_left
}

# Run README's command with more options, and require that 4 processes print this: summed LINE [OPTION…]
summed ()
{
    local line=$1 command

    [[ ! ${why_no_torch-} ]] || skip "$why_no_torch"
    command=$(sed -n "/^    srun .* sh -c '$/,/'$/p" "$tests/../README.md")
    [[ $command == *MASTER_ADDR=*"exec python train.py'" ]] || fail "README.md has another command: $command"
    shift
    command=${command/srun/srun -Q $*}
    run --separate-stderr slurm env PATH="$SPANK_TF_CLUSTER/work/bin:$PATH" OMP_NUM_THREADS=1 \
        timeout 200 bash -c "${command/train.py/train.py ${arguments-}}" < /dev/null
    [ "$status" -eq 0 ] || fail "it fails"
    diff <(printf "torch_sum: process %s of 4, $line\n" 0 1 2 3) <(grep ^torch_sum: <<< "$output" | sort) || fail "not these processes"
}

@test "PyTorch's processes meet by the command in README.md" {
    summed "life 0: ok"
}

@test "also on a network that --tf-network has chosen" {
    summed "life 0: ok" --tf-network=eth0
}

@test "when a process fails, all restart" {
    arguments=--fail summed "life 1: ok" --tf-restart=1,any
}
