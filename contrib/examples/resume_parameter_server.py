# SPDX-License-Identifier: GPL-2.0-or-later
#
# ParameterServerStrategy that goes on where it was:
#
#     srun --tf-tasks=chief,ps,worker:2 python resume_parameter_server.py DIRECTORY
#
# The chief saves the variables of the ps in DIRECTORY, after every tenth step and when it gets
# SIGTERM; then it exits with 42. Restarted, it goes on with what was saved last. A worker
# that fails and comes back needs no checkpoint: the chief gives it work again.

import argparse
import os
import signal
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")  # or it is announced at every start

import spank_tf_watchdog
import tensorflow as tf

tf.get_logger().setLevel("ERROR")

FEATURES = 16
BATCH = 256
RATE = 0.02

parser = argparse.ArgumentParser()
parser.add_argument("directory", help="of the checkpoints")
parser.add_argument("--steps", type=int, default=200)
parser.add_argument("--pause", type=float, default=0.1, help="seconds after each step, as if the model were larger")
args = parser.parse_args()

cluster = tf.distribute.cluster_resolver.TFConfigClusterResolver()
if cluster.task_type != "chief":
    tf.distribute.Server(cluster.cluster_spec(), job_name=cluster.task_type, task_index=cluster.task_id,
                         protocol="grpc").join()

asked = []
signal.signal(signal.SIGTERM, lambda number, frame: asked.append(number))

strategy = tf.distribute.ParameterServerStrategy(cluster)
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
with strategy.scope():
    weights = tf.Variable(tf.zeros([FEATURES, 1]))
    step = tf.Variable(0, dtype=tf.int64)


@tf.function
def train():
    """A part of a step, on whichever worker is free: points, and for each the sum to be found."""
    points = tf.random.normal([BATCH, FEATURES])
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((points @ weights - tf.reduce_sum(points, axis=1, keepdims=True)) ** 2)
    weights.assign_sub(RATE * tape.gradient(loss, weights))
    return loss


checkpoint = tf.train.Checkpoint(weights=weights, step=step)
manager = tf.train.CheckpointManager(checkpoint, args.directory, max_to_keep=2)
manager.restore_or_initialize()
now = int(step)
print(f"chief 0: starts at step {now}", flush=True)

first = now + 1
while now < args.steps and not asked:
    spank_tf_watchdog.alive(f"step {now}")  # for --tf-watchdog
    parts = [coordinator.schedule(train) for _ in range(cluster.cluster_spec().num_tasks("worker"))]
    coordinator.join()
    step.assign_add(1)
    now += 1
    if now % 10 == 0:
        manager.save()
    if now == first or now % 10 == 0:
        loss = parts[0].fetch()
        print(f"chief 0: step {now}, loss {loss:.4g}", flush=True)
    time.sleep(args.pause)
spank_tf_watchdog.done()  # the end may take longer than a step

if now < args.steps:
    manager.save()
    print(f"chief 0: preempted, saved at step {now}", flush=True)
    sys.exit(42)
print(f"chief 0: done, {args.steps} steps", flush=True)
