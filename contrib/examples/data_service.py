# SPDX-License-Identifier: GPL-2.0-or-later
#
# tf.data service: auxiliary tasks prepare the data of the workers.
#
#     srun --tf-tasks=worker:2,+dispatcher,+data:2 python data_service.py
#
# Any number of workers and of data tasks works. The dispatcher tells a worker which data tasks there
# are; so each of these needs an address at which other nodes reach it, and the default of
# WorkerConfig, localhost, is none.

import os
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")  # or it is announced at every start

import spank_tf_watchdog
import tensorflow as tf
from tensorflow.data.experimental import service

STEPS = 100
BATCH = 32
FEATURES = 16
RATE = 0.1

task = tf.distribute.cluster_resolver.TFConfigClusterResolver()
port = int(os.environ["SLURM_TF_PORT"])
dispatcher = os.environ["SLURM_TF_DISPATCHER"]
data = os.environ["SLURM_TF_DATA"].split(",")

# These two serve until spank-tf stops them.
if task.task_type == "dispatcher":
    service.DispatchServer(service.DispatcherConfig(port=port)).join()
if task.task_type == "data":
    service.WorkerServer(service.WorkerConfig(
        dispatcher_address=dispatcher, worker_address=data[task.task_id], port=port)).join()


strategy = tf.distribute.MultiWorkerMirroredStrategy()


def serve(dataset):
    """Its elements come from the data tasks. Each of these goes through all of them."""
    return dataset.apply(service.distribute(service.ShardingPolicy.OFF, "grpc://" + dispatcher))


def batch(number):
    """Points, and for each the sum that the model has to find. The data tasks compute this."""
    points = tf.random.stateless_normal([BATCH, FEATURES], seed=[number, 0])
    return points, tf.reduce_sum(points, axis=1, keepdims=True)


# Data tasks may come at any time. Here, wait for all: one element is served as often as there are.
deadline = time.monotonic() + 120
while sum(1 for _ in serve(tf.data.Dataset.range(1))) < len(data):
    if time.monotonic() > deadline:
        sys.exit(f"data_service: not all of the {len(data)} data tasks serve")
    time.sleep(0.2)

batches = strategy.distribute_datasets_from_function(
    lambda context: serve(tf.data.Dataset.random(seed=context.input_pipeline_id).map(batch)))
with strategy.scope():
    weights = tf.Variable(tf.zeros([FEATURES, 1]), aggregation=tf.VariableAggregation.MEAN)


def descend(points, values):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((points @ weights - values) ** 2)
    weights.assign_sub(RATE * tape.gradient(loss, weights))
    return loss


@tf.function
def train(batch):
    return strategy.reduce("MEAN", strategy.run(descend, batch), axis=None)


iterator = iter(batches)
losses = []
for step in range(STEPS):
    spank_tf_watchdog.alive(f"step {step}")  # for --tf-watchdog
    losses.append(float(train(next(iterator))))
if losses[-1] > losses[0] / 10:
    sys.exit(f"data_service: the loss went from {losses[0]:.3g} to {losses[-1]:.3g} only")
print(f"data_service: worker {task.task_id}: {STEPS} batches of {len(data)} data tasks, "
      f"loss {losses[0]:.3g} to {losses[-1]:.3g}, ok", flush=True)
