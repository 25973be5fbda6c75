#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The last words of a task whose libraries print something after its exception, or whose launcher has an exception of
# its own. What they print is also in tests/unit/find_cause.golden.

load ../common
load torch

packages='wandb==0.31.0 hydra-core==1.3.2 tqdm==4.66.1'

setup_file ()
{
    start_with_torch words 2
    cp "$tests/tensorflow/last_words.py" "$SPANK_TF_CLUSTER/work"
}

# Require that the last line has the exception, and that the log's last words are others, if there is a pattern of
# these: names_exception PATTERN PROGRAM ARGUMENT…
names_exception ()
{
    local log=$SPANK_TF_CLUSTER/work/logs/worker0.log

    run --separate-stderr slurm env HOME="$SPANK_TF_CLUSTER/work" PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1 USE_LIBUV=0 \
        timeout 200 srun -Q -n1 --tf-tasks=worker --tf-log-dir=logs "${@:2}" < /dev/null
    tail -n 40 "$log" | grep -q "$1" || fail "it prints something else: $(cat "$log")"
    [[ $stderr == *', exit code 1. Its log '*' ends with "ValueError: NaN in the loss"'* ]] || fail "the exception is not named"
}

@test "the exception is named behind which Python, its resource tracker, a progress bar, wandb and Hydra print" {
    venv=$SPANK_TF_CLUSTER/words
    # shellcheck disable=SC2086  # several words
    /usr/bin/python3 -m venv "$venv" && "$venv/bin/pip" install -q $packages || skip "wandb and Hydra cannot be installed"
    names_exception '^ValueError: NaN' "$venv/bin/python" last_words.py plain
    names_exception "^AttributeError: 'NoneType'" "$venv/bin/python" last_words.py ignored
    names_exception 'resource_tracker: There appear' "$venv/bin/python" last_words.py tracker
    names_exception '4/10' "$venv/bin/python" last_words.py tqdm
    names_exception 'Find logs at' "$venv/bin/python" last_words.py wandb
    names_exception 'HYDRA_FULL_ERROR=1' "$venv/bin/python" last_words.py hydra
}

@test "the exception is named, and not that of accelerate or torchrun" {
    # shellcheck disable=SC2086  # several words
    venv_with $accelerate_packages
    names_exception '^subprocess.CalledProcessError' "$venv/bin/python" -m accelerate.commands.launch --cpu --num_processes 1 \
        --num_machines 1 --mixed_precision no --dynamo_backend no last_words.py plain
    /usr/bin/python3 -c 'from torch.distributed import TCPStore; TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)' ||
        skip "Debian 13's PyTorch lacks libuv, which torchrun asks for"
    # PyTorch 1.13's fails with Python 3.11, unless it redirects the output.
    names_exception 'ChildFailedError' /usr/bin/python3 -m torch.distributed.run -r1 -t1 --log_dir=log --nproc_per_node=2 last_words.py plain
}
