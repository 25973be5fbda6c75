# SPDX-License-Identifier: GPL-2.0-or-later
#
# A program as Poseidon's psd_run starts it: its flags describe the cluster. Each worker makes the
# given number of steps on the servers' variables.

import os
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

flags = tf.app.flags
flags.DEFINE_boolean("distributed", False, "Use Poseidon")
flags.DEFINE_string("master_address", "tcp://0.0.0.0:5555", "master address")
flags.DEFINE_integer("client_id", -1, "client id")
flags.DEFINE_integer("steps", 100, "how many")
FLAGS = flags.FLAGS

SERVERS = 2


def main(argv):
    name = "poseidon: worker %d in %s" % (FLAGS.client_id, sys.prefix)
    if not FLAGS.distributed:
        sys.exit(name + ": not distributed")
    with tf.device(tf.train.replica_device_setter(ps_tasks=SERVERS, worker_device="/job:ps/task:0")):
        step = tf.train.get_or_create_global_step()
        x = tf.get_variable("x", [], initializer=tf.constant_initializer(1.0))
        train = tf.train.GradientDescentOptimizer(0.1, use_locking=True).minimize(tf.square(x - 3), step)
    ready = tf.report_uninitialized_variables(tf.global_variables())

    # Workers have no server of their own.
    config = tf.ConfigProto(device_filters=["/job:ps"])
    with tf.Session(FLAGS.master_address.replace("tcp://", "grpc://"), config=config) as session:
        if FLAGS.client_id == 0:
            session.run(tf.global_variables_initializer())
        while len(session.run(ready)):
            time.sleep(0.1)
        for _ in range(FLAGS.steps):
            session.run(train)
        print("%s: x = %.3f after %d steps of all, variables on %s" % (
            name, *session.run([x, step]), ", ".join(sorted({x.device, step.device}))), flush=True)


tf.app.run(main)
