# SPDX-License-Identifier: GPL-2.0-or-later
#
# Keras 3 on JAX, with model.fit() and DataParallel:
#
#     srun --tf-tasks=worker:4 python keras_jax.py
#
# Any number of workers works, with or without a chief. Each learns from its own data, and all have
# the same weights.

import os

os.environ["KERAS_BACKEND"] = "jax"

import jax
import keras
import numpy as np
import spank_tf_watchdog
from jax.experimental import multihost_utils

keras.distribution.initialize()
process, processes = jax.process_index(), jax.process_count()
keras.utils.set_random_seed(1)
keras.distribution.set_distribution(keras.distribution.DataParallel(auto_shard_dataset=False))


def batches():
    """This process's part of each batch: points, and for each the sum that the model has to find."""
    rng = np.random.default_rng(process)
    while True:
        points = rng.normal(size=(32, 16)).astype("float32")
        yield points, points.sum(axis=1, keepdims=True)


model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(1)])
model.compile(optimizer=keras.optimizers.SGD(0.1), loss="mse")
losses = model.fit(batches(), epochs=2, steps_per_epoch=25, shuffle=False, verbose=0,
                   callbacks=[spank_tf_watchdog.keras_callback(keras)]).history["loss"]  # for --tf-watchdog

# Each process adds a different power of two: the sum is right only if each took part once.
found = int(multihost_utils.process_allgather(np.array([2**process])).sum())
weights = multihost_utils.process_allgather(np.array(model.get_weights()[0]))
assert found == 2**processes - 1, f"the sum is {found}, not {2**processes - 1}"
assert losses[-1] < losses[0] / 10, f"the loss went from {losses[0]:.3g} to {losses[-1]:.3g} only"
assert np.ptp(weights.reshape(processes, -1), axis=0).max() == 0, "the processes have different weights"
print(f"keras_jax: process {process} of {processes}: sum {found}, loss {losses[0]:.3g} to {losses[-1]:.3g}, ok",
      flush=True)
