# SPDX-License-Identifier: GPL-2.0-or-later
#
# A sum over all processes of jax.distributed.initialize(). With NAME and OTHER, two files, process 0
# makes the first one and waits for the other: so two steps are known to run at the same time.

import os
import sys
import time

import jax
import numpy as np
from jax.experimental import multihost_utils

jax.distributed.initialize()
process, processes = jax.process_index(), jax.process_count()
if sys.argv[1:] and process == 0:
    open(sys.argv[1], "w").close()
    while not os.path.exists(sys.argv[2]):
        time.sleep(0.1)
# Each process adds a different power of two: the sum is right only if each took part once.
found = int(multihost_utils.process_allgather(np.array([2**process])).sum())
assert found == 2**processes - 1, f"the sum is {found}, not {2**processes - 1}"
print(f"jax_sum: process {process} of {processes}, {os.environ['SLURM_TF_ROLE']} {os.environ['SLURM_TF_INDEX']}: ok", flush=True)
