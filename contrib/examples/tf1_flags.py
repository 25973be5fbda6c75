# SPDX-License-Identifier: GPL-2.0-or-later
#
# A script in the style of TensorFlow 1, which reads its cluster from four flags:
#
#     srun --tf-tasks=ps,worker:2 tf-exec --tf1-flags python tf1_flags.py --sync_replicas
#
# Each worker fits a plane to its own points; with --sync_replicas every step uses the gradients of
# all workers.

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")  # or it is announced at every start

import numpy as np
import spank_tf_watchdog
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

flags = tf.app.flags
flags.DEFINE_string("ps_hosts", "", "HOST:PORT of each ps, with commas between")
flags.DEFINE_string("worker_hosts", "", "HOST:PORT of each worker")
flags.DEFINE_string("job_name", "", "ps or worker")
flags.DEFINE_integer("task_index", 0, "which of them, from 0")
flags.DEFINE_integer("train_steps", 200, "of all workers together")
flags.DEFINE_float("learning_rate", 0.05, "of gradient descent")
flags.DEFINE_boolean("sync_replicas", False, "whether workers wait for each other")
FLAGS = flags.FLAGS

TRUTH = np.array([[1], [-2], [3]])


def main(argv):
    workers = FLAGS.worker_hosts.split(",")
    cluster = tf.train.ClusterSpec({"ps": FLAGS.ps_hosts.split(","), "worker": workers})
    server = tf.train.Server(cluster, job_name=FLAGS.job_name, task_index=FLAGS.task_index)
    if FLAGS.job_name == "ps":
        server.join()

    is_chief = FLAGS.task_index == 0
    here = f"/job:worker/task:{FLAGS.task_index}"
    with tf.device(tf.train.replica_device_setter(cluster=cluster, worker_device=here)):
        points = tf.placeholder(tf.float32, [None, 3])
        values = tf.placeholder(tf.float32, [None, 1])
        weights = tf.get_variable("weights", [3, 1], initializer=tf.zeros_initializer())
        loss = tf.reduce_mean((tf.matmul(points, weights) - values) ** 2)
        step = tf.train.get_or_create_global_step()
        optimizer = tf.train.GradientDescentOptimizer(FLAGS.learning_rate)
        hooks = [tf.train.StopAtStepHook(last_step=FLAGS.train_steps)]
        if FLAGS.sync_replicas:
            # Without tokens no worker begins before all workers are ready.
            optimizer = tf.train.SyncReplicasOptimizer(optimizer, replicas_to_aggregate=len(workers))
            hooks.append(optimizer.make_session_run_hook(is_chief, num_tokens=0))
        train = optimizer.minimize(loss, global_step=step)

    # This worker talks to the parameter servers only: otherwise it would wait forever for a
    # worker that has already ended.
    config = tf.ConfigProto(device_filters=["/job:ps", here])
    if not is_chief:
        # MonitoredTrainingSession does this too, but looks only every 30 seconds.
        missing = tf.report_uninitialized_variables(tf.global_variables())
        manager = tf.train.SessionManager(ready_op=missing, recovery_wait_secs=0.5)
        manager.wait_for_session(server.target, config).close()

    # At the end a thread of SyncReplicasOptimizer waits for more gradients: one second here, two
    # minutes by default. The message that it prints is harmless.
    rng = np.random.default_rng(FLAGS.task_index)
    mine = 0
    with tf.train.MonitoredTrainingSession(server.target, is_chief, hooks=hooks, config=config,
                                           stop_grace_period_secs=1) as session:
        while not session.should_stop():
            spank_tf_watchdog.alive(f"gradient {mine}")  # for --tf-watchdog
            batch = rng.normal(size=[32, 3])
            loss_now, step_now, _ = session.run([loss, step, train], {points: batch, values: batch @ TRUTH})
            mine += 1
    print(f"worker {FLAGS.task_index}: done at step {step_now} of {FLAGS.train_steps}, "
          f"{mine} gradients were mine, loss {loss_now:.2g}", flush=True)
    if loss_now > 0.01:
        sys.exit(f"worker {FLAGS.task_index}: this loss is too high")


if __name__ == "__main__":
    tf.app.run(main)
