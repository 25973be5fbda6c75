#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# PyTorch's processes meet at the second port of process 0, by the commands in doc/guide/frameworks.md. PyTorch is
# Debian's; that of PyPI brings CUDA. system/pytorch.bats has other layouts, two steps at a time, and restarts.

load ../common
load torch

setup_file ()
{
    start_with_torch torch 3
    cp "$tests/tensorflow/torch_sum.py" "$SPANK_TF_CLUSTER/work/train.py"
}

# Run a command of Slurm's with Debian's Python in PATH.
with_torch ()
{
    needs_torch
    run --separate-stderr slurm env PATH="$torch_bin:$PATH" PYTHONDONTWRITEBYTECODE=1 timeout 200 "$@" < /dev/null
    [ "$status" -eq 0 ] || fail "it fails"
}

# Require that N processes have printed this: summed N
summed ()
{
    local i

    diff <(for ((i = 0; i < $1; i++)); do echo "torch_sum: process $i of $1: ok"; done) \
        <(grep ^torch_sum: <<< "$output" | sort -V) || fail "not these processes"
}

# The command in doc/guide/frameworks.md that has this pattern, on one line.
from_readme ()
{
    sed -n '/^## PyTorch/,/^## /{/\\$/{N; s/\\\n *//}; s/^    //p}' "$tests/../doc/guide/frameworks.md" | grep -- "$1"
}

# Run srun with --tf-frameworks=torch and this.
srun_torch ()
{
    with_torch srun -Q --overcommit --tf-frameworks=torch "$@"
}

# bats test_tags=release
@test "PyTorch's processes meet by the command in doc/guide/frameworks.md, and train with DistributedDataParallel" {
    local command

    command=$(from_readme 'python train.py$')
    [ "$command" = "srun -N2 --ntasks-per-node=4 --gpus-per-node=4 --tf-tasks=worker:8 python train.py" ] || fail "doc/guide/frameworks.md has: $command"
    # The cluster has three nodes, without GPUs.
    with_torch bash -c "${command/-N2 --ntasks-per-node=4 --gpus-per-node=4/-Q -N3 -n8 --overcommit} --ddp"
    summed 8
}

# bats test_tags=release
@test "an evaluator and an auxiliary task are not counted, and TF_CONFIG's frameworks do not disturb" {
    with_torch srun -Q -N3 -n5 --overcommit --tf-frameworks=tf,keras,jax,torch --tf-tasks=worker:2,chief,evaluator,+data \
        sh -c '[ ! "$RANK" ] || exec python train.py --ddp'
    summed 3
}

# The connections of the process that fails are closed before it ends, or before its traceback is printed; the others
# die of that at once.
@test "of processes on Gloo the one that failed is named, and not those that lost their connections to it" {
    local bad kind

    needs_torch
    cp "$tests/tensorflow/torch_fail.py" "$SPANK_TF_CLUSTER/work"
    for bad in 0 2; do
        for kind in plain cleanup atexit; do
            run --separate-stderr slurm timeout 100 srun -Q -N3 --tf-frameworks=torch --tf-tasks=worker:3 --tf-log-dir="fail/$kind" \
                /usr/bin/python3 torch_fail.py $bad $kind < /dev/null
            [[ $stderr == *"first failure: worker $bad ("*', exit code 1. Its log '*' ends with "ValueError: NaN in the loss"'* ]] ||
                fail "worker $bad failed first ($kind)"
        done
    done
}

@test "PyTorch without its variables: the last line has the option" {
    needs_torch
    run --separate-stderr slurm srun -Q -N2 --tf-frameworks=tf --tf-tasks=worker:2 --tf-log-dir=without /usr/bin/python3 train.py < /dev/null
    [[ $stderr == *", exit code 1: PyTorch's variables are not set, see --tf-frameworks=torch. Its log "* ]] || fail "it has not"
}

