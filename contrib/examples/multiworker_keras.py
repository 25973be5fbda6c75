# SPDX-License-Identifier: GPL-2.0-or-later
#
# Keras' model.fit() on many workers, with MultiWorkerMirroredStrategy:
#
#     srun --tf-tasks=worker:4 python multiworker_keras.py
#
# This needs Keras 2: TensorFlow's own up to 2.15, the package tf_keras in later versions. Keras 3
# does not support this strategy.

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")  # or it is announced at every start

import numpy as np
import spank_tf_watchdog
import tensorflow as tf

try:
    import tf_keras as keras
except ImportError:
    import keras
if not keras.__version__.startswith("2."):
    sys.exit(f"this is Keras {keras.__version__}; install tf_keras")

BATCH = 32  # of each worker
STEPS = 20  # in each epoch


def dataset(batch):
    """Points in a square, and whether they are in its circle."""
    points = np.random.default_rng(0).uniform(-1, 1, size=(batch * STEPS, 2)).astype(np.float32)
    inside = (points**2).sum(axis=1, keepdims=True) < 0.6
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    return tf.data.Dataset.from_tensor_slices((points, inside)).repeat().batch(batch).with_options(options)


strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = keras.Sequential([keras.layers.Dense(32, activation="relu", input_shape=[2]),
                              keras.layers.Dense(1, activation="sigmoid")])
    model.compile(keras.optimizers.Adam(0.03), "binary_crossentropy", ["accuracy"])

# Each worker takes its share of every batch.
everyones = BATCH * strategy.num_replicas_in_sync
history = model.fit(dataset(everyones), epochs=8, steps_per_epoch=STEPS, verbose=0,
                    callbacks=[spank_tf_watchdog.keras_callback(keras)]).history  # for --tf-watchdog

cluster = strategy.cluster_resolver
name = f"{cluster.task_type} {cluster.task_id}"
print(f"{name}: loss {history['loss'][0]:.3f} to {history['loss'][-1]:.3f}, "
      f"accuracy {history['accuracy'][-1]:.3f}", flush=True)
if history["accuracy"][-1] < 0.9:
    sys.exit(f"{name}: this accuracy is too low")
