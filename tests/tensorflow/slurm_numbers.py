# SPDX-License-Identifier: GPL-2.0-or-later
#
# slurm_numbers.py LIBRARY DEVICES NODES STEPS: a training whose processes find each other as the library does it by itself
# in a step of Slurm's, with nothing told but what its users have to say. In each step all processes sum up a number.
#
# Each process prints its number, how many there are, and its number on its node; then every tenth step.

import os
import sys
import time

library, devices, nodes, steps = sys.argv[1], *(int(word) for word in sys.argv[2:])
name = f"{library}: {os.environ['SLURM_TF_ROLE']} {os.environ['SLURM_TF_INDEX']}"


def begin(rank, size, local):
    print(f"{name} is process {rank} of {size}, {local} of its node", flush=True)


def train(rank, size, local, total):
    """`total` is a function that sums up its argument over all processes."""
    begin(rank, size, local)
    for step in range(1, steps + 1):
        summed = total(float(rank + step))
        assert summed == size * (size - 1) / 2 + size * step, f"the sum is {summed}"
        if step % 10 == 0:
            print(f"{name} has done {step} steps", flush=True)
        time.sleep(0.05)


def all_reduce(value):
    import torch
    tensor = torch.tensor([value])
    torch.distributed.all_reduce(tensor)
    return tensor.item()


def lightning():
    import torch
    from lightning.pytorch import Callback, LightningModule, Trainer

    class Model(LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(1, 1)

        def training_step(self, batch):
            return self.layer(batch).sum()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.01)

        def _register_sharded_tensor_state_dict_hooks_if_available(self):
            """Not here: it imports a module of PyTorch 1.13 that Python 3.11 cannot import."""

    class Steps(Callback):
        def on_train_start(self, trainer, _):
            begin(trainer.global_rank, trainer.world_size, trainer.local_rank)

        def on_train_batch_end(self, trainer, *_):
            if trainer.global_step % 10 == 0:
                print(f"{name} has done {trainer.global_step} steps", flush=True)
            time.sleep(0.05)

    trainer = Trainer(
        accelerator="cpu", strategy="ddp", devices=devices, num_nodes=nodes, max_steps=steps, callbacks=[Steps()],
        use_distributed_sampler=False, logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Model(), torch.utils.data.DataLoader([torch.ones(1)] * steps))


def ignite():
    import ignite.distributed as idist
    idist.initialize("gloo")
    train(idist.get_rank(), idist.get_world_size(), idist.get_local_rank(), idist.all_reduce)
    idist.finalize()


def mmengine():
    import torch
    from mmengine.dist import get_local_rank, get_rank, get_world_size, init_dist

    # On CPUs there is no device to choose.
    torch.cuda.set_device = lambda _: None
    init_dist("slurm", backend="gloo")
    train(get_rank(), get_world_size(), int(os.environ["LOCAL_RANK"]), all_reduce)


def accelerate():
    import torch
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True)
    train(accelerator.process_index, accelerator.num_processes, accelerator.local_process_index,
          lambda value: accelerator.reduce(torch.tensor([value])).item())


def jax():
    import jax
    import numpy
    from jax.experimental import multihost_utils

    jax.distributed.initialize()
    train(jax.process_index(), jax.process_count(), int(os.environ["SLURM_LOCALID"]),
          lambda value: float(multihost_utils.process_allgather(numpy.float32(value)).sum()))


globals()[library]()
print(f"{name} is done", flush=True)
