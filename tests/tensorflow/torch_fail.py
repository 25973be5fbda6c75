# SPDX-License-Identifier: GPL-2.0-or-later
#
# torch_fail.py RANK plain|cleanup|atexit: that process fails, and the others die of its lost connections. Its own
# are closed when Python has freed all; or before its traceback is printed, as in PyTorch's tutorials; or before a
# logger has written what it has.

import atexit
import sys
import time

import torch
import torch.distributed as dist

bad, kind = int(sys.argv[1]), sys.argv[2]


def train():
    for step in range(1000):
        gradient = torch.ones(64, 64)
        dist.all_reduce(gradient)
        if step == 5 and dist.get_rank() == bad:
            raise ValueError("NaN in the loss")
        print("step", step, flush=True)


dist.init_process_group("gloo")
if kind == "atexit" and dist.get_rank() == bad:
    # The last one comes first.
    atexit.register(time.sleep, 0.7)
    atexit.register(dist.destroy_process_group)
try:
    train()
finally:
    if kind == "cleanup":
        dist.destroy_process_group()
