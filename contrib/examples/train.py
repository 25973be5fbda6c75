# SPDX-License-Identifier: GPL-2.0-or-later
#
# Asynchronous training with parameter servers, TensorFlow's first form of distribution:
#
#     srun --tf-tasks=ps,worker,worker python train.py
#
# Any number of ps and workers works, with or without a chief. Nothing here depends on Slurm:
# TensorFlow finds the cluster and this task's place in it in TF_CONFIG. The model learns to tell
# the two arms of a spiral apart. A ps serves until spank-tf stops it, when every worker has ended.

import os
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")  # or it is announced at every start

import numpy as np
import spank_tf_watchdog
import tensorflow as tf

tf1 = tf.compat.v1
tf1.disable_eager_execution()

STEPS = 3000  # of all workers together
BATCH = 256


def spiral(rng):
    """A batch of points, and for each the arm it is on, 0 or 1."""
    arm = rng.integers(2, size=BATCH)
    radius = rng.uniform(0.2, 1, size=BATCH)
    angle = 9 * radius + np.pi * arm + rng.normal(scale=0.6, size=BATCH)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1), arm


def dense(name, x, units):
    with tf1.variable_scope(name):
        weights = tf1.get_variable("weights", [x.shape[1], units])
        bias = tf1.get_variable("bias", [units], initializer=tf1.zeros_initializer())
        return tf.matmul(x, weights) + bias


cluster = tf.distribute.cluster_resolver.TFConfigClusterResolver()
spec, role, index = cluster.cluster_spec(), cluster.task_type, cluster.task_id
server = tf1.train.Server(spec, job_name=role, task_index=index)
if role == "ps":
    server.join()

name = f"{role} {index}"
here = f"/job:{role}/task:{index}"
is_chief = (role, index) == ("chief" if "chief" in spec.jobs else "worker", 0)

# The variables go to the parameter servers, everything else to this worker.
with tf1.device(tf1.train.replica_device_setter(cluster=spec, worker_device=here)):
    points = tf1.placeholder(tf.float32, [None, 2])
    arms = tf1.placeholder(tf.float32, [None])
    hidden = tf.nn.relu(dense("first", points, 64))
    hidden = tf.nn.relu(dense("second", hidden, 64))
    logits = dense("last", hidden, 1)[:, 0]
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=arms, logits=logits))
    step = tf1.train.get_or_create_global_step()
    train = tf1.train.AdamOptimizer(0.0005).minimize(loss, global_step=step)

# This worker talks to the parameter servers only: otherwise it would wait forever for a worker
# that has already ended.
config = tf1.ConfigProto(device_filters=["/job:ps", here])

# Wait until the chief has initialized the variables. MonitoredTrainingSession waits for that too,
# but looks only every 30 seconds.
if not is_chief:
    missing = tf1.report_uninitialized_variables(tf1.global_variables())
    manager = tf1.train.SessionManager(ready_op=missing, recovery_wait_secs=0.5)
    manager.wait_for_session(server.target, config).close()

rng = np.random.default_rng([index, is_chief])
losses = []
shown = time.monotonic()
hooks = [tf1.train.StopAtStepHook(last_step=STEPS)]
with tf1.train.MonitoredTrainingSession(server.target, is_chief, hooks=hooks, config=config) as session:
    while not session.should_stop():
        spank_tf_watchdog.alive(f"step {len(losses)} of mine")  # for --tf-watchdog
        batch = dict(zip([points, arms], spiral(rng)))
        _, step_now, loss_now = session.run([train, step, loss], batch)
        losses.append(loss_now)
        if time.monotonic() > shown + 2:
            shown = time.monotonic()
            print(f"{name}: step {step_now}, loss {np.mean(losses[-50:]):.3f}", flush=True)

final = np.mean(losses[-50:])
print(f"{name}: done, {len(losses)} of {STEPS} steps were mine, loss {final:.3f}", flush=True)
if final > 0.3:
    sys.exit(f"{name}: this loss is too high")
