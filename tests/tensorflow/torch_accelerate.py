# SPDX-License-Identifier: GPL-2.0-or-later
#
# What Hugging Face's Accelerator () takes for its processes, and a sum over all of them.

import os

import torch
from accelerate import Accelerator
from accelerate.utils import reduce

accelerator = Accelerator(cpu=True)
rank, size = accelerator.process_index, accelerator.num_processes
assert int(reduce(torch.tensor([2**rank]), "sum")) == 2**size - 1
print(f"accelerate: process {rank} of {size}, {accelerator.local_process_index} of its node", flush=True)
accelerator.wait_for_everyone()
os._exit(0)
