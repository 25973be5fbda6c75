# SPDX-License-Identifier: GPL-2.0-or-later
#
# A sum over all processes of torch.distributed.init_process_group (), and with --ddp two steps of
# DistributedDataParallel, after which all processes have the same model.

import faulthandler
import os
import sys

import torch
import torch.distributed as dist


def reduced(number, operation=dist.ReduceOp.SUM):
    found = torch.tensor([number])
    dist.all_reduce(found, op=operation)
    return int(found)


def train(rank, size):
    """The gradient of each process is its number plus 1, DDP averages them."""
    model = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.zeros_(model.weight)
    parallel = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(parallel.parameters(), lr=1.0)
    for _ in range(2):
        optimizer.zero_grad()
        parallel(torch.tensor([[rank + 1.0]])).sum().backward()
        optimizer.step()
    expected = -2 * (size + 1) / 2
    assert abs(model.weight.item() - expected) < 1e-5, f"the weight is {model.weight.item()}, not {expected}"


faulthandler.dump_traceback_later(100, exit=True)
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
# Each process adds a different power of two: the sum is right only if each took part once.
assert reduced(2**rank) == 2**size - 1
if "--ddp" in sys.argv:
    train(rank, size)
print(f"torch_sum: process {rank} of {size}: ok", flush=True)
# Without destroy_process_group (), PyTorch 1.13 sometimes aborts at the end; with it, 2.6 sometimes hangs.
dist.monitored_barrier()
os._exit(0)
