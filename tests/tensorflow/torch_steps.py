# SPDX-License-Identifier: GPL-2.0-or-later
#
# A training with PyTorch that goes on where it was: DistributedDataParallel averages the gradients of all processes.
# Process 0 saves every tenth step in FILE. It prints what contrib/examples/resume_*.py print.
#
#     torch_steps.py FILE STEPS PAUSE

import os
import sys
import time

import torch
import torch.distributed as dist

file, steps, pause = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
dist.init_process_group("gloo")
name = f"{os.environ['SLURM_TF_ROLE']} {os.environ['SLURM_TF_INDEX']}"
torch.manual_seed(dist.get_rank())
model, step = torch.nn.Linear(16, 1, bias=False), 0
if os.path.exists(file):
    saved = torch.load(file)
    model.load_state_dict(saved["model"])
    step = saved["step"]
# The others have the weights of process 0, too.
parallel = torch.nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.SGD(parallel.parameters(), lr=0.02)
print(f"{name}: starts at step {step}", flush=True)
first = step + 1

while step < steps:
    points = torch.randn(32, 16)
    optimizer.zero_grad()
    loss = ((parallel(points).squeeze(1) - points.sum(dim=1)) ** 2).mean()
    loss.backward()
    optimizer.step()
    step += 1
    if step == first or step % 10 == 0:
        print(f"{name}: step {step}, loss {loss.item():.4g}", flush=True)
    if step % 10 == 0 and dist.get_rank() == 0:
        torch.save({"model": model.state_dict(), "step": step}, file + ".new")
        os.replace(file + ".new", file)
    time.sleep(pause)
print(f"{name}: done, {steps} steps", flush=True)
