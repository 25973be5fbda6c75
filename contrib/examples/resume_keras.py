# SPDX-License-Identifier: GPL-2.0-or-later
#
# Keras' model.fit() on many workers that goes on where it was:
#
#     srun --tf-tasks=worker:2 python resume_keras.py DIRECTORY
#
# BackupAndRestore saves every tenth step in DIRECTORY. When the workers get SIGTERM, they exit with
# 42. (With save_before_preemption=True it would save the last step, too. But then each worker
# restores its own files, and only the first one keeps those of every tenth step.)
#
# This needs Keras 2: TensorFlow's own up to 2.15, the package tf_keras in later versions. Keras 3
# does not support MultiWorkerMirroredStrategy.

import argparse
import os
import signal
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")  # or it is announced at every start

import numpy as np
import spank_tf_watchdog
import tensorflow as tf

tf.get_logger().setLevel("ERROR")

try:
    import tf_keras as keras
except ImportError:
    import keras
if not keras.__version__.startswith("2."):
    sys.exit(f"this is Keras {keras.__version__}; install tf_keras")

FEATURES = 16
BATCH = 256  # of all workers
EPOCH = 50  # steps
RATE = 0.02

parser = argparse.ArgumentParser()
parser.add_argument("directory", help="of the checkpoints; the same for all workers")
parser.add_argument("--steps", type=int, default=200)
parser.add_argument("--pause", type=float, default=0.1, help="seconds after each step, as if the model were larger")
args = parser.parse_args()

strategy = tf.distribute.MultiWorkerMirroredStrategy()
# Not earlier: the strategy sets a handler of its own, which does nothing more. And not by an exception, which TensorFlow
# makes a RuntimeError if it is just telling that another worker has ended.
signal.signal(signal.SIGTERM, lambda number, frame: os._exit(42))
name = f"{strategy.cluster_resolver.task_type} {strategy.cluster_resolver.task_id}"


class Progress(keras.callbacks.Callback):
    def step(self):
        return int(self.model.optimizer.iterations.numpy())

    def on_train_begin(self, logs=None):
        self.first = self.step() + 1
        print(f"{name}: starts at step {self.step()}", flush=True)

    def on_train_batch_end(self, batch, logs=None):
        step = self.step()
        if step == self.first or step % 10 == 0:
            print(f"{name}: step {step}, loss {logs['loss']:.4g}", flush=True)
        time.sleep(args.pause)


def dataset():
    """Points, and for each the sum that the model has to find."""
    points = np.random.default_rng(0).normal(size=(BATCH * EPOCH, FEATURES)).astype(np.float32)
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    data = tf.data.Dataset.from_tensor_slices((points, points.sum(axis=1, keepdims=True)))
    return data.repeat().batch(BATCH).with_options(options)


with strategy.scope():
    model = keras.Sequential([keras.layers.Dense(1, input_shape=[FEATURES])])
    model.compile(keras.optimizers.SGD(RATE), "mse")
model.fit(dataset(), epochs=args.steps // EPOCH, steps_per_epoch=EPOCH, verbose=0,
          callbacks=[keras.callbacks.BackupAndRestore(args.directory, save_freq=10), Progress(),
                     spank_tf_watchdog.keras_callback(keras)])  # for --tf-watchdog
print(f"{name}: done, {args.steps} steps", flush=True)
