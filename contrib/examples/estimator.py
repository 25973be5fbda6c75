# SPDX-License-Identifier: GPL-2.0-or-later
#
# Estimator's train_and_evaluate:
#
#     srun --tf-tasks=chief,ps,worker,evaluator python estimator.py MODEL_DIR
#
# All tasks share MODEL_DIR, a new directory. Every task except the ps, which never ends, checks
# how far the training had come when it last saw the model. TensorFlow 2.15 is the last version
# that has Estimator.

import glob
import os
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import spank_tf_watchdog
import tensorflow as tf

tf1 = tf.compat.v1
tf1.logging.set_verbosity(tf1.logging.ERROR)

STEPS = 1000
RATE = 0.01
TRUTH = np.array([[1], [-2], [3]], np.float32)


class Together(tf1.train.SessionRunHook):
    """The chief and the workers begin together, or the chief could end before a worker begins."""

    def after_create_session(self, session, coord):
        open(f"{config.model_dir}/{config.task_type}{config.task_id}.here", "w").close()
        while len(glob.glob(f"{config.model_dir}/*.here")) < config.num_worker_replicas:
            time.sleep(0.1)


class Last(tf1.train.SessionRunHook):
    """The step and the loss of this task's last run of the model."""

    step, loss = 0, np.inf

    def before_run(self, context):
        return tf1.train.SessionRunArgs([tf1.train.get_global_step(), self.tensor])

    def after_run(self, context, values):
        self.step, self.loss = values.results


last = Last()
alive = spank_tf_watchdog.session_hook(tf1)  # for --tf-watchdog


def model(features, labels, mode):
    weights = tf1.get_variable("weights", TRUTH.shape, initializer=tf1.zeros_initializer())
    last.tensor = loss = tf.reduce_mean((features @ weights - labels) ** 2)
    train = tf1.train.GradientDescentOptimizer(RATE).minimize(loss, tf1.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train,
                                      training_hooks=[Together(), last, alive], evaluation_hooks=[last])


def data():
    points = np.random.default_rng(0).normal(size=[256, len(TRUTH)]).astype(np.float32)
    return tf.data.Dataset.from_tensor_slices((points, points @ TRUTH)).batch(32)


# A worker that finds a model without variables looks again after 30 seconds. Estimator therefore
# delays each worker by some seconds after the chief, more for each further worker by default.
config = tf.estimator.RunConfig(sys.argv[1], experimental_max_worker_delay_secs=5)
tf.estimator.train_and_evaluate(
    tf.estimator.Estimator(model, config=config),
    tf.estimator.TrainSpec(lambda: data().repeat(), max_steps=STEPS),
    tf.estimator.EvalSpec(data, start_delay_secs=1, throttle_secs=1))

# A trainer reads the step while others still train, so its last value may be a little low.
if last.step < 0.9 * STEPS or last.loss > 1e-6:
    sys.exit(f"estimator: {config.task_type} {config.task_id}: loss {last.loss} in step {last.step} of {STEPS}")
print(f"estimator: {config.task_type} {config.task_id}: ok", flush=True)
