# SPDX-License-Identifier: GPL-2.0-or-later
#
# Synchronous training in a custom loop, with MultiWorkerMirroredStrategy:
#
#     srun --tf-tasks=worker:4 python multiworker.py
#
# Any number of workers works, with or without a chief, which is the first of them. Each learns
# from its own data, and all have the same weights after every step.

import argparse
import os
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")  # or it is announced at every start

import numpy as np
import spank_tf_watchdog
import tensorflow as tf

FEATURES = 64
BATCH = 32  # of each worker

parser = argparse.ArgumentParser()
parser.add_argument("--rate", type=float, default=0.1, help="learning rate")
parser.add_argument("--steps", type=int, default=50)
parser.add_argument("--summaries", metavar="DIR", help="write each step's loss there, for TensorBoard")
parser.add_argument("--megabytes", type=int, default=0, help="sum up so much as well, to see how fast the network is")
args = parser.parse_args()

strategy = tf.distribute.MultiWorkerMirroredStrategy()
replicas = strategy.num_replicas_in_sync


def batches(context):
    """This worker's data: points, and for each the sum that the model has to find."""
    rng = np.random.default_rng(context.input_pipeline_id)
    while True:
        points = rng.normal(size=(BATCH, FEATURES)).astype(np.float32)
        yield points, points.sum(axis=1, keepdims=True)


def dataset(context):
    kind = tf.TensorSpec([BATCH, FEATURES]), tf.TensorSpec([BATCH, 1])
    return tf.data.Dataset.from_generator(lambda: batches(context), output_signature=kind)


with strategy.scope():
    weights = tf.Variable(tf.zeros([FEATURES, 1]), aggregation=tf.VariableAggregation.MEAN)


def descend(points, values):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((points @ weights - values) ** 2)
    weights.assign_sub(args.rate * tape.gradient(loss, weights))
    return loss


@tf.function
def train(batch):
    return strategy.reduce("MEAN", strategy.run(descend, batch), axis=None)


@tf.function
def number():
    return strategy.run(lambda: tf.distribute.get_replica_context().replica_id_in_sync_group)


@tf.function
def total(value):
    return strategy.reduce("SUM", strategy.run(tf.identity, [value]), axis=None)


@tf.function
def everyones_weights():
    return strategy.gather(strategy.run(lambda: tf.transpose(weights)), axis=0)


def check(right, what):
    if not right:
        sys.exit(f"multiworker: replica {replica} of {replicas}: {what}")


# Each replica adds a different power of two: the sum is right only if each took part once.
replica = int(number())
found = int(total(tf.constant(2**replica, tf.int64)))
check(found == 2**replicas - 1, f"the sum is {found}, not {2**replicas - 1}")

data = iter(strategy.distribute_datasets_from_function(dataset))
summaries = tf.summary.create_file_writer(args.summaries) if args.summaries and replica == 0 else None
losses = []
for step in range(args.steps):
    spank_tf_watchdog.alive(f"step {step}")  # for --tf-watchdog
    losses.append(float(train(next(data))))
    if summaries:
        with summaries.as_default(step):
            tf.summary.scalar("loss", losses[-1])
check(losses[-1] < losses[0] / 10, f"the loss went from {losses[0]:.3g} to {losses[-1]:.3g} only")
check(np.ptp(everyones_weights(), axis=0).max() == 0, "the replicas have different weights")

if args.megabytes:
    much = tf.fill([args.megabytes * 1000000 // 4], float(2**replica))
    begin = time.monotonic()
    check((total(much).numpy() == found).all(), "the sum of much is wrong")
    print(f"multiworker: replica {replica} summed up {args.megabytes} MB in {time.monotonic() - begin:.2f} s")

print(f"multiworker: replica {replica} of {replicas}: sum {found}, rate {args.rate:g}, "
      f"loss {losses[0]:.3g} to {losses[-1]:.3g}, ok", flush=True)
