# SPDX-License-Identifier: GPL-2.0-or-later
#
# What Hugging Face's Accelerator () takes for its processes, and a sum over all of them.

import os

import torch
from accelerate import Accelerator
from accelerate.utils import reduce

# On CPUs accelerate takes MPI where PyTorch has it, as Debian 13's, and srun starts no MPI here.
if torch.distributed.is_mpi_available() and "RANK" in os.environ:
    torch.distributed.init_process_group("gloo")
accelerator = Accelerator(cpu=True)
rank, size = accelerator.process_index, accelerator.num_processes
assert int(reduce(torch.tensor([2**rank]), "sum")) == 2**size - 1
print(f"accelerate: process {rank} of {size}, {accelerator.local_process_index} of its node", flush=True)
accelerator.wait_for_everyone()
os._exit(0)
