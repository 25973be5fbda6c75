# SPDX-License-Identifier: GPL-2.0-or-later
#
# A training with JAX that goes on where it was: in each step all processes sum up their gradients. Process 0
# saves every tenth step in FILE. It prints what contrib/examples/resume_*.py print.
#
#     jax_steps.py FILE STEPS PAUSE

import os
import sys
import time

import jax
import numpy as np
import spank_tf_watchdog
from jax.experimental import multihost_utils

file, steps, pause = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
jax.distributed.initialize()
name = f"{os.environ['SLURM_TF_ROLE']} {os.environ['SLURM_TF_INDEX']}"
rng = np.random.default_rng(jax.process_index())
weights, step = np.zeros(16, np.float32), 0
if os.path.exists(file):
    saved = np.load(file)
    weights, step = saved["weights"], int(saved["step"])
print(f"{name}: starts at step {step}", flush=True)
first = step + 1

while step < steps:
    spank_tf_watchdog.alive(f"step {step}")
    points = rng.normal(size=(32, 16)).astype(np.float32)
    error = points @ weights - points.sum(axis=1)
    gradients = multihost_utils.process_allgather(points.T @ error / len(points))
    weights = weights - 0.02 * gradients.mean(axis=0)
    step += 1
    if step == first or step % 10 == 0:
        print(f"{name}: step {step}, loss {(error**2).mean():.4g}", flush=True)
    if step % 10 == 0 and jax.process_index() == 0:
        np.savez(file + ".new.npz", weights=weights, step=step)
        os.replace(file + ".new.npz", file)
    time.sleep(pause)
spank_tf_watchdog.done()
print(f"{name}: done, {steps} steps", flush=True)
