# SPDX-License-Identifier: GPL-2.0-or-later
#
# What mnist_async.py and mnist_sync.py share: data of MNIST's shape, a small convolutional
# network, two hooks, and the servers. TensorFlow 1.

import argparse
import time

import numpy as np
import tensorflow as tf
import tf4slurm.DistributedTFQueueHook as QueueHook
import tf4slurm.ServerDictionary as ServerDictionary

# Ten figures of 28 by 28 pixels instead of the digits: each has its own light and dark squares,
# and noise makes every picture of it different.
SQUARES = np.random.RandomState(0).randint(2, size=(10, 7, 7))
FIGURES = np.kron(SQUARES, np.ones((4, 4))).reshape(10, 784)


def read(seed, number):
    """Return so many pictures, and their labels, one-hot."""
    random = np.random.RandomState(seed)
    labels = random.randint(10, size=number)
    return FIGURES[labels] + random.normal(scale=0.5, size=(number, 784)), np.eye(10)[labels]


def weights(name, shape, size):
    random = tf.truncated_normal_initializer(stddev=size, seed=1)
    return tf.get_variable(name, shape, initializer=random)


def network(pictures):
    """Return the logits of these pictures, and the probability to keep a unit in training."""
    keep = tf.placeholder_with_default(1.0, [])
    layer = tf.reshape(pictures, [-1, 28, 28, 1])
    layer = tf.nn.conv2d(layer, weights("filter", [5, 5, 1, 8], 0.1), [1, 2, 2, 1], "SAME")
    layer = tf.nn.max_pool(tf.nn.relu(layer), [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    layer = tf.nn.dropout(tf.reshape(layer, [-1, 7 * 7 * 8]), keep)
    bias = tf.get_variable("bias", [10], initializer=tf.zeros_initializer())
    return tf.matmul(layer, weights("dense", [7 * 7 * 8, 10], 0.05)) + bias, keep


class Together(tf.train.SessionRunHook):
    """Let all workers begin at the same time; the first could end before the last begins."""

    def __init__(self, workers):
        self.workers = workers

    def begin(self):
        with tf.device("/job:ps/task:0"):
            queue = tf.FIFOQueue(self.workers, tf.int32, shared_name="arrived")
        self.arrive, self.arrived = queue.enqueue(1), queue.size()

    def after_create_session(self, session, coord):
        session.run(self.arrive)
        while session.run(self.arrived) < self.workers:
            time.sleep(0.1)


class FinalAccuracy(tf.train.SessionRunHook):
    """After the training, print how many pictures that were not part of it are recognized."""

    def __init__(self, pictures, labels, logits):
        right = tf.equal(tf.argmax(logits, 1), tf.argmax(labels, 1))
        self.fetch = tf.reduce_mean(tf.cast(right, tf.float32))
        self.feed = dict(zip([pictures, labels], read(12345, 1000)))

    def end(self, session):
        self.accuracy = session.run(self.fetch, self.feed)


def await_variables(target):
    """Wait for the variables. MonitoredTrainingSession does this too, but only every 30 seconds."""
    missing = tf.report_uninitialized_variables(tf.global_variables())
    manager = tf.train.SessionManager(ready_op=missing, recovery_wait_secs=0.5)
    manager.wait_for_session(target).close()


def launch(train, batch_size, iterations):
    """Serve as a ps, or train as a worker."""
    parser = argparse.ArgumentParser()
    parser.add_argument("-batch_size", type=int, default=batch_size)
    parser.add_argument("-iterations", type=int, default=iterations)
    parser.add_argument("-ps", type=int, default=1)
    parser.add_argument("-workers", type=int, default=3)
    parser.add_argument("-nodes", type=int, default=1, help="spread the ps over so many")
    args = parser.parse_args()

    on_a_node = ["ps"] * (args.ps // args.nodes) + ["worker"] * (args.workers // args.nodes)
    tasks = on_a_node * args.nodes
    dictionary, role, index = ServerDictionary.GetServerDictionary(tasks)
    cluster = tf.train.ClusterSpec(dictionary)
    server = tf.train.Server(cluster, job_name=role, task_index=index)
    if role == "ps":
        queue = QueueHook.create_done_queue(index, args.workers)
        session = tf.Session(server.target)
        for _ in range(args.workers):
            session.run(queue.dequeue())
        session.close()
        print("ps %d: all %d workers are done" % (index, args.workers), flush=True)
    else:
        hook = QueueHook.QueueManagementHook(NumberOfPS=args.ps, NumberOfWorkers=args.workers)
        train(args, cluster, server, index, hook)
