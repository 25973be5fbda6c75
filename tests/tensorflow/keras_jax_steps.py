# SPDX-License-Identifier: GPL-2.0-or-later
#
# A training with Keras 3 on JAX that goes on where it was. JAX catches SIGTERM, and its processes agree on the step after
# which they save and exit with 42. Process 0 saves in FILE. It prints what contrib/examples/resume_*.py print.
#
#     keras_jax_steps.py FILE STEPS PAUSE

import os
import sys
import time

os.environ["KERAS_BACKEND"] = "jax"

import jax
import keras
import numpy as np
import spank_tf_watchdog
from jax.experimental import multihost_utils

file, steps, pause = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
keras.distribution.initialize()
process, step = jax.process_index(), 0
keras.utils.set_random_seed(1)
keras.distribution.set_distribution(keras.distribution.DataParallel(auto_shard_dataset=False))
name = f"{os.environ['SLURM_TF_ROLE']} {os.environ['SLURM_TF_INDEX']}"
model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(1, use_bias=False)])
model.compile(optimizer=keras.optimizers.SGD(0.02), loss="mse")
if os.path.exists(file):
    saved = np.load(file)
    model.set_weights([saved["weights"]])
    step = int(saved["step"])
print(f"{name}: starts at step {step}", flush=True)
first = step + 1


class Progress(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        global step
        step += 1
        spank_tf_watchdog.alive(f"step {step}")
        if step == first or step % 10 == 0:
            print(f"{name}: step {step}, loss {logs['loss']:.4g}", flush=True)
        if multihost_utils.reached_preemption_sync_point(step):
            if process == 0:
                np.savez(file + ".new.npz", weights=self.model.get_weights()[0], step=step)
                os.replace(file + ".new.npz", file)
            print(f"{name}: preempted, saved at step {step}", flush=True)
            sys.exit(42)
        time.sleep(pause)


def batches():
    """This process's part of each batch: points, and for each the sum that the model has to find."""
    rng = np.random.default_rng(process)
    while True:
        points = rng.normal(size=(32, 16)).astype("float32")
        yield points, points.sum(axis=1, keepdims=True)


model.fit(batches(), steps_per_epoch=steps - step, shuffle=False, verbose=0, callbacks=[Progress()])
print(f"{name}: done, {steps} steps", flush=True)
