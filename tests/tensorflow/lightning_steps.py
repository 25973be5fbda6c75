# SPDX-License-Identifier: GPL-2.0-or-later
#
# A training with Lightning that goes on where it was. When one of its processes gets SIGTERM, all save the step, and exit
# with 42. It prints what contrib/examples/resume_*.py print.
#
#     lightning_steps.py FILE STEPS PAUSE

import os
import signal
import sys
import time

import spank_tf_watchdog
import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.plugins.environments import SLURMEnvironment

file, steps, pause = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
name = f"{os.environ['SLURM_TF_ROLE']} {os.environ['SLURM_TF_INDEX']}"
asked = []


class Model(LightningModule):
    """It has to find the sum of each point."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(16, 1, bias=False)

    def training_step(self, points):
        return ((self.layer(points).squeeze(1) - points.sum(dim=1)) ** 2).mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.02)

    def _register_sharded_tensor_state_dict_hooks_if_available(self):
        """Not here: it imports a module of PyTorch 1.13 that Python 3.11 cannot import."""


class Progress(Callback):
    def on_train_start(self, trainer, _):
        # Here it replaces that of Lightning, which ends a process without a checkpoint.
        signal.signal(signal.SIGTERM, lambda number, frame: asked.append(number))
        self.first = trainer.global_step + 1
        print(f"{name}: starts at step {trainer.global_step}", flush=True)

    def on_train_batch_end(self, trainer, _, outputs, *batch):
        step = trainer.global_step
        spank_tf_watchdog.alive(f"step {step}")
        if step == self.first or step % 10 == 0:
            print(f"{name}: step {step}, loss {outputs['loss'].item():.4g}", flush=True)
        if trainer.strategy.reduce_boolean_decision(bool(asked), all=False):
            trainer.save_checkpoint(file)
            print(f"{name}: preempted, saved at step {step}", flush=True)
            os._exit(42)
        time.sleep(pause)


points = torch.randn(32 * 50, 16, generator=torch.Generator().manual_seed(1))
trainer = Trainer(
    accelerator="cpu", strategy="ddp", devices=1, num_nodes=int(os.environ["WORLD_SIZE"]), max_steps=steps,
    plugins=SLURMEnvironment(auto_requeue=False), callbacks=[Progress()], logger=False, enable_checkpointing=False,
    enable_progress_bar=False, enable_model_summary=False,
)
trainer.fit(Model(), torch.utils.data.DataLoader(points, batch_size=32), ckpt_path=file if os.path.exists(file) else None)
print(f"{name}: done, {steps} steps", flush=True)
os._exit(0)
