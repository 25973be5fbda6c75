# SPDX-License-Identifier: GPL-2.0-or-later
#
# A sum over all processes of torch.distributed.init_process_group(). With --fail, process 2 fails in its
# first life, when all processes have met.

import os
import sys

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, size, life = dist.get_rank(), dist.get_world_size(), os.environ.get("SLURM_TF_RESTART", "0")
if "--fail" in sys.argv and rank == 2 and life == "0":
    sys.exit(3)
# Each process adds a different power of two: the sum is right only if each took part once.
found = torch.tensor([2**rank])
dist.all_reduce(found)
assert int(found) == 2**size - 1, f"the sum is {int(found)}, not {2**size - 1}"
print(f"torch_sum: process {rank} of {size}, life {life}: ok", flush=True)
