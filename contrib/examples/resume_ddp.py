# SPDX-License-Identifier: GPL-2.0-or-later
#
# PyTorch's DistributedDataParallel that goes on where it was:
#
#     srun --tf-tasks=worker:2 python resume_ddp.py DIRECTORY
#
# Process 0 saves every tenth step in DIRECTORY. When a process gets SIGTERM, all of them finish the
# same step, process 0 saves it, and all exit with 42. At its start the script goes on with what was
# saved last. It uses NCCL where there are GPUs, one for each process, and Gloo elsewhere.

import argparse
import os
import signal
import sys
import time

import spank_tf_watchdog
import torch
import torch.distributed as dist

FEATURES = 16
BATCH = 32  # of each process
RATE = 0.02

parser = argparse.ArgumentParser()
parser.add_argument("directory", help="of the checkpoint; the same for all processes")
parser.add_argument("--steps", type=int, default=200)
parser.add_argument("--pause", type=float, default=0.1, help="seconds after each step, as if the model were larger")
args = parser.parse_args()

asked = []
signal.signal(signal.SIGTERM, lambda number, frame: asked.append(number))

if torch.cuda.is_available():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
else:
    device = torch.device("cpu")
    dist.init_process_group("gloo")
name = f"{os.environ['SLURM_TF_ROLE']} {os.environ['SLURM_TF_INDEX']}"
torch.manual_seed(dist.get_rank())
os.makedirs(args.directory, exist_ok=True)
file = os.path.join(args.directory, "checkpoint.pt")

model = torch.nn.Linear(FEATURES, 1, bias=False).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=RATE)


def load():
    """Go on with the last checkpoint, and return its step. Process 0 reads it for all: other nodes may see a new file
    later, and processes that begin at different steps would wait for each other forever."""
    saved = [None]
    if dist.get_rank() == 0 and os.path.exists(file):
        saved = [torch.load(file, map_location="cpu")]
    dist.broadcast_object_list(saved)
    if not saved[0]:
        return 0
    model.load_state_dict(saved[0]["model"])
    optimizer.load_state_dict(saved[0]["optimizer"])
    return saved[0]["step"]


def save():
    """A process that is killed while it writes leaves the previous checkpoint. The others wait until it is saved."""
    if dist.get_rank() == 0:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, file + ".new")
        os.replace(file + ".new", file)
    dist.barrier()


def any_asked():
    """Has any process got SIGTERM? They get it at different moments, and if one left alone, the others would wait for its
    gradients. So all agree after each step. (If a step takes milliseconds, after each tenth.)"""
    flag = torch.tensor(len(asked), device=device)
    dist.all_reduce(flag)
    return flag.item() > 0


step = load()
parallel = torch.nn.parallel.DistributedDataParallel(model)
print(f"{name}: starts at step {step}", flush=True)
first = step + 1
while step < args.steps and not any_asked():
    spank_tf_watchdog.alive(f"step {step}")  # for --tf-watchdog
    points = torch.randn(BATCH, FEATURES, device=device)
    loss = ((parallel(points).squeeze(1) - points.sum(dim=1)) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    step += 1
    if step == first or step % 10 == 0:
        print(f"{name}: step {step}, loss {loss.item():.4g}", flush=True)
    if step % 10 == 0:
        save()
    time.sleep(args.pause)
spank_tf_watchdog.done()  # the end may take longer than a step

if step < args.steps:
    save()
    print(f"{name}: preempted, saved at step {step}", flush=True)
    sys.exit(42)
print(f"{name}: done, {args.steps} steps", flush=True)
