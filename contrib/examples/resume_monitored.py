# SPDX-License-Identifier: GPL-2.0-or-later
#
# TensorFlow 1's MonitoredTrainingSession that goes on where it was:
#
#     srun --tf-tasks=ps,worker:2 python resume_monitored.py DIRECTORY
#
# Worker 0, or a chief, saves the variables of the ps in DIRECTORY, after every twenty steps, and
# at the end of its session, which SIGTERM brings about. Then all workers exit with 42. Started
# again, they go on with what was saved last.

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

tf1 = tf.compat.v1
tf1.disable_eager_execution()
tf1.logging.set_verbosity(tf1.logging.ERROR)

FEATURES = 16
BATCH = 2048
RATE = 0.005

parser = argparse.ArgumentParser()
parser.add_argument("directory", help="of the checkpoints")
parser.add_argument("--steps", type=int, default=300, help="of all workers together")
parser.add_argument("--pause", type=float, default=0.1, help="seconds after each step, as if the model were larger")
args = parser.parse_args()

cluster = tf.distribute.cluster_resolver.TFConfigClusterResolver()
spec, role, index = cluster.cluster_spec(), cluster.task_type, cluster.task_id
server = tf1.train.Server(spec, job_name=role, task_index=index)
if role == "ps":
    server.join()

name = f"{role} {index}"
here = f"/job:{role}/task:{index}"
is_chief = (role, index) == ("chief" if "chief" in spec.jobs else "worker", 0)

asked = []
signal.signal(signal.SIGTERM, lambda number, frame: asked.append(number))

with tf1.device(tf1.train.replica_device_setter(cluster=spec, worker_device=here)):
    points = tf1.placeholder(tf.float32, [None, FEATURES])
    values = tf.reduce_sum(points, axis=1, keepdims=True)
    weights = tf1.get_variable("weights", [FEATURES, 1], initializer=tf1.zeros_initializer())
    loss = tf.reduce_mean((tf.matmul(points, weights) - values) ** 2)
    step = tf1.train.get_or_create_global_step()
    train = tf1.train.GradientDescentOptimizer(RATE).minimize(loss, global_step=step)

# This worker talks to the parameter servers only: it does not notice that another one is gone.
config = tf1.ConfigProto(device_filters=["/job:ps", here])

# Wait until the chief has restored the variables. MonitoredTrainingSession waits for that too, but
# looks only every 30 seconds.
if not is_chief:
    missing = tf1.report_uninitialized_variables(tf1.global_variables())
    manager = tf1.train.SessionManager(ready_op=missing, recovery_wait_secs=0.5)
    manager.wait_for_session(server.target, config).close()


class Saved(tf1.train.CheckpointSaverListener):
    at = None

    def after_save(self, session, global_step):
        self.at = global_step


class Start(tf1.train.SessionRunHook):
    def after_create_session(self, session, coordinator):
        print(f"{name}: starts at step {session.run(step)}", flush=True)


saved = Saved()
saver = tf1.train.CheckpointSaverHook(args.directory, save_steps=20, listeners=[saved])
rng = np.random.default_rng()
now = shown = 0
with tf1.train.MonitoredTrainingSession(
        server.target, is_chief, args.directory, config=config, chief_only_hooks=[Start(), saver],
        hooks=[tf1.train.StopAtStepHook(last_step=args.steps)], save_checkpoint_secs=None,
        save_checkpoint_steps=None, save_summaries_steps=None, log_step_count_steps=None) as session:
    while not session.should_stop() and not asked:
        spank_tf_watchdog.alive(f"step {now}")  # for --tf-watchdog
        loss_now, now, _ = session.run([loss, step, train], {points: rng.normal(size=(BATCH, FEATURES))})
        if now // 10 != shown:
            shown = now // 10
            print(f"{name}: step {now}, loss {loss_now:.4g}", flush=True)
        time.sleep(args.pause)
spank_tf_watchdog.done()  # the end may take longer than a step

if asked and now < args.steps:
    print(f"{name}: preempted" + (f", saved at step {saved.at}" if is_chief else ""), flush=True)
    sys.exit(42)
print(f"{name}: done, {args.steps} steps", flush=True)