@test "torchrun with a static rendezvous, as one task per node, by the command in doc/guide/frameworks.md" {
    local command

    command=$(from_readme torchrun)
    [[ $command == *--rdzv_backend=static*train.py\' ]] || fail "doc/guide/frameworks.md has: $command"
    /usr/bin/python3 -c 'from torch.distributed import TCPStore; TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)' ||
        skip "Debian 13's PyTorch lacks libuv, which torchrun asks for"
    # That of PyTorch 1.13 fails with Python 3.11, unless it redirects the output.
    command=${command/torchrun/torchrun -r1 -t1 --log_dir=log}
    with_torch bash -c "${command/--gpus-per-node=4/-Q}"
    output=${output//\[default?\]:/}
    summed 8
}

@test "Hugging Face's accelerate takes the processes of torch, and none without torch among the frameworks" {
    # shellcheck disable=SC2086  # several words
    venv_with $accelerate_packages
    cp "$tests/tensorflow/torch_accelerate.py" "$SPANK_TF_CLUSTER/work"
    srun_torch -N3 -n4 -m cyclic --tf-tasks=worker:2,chief,worker "$venv/bin/python" torch_accelerate.py
    diff <(printf 'accelerate: process %s of its node\n' "0 of 4, 0" "1 of 4, 0" "2 of 4, 0" "3 of 4, 1") \
        <(grep ^accelerate: <<< "$output" | sort) || fail "not these processes"
    with_torch srun -Q -N2 --tf-tasks=worker:2 "$venv/bin/python" torch_accelerate.py
    diff <(printf 'accelerate: process %s of its node\n' "0 of 2, 0" "1 of 2, 0") <(grep ^accelerate: <<< "$output" | sort) ||
        fail "not by default"
    with_torch srun -Q -N2 --tf-frameworks=tf,keras,jax --tf-tasks=worker:2 "$venv/bin/python" torch_accelerate.py
    diff <(yes "accelerate: process 0 of 1, 0 of its node" | head -n 2) <(grep ^accelerate: <<< "$output") || fail "they are not alone"
}

@test "Lightning takes the address and port of torch, and its ranks from Slurm, in which only processes count" {
    local name

    # shellcheck disable=SC2086  # several words
    venv_with $lightning_packages
    cp "$tests/tensorflow/torch_lightning.py" "$SPANK_TF_CLUSTER/work"
    # In salloc's jobs, which have this name, it takes LOCAL_RANK and GROUP_RANK.
    for name in train interactive; do
        srun_torch -J $name -N3 --ntasks-per-node=2 --tf-tasks=worker:6 "$venv/bin/python" torch_lightning.py 2 3
        diff <(printf 'lightning: process %s\n' "0 of 6, 0 of node 0" "1 of 6, 1 of node 0" "2 of 6, 0 of node 1" \
            "3 of 6, 1 of node 1" "4 of 6, 0 of node 2" "5 of 6, 1 of node 2") <(grep ^lightning: <<< "$output" | sort) ||
            fail "not these processes in a job that is called $name"
    done
    srun_torch -N3 --ntasks-per-node=1 --tf-tasks=evaluator,worker,chief \
        sh -c '[ ! "$RANK" ] || exec "$@"' - "$venv/bin/python" torch_lightning.py 1 2
    diff <(printf 'lightning: process %s\n' "0 of 2, 0 of node 0" "1 of 2, 0 of node 1") \
        <(grep ^lightning: <<< "$output" | sort) || fail "not these processes of a chief and a worker"
}

# bats test_tags=core,release
@test "processes meet with RANK=0 and WORLD_SIZE=1 in the environment, and on nodes whose own names lead to 127.0.1.1" {
    local node

    for node in torch1 torch2 torch3; do
        printf '127.0.0.1 localhost\n127.0.1.1 %s\n' $node > "$BATS_TEST_TMPDIR/$node"
        "$tests/cluster" run --on $node -- mount --bind "$BATS_TEST_TMPDIR/$node" /etc/hosts
    done
    with_torch env RANK=0 WORLD_SIZE=1 LOCAL_RANK=0 MASTER_ADDR=127.0.0.1 srun -Q -N3 --tf-frameworks=torch --tf-tasks=worker:3 python train.py
    summed 3
    [[ $stderr == *": MASTER_ADDR, RANK, WORLD_SIZE from your environment were replaced"* ]] || fail "srun does not name them"
    # So it is Gloo's variable that helps.
    run --separate-stderr slurm env OMP_NUM_THREADS=1 USE_LIBUV=0 timeout 100 srun -Q -N3 --tf-frameworks=torch --tf-tasks=worker:3 \
        sh -c 'unset GLOO_SOCKET_IFNAME; exec /usr/bin/python3 train.py' < /dev/null
    [ "$status" -ne 0 ] && [[ $stderr == *127.0.1.1* || $stderr == *"Gloo connect"* ]] || fail "it works without"
    for node in torch1 torch2 torch3; do
        "$tests/cluster" run --on $node -- umount /etc/hosts
    done
}
