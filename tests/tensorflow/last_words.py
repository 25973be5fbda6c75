# SPDX-License-Identifier: GPL-2.0-or-later
#
# last_words.py KIND: fail, while a library has still something to print.

import os
import sys
import traceback

kind = sys.argv.pop()


def loss():
    raise ValueError("NaN in the loss")


if kind == "wandb":
    import wandb

    wandb.init(project="test", mode="offline").log({"loss": 0.3})
    loss()
elif kind == "hydra":
    import hydra

    hydra.main(version_base=None)(lambda config: loss())()
elif kind == "tqdm":
    from tqdm import tqdm

    progress = tqdm(range(10))
    for batch in progress:
        if batch == 4:
            loss()
elif kind == "ignored":

    class Loader:
        def __del__(self):
            raise AttributeError("'NoneType' object has no attribute 'sleep'")

    loader = Loader()
    loss()
elif kind == "tracker":
    import multiprocessing
    import multiprocessing.resource_tracker

    semaphore = multiprocessing.get_context("spawn").Semaphore(1)
    try:
        loss()
    except ValueError:
        traceback.print_exc()
        # It prints what has leaked when this process closes its pipe, and the step may end before that.
        multiprocessing.resource_tracker._resource_tracker._stop()
        os._exit(1)
else:
    loss()
