# SPDX-License-Identifier: GPL-2.0-or-later
#
# MultiWorkerMirroredStrategy that goes on where it was:
#
#     srun --tf-tasks=worker:2 python resume_multiworker.py DIRECTORY
#
# When a worker gets SIGTERM, PreemptionCheckpointHandler lets all of them finish the same step,
# save it in DIRECTORY, and exit with 42. For a worker that dies without notice, every tenth step is
# saved, too. At its start the script goes on with what was saved last.

import argparse
import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")  # or it is announced at every start

import numpy as np
import spank_tf_watchdog
import tensorflow as tf

tf.get_logger().setLevel("ERROR")

FEATURES = 64
BATCH = 256  # of each worker
RATE = 0.01

parser = argparse.ArgumentParser()
parser.add_argument("directory", help="of the checkpoints; the same for all workers")
parser.add_argument("--steps", type=int, default=200)
parser.add_argument("--pause", type=float, default=0.1, help="seconds after each step, as if the model were larger")
args = parser.parse_args()

strategy = tf.distribute.MultiWorkerMirroredStrategy()
cluster = strategy.cluster_resolver
name = f"{cluster.task_type} {cluster.task_id}"


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
step = tf.Variable(0, dtype=tf.int64)


def descend(points, values):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((points @ weights - values) ** 2)
    weights.assign_sub(RATE * tape.gradient(loss, weights))
    return loss


@tf.function
def train(batch):
    return strategy.reduce("MEAN", strategy.run(descend, batch), axis=None)


def end_preempted():
    print(f"{name}: preempted, saved at step {int(step)}", flush=True)
    # At once: when the other workers are gone, TensorFlow 2.15 ends after ten seconds, or never.
    os._exit(42)


# The handler restores the last checkpoint of the directory in every worker. These variables are
# the same in all workers, so it is enough that the first one saves.
checkpoint = tf.train.Checkpoint(weights=weights, step=step)
handler = tf.distribute.experimental.PreemptionCheckpointHandler(
    cluster, checkpoint, args.directory, tf.distribute.experimental.TerminationConfig(exit_fn=end_preempted))
manager = tf.train.CheckpointManager(checkpoint, args.directory, max_to_keep=2)
saves = strategy.extended.should_checkpoint

print(f"{name}: starts at step {int(step)}", flush=True)
first = int(step) + 1
data = iter(strategy.distribute_datasets_from_function(dataset))
while int(step) < args.steps:
    spank_tf_watchdog.alive(f"step {int(step)}")  # for --tf-watchdog
    loss = handler.run(train, next(data))
    step.assign_add(1)
    now = int(step)
    if saves and now % 10 == 0:
        manager.save()
    if now == first or now % 10 == 0:
        print(f"{name}: step {now}, loss {loss:.4g}", flush=True)
    time.sleep(args.pause)
spank_tf_watchdog.done()  # the end may take longer than a step
print(f"{name}: done, {args.steps} steps", flush=True)
