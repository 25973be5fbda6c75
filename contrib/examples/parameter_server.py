# SPDX-License-Identifier: GPL-2.0-or-later
#
# ParameterServerStrategy: a chief that coordinates, and ps and workers that serve. spank-tf stops
# them when the chief has ended.
#
#     srun --tf-tasks=chief,ps,worker:2 python parameter_server.py
#
# Any number of ps and workers works.

import argparse
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")  # or it is announced at every start

import numpy as np
import spank_tf_watchdog
import tensorflow as tf

BATCH = 32
RATE = 0.1
FEATURES = 16

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=200)
args = parser.parse_args()


def check(right, what):
    if not right:
        sys.exit(f"parameter_server: {what}")


cluster = tf.distribute.cluster_resolver.TFConfigClusterResolver()
spec = cluster.cluster_spec()
if cluster.task_type != "chief":
    tf.distribute.Server(spec, job_name=cluster.task_type, task_index=cluster.task_id, protocol="grpc").join()

servers, workers = spec.num_tasks("ps"), spec.num_tasks("worker")
strategy = tf.distribute.ParameterServerStrategy(cluster)
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)

# Let each worker compute something.
for index in range(workers):
    with tf.device(f"/job:worker/task:{index}"):
        square = tf.square(tf.constant(index + 7))
    check(f"/job:worker/replica:0/task:{index}/" in square.device, f"worker {index}'s result is on {square.device}")
    check(int(square) == (index + 7) ** 2, f"worker {index} finds {int(square)} for the square of {index + 7}")

# Variables go to the ps in turn, so each of them has one of these sums.
with strategy.scope():
    sums = [tf.Variable(0, dtype=tf.int64) for _ in range(servers)]
    weights = tf.Variable(tf.zeros([FEATURES, 1]))
places = sorted(tf.DeviceSpec.from_string(s.device).task for s in sums)
check(places == list(range(servers)), f"the variables are on ps {places}, not one on each of {servers}")


@tf.function
def train(points, values):
    """One step, on whichever worker is free."""
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((points @ weights - values) ** 2)
    weights.assign_sub(RATE * tape.gradient(loss, weights))
    for s in sums:
        s.assign_add(1)
    return loss


rng = np.random.default_rng(0)
truth = rng.normal(size=[FEATURES, 1])
losses = []
for _ in range(args.steps):
    points = rng.normal(size=[BATCH, FEATURES])
    batch = tf.constant(points, tf.float32), tf.constant(points @ truth, tf.float32)
    losses.append(coordinator.schedule(train, batch))
    spank_tf_watchdog.alive(f"step {len(losses)} is scheduled")  # for --tf-watchdog
coordinator.join()

first, last = losses[0].fetch(), losses[-1].fetch()
check(last < 0.01 * first, f"the loss went from {first:.4f} to {last:.4f} only")
check(np.allclose(weights.numpy(), truth, atol=0.05), "training ended with the wrong weights")
for s in sums:
    check(int(s) == args.steps, f"{s.device} has counted {int(s)} steps, not {args.steps}")

print(f"parameter_server: ok, {args.steps} steps on {workers} workers, loss {first:.3g} to {last:.3g}", flush=True)
