# SPDX-License-Identifier: GPL-2.0-or-later
#
# torch_lightning.py DEVICES NODES: what Lightning's Trainer takes for its processes, and two steps of
# its DistributedDataParallel, after which all processes have the same model.

import os
import sys

import torch
from lightning.pytorch import LightningModule, Trainer


class Model(LightningModule):
    """Its weight loses the mean of what the processes have, in each step."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1, bias=False)
        torch.nn.init.zeros_(self.layer.weight)

    def training_step(self, batch):
        return self.layer(batch).sum()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1.0)

    def _register_sharded_tensor_state_dict_hooks_if_available(self):
        """Not here: it imports a module of PyTorch 1.13 that Python 3.11 cannot import."""


given = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
devices, nodes = (int(word) for word in sys.argv[1:3])
trainer = Trainer(
    accelerator="cpu", strategy="ddp", devices=devices, num_nodes=nodes, max_epochs=1, use_distributed_sampler=False,
    logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
)
rank, size, model = trainer.global_rank, trainer.world_size, Model()
trainer.fit(model, torch.utils.data.DataLoader([torch.tensor([rank + 1.0])] * 2))
environment = trainer.strategy.cluster_environment
assert (environment.main_address, environment.main_port) == given
weight = model.layer.weight.item()
assert abs(weight + 2 * (size + 1) / 2) < 1e-5, f"the weight is {weight}"
print(f"lightning: process {rank} of {size}, {trainer.local_rank} of node {trainer.node_rank}", flush=True)
trainer.strategy.barrier()
os._exit(0)
