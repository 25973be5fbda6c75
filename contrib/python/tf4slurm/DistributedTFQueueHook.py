# SPDX-License-Identifier: GPL-2.0-or-later
"""How a ps learns that its work is done: it has a queue, into which every worker puts one
element when it has ended its session. The ps ends when it has taken one element of each worker.

    queue = create_done_queue(task_index, workers)              # a ps, instead of server.join()
    session = tf.Session(server.target)
    for _ in range(workers):
        session.run(queue.dequeue())

    hook = QueueManagementHook(NumberOfPS=ps, NumberOfWorkers=workers)                # a worker
    with tf.train.MonitoredTrainingSession(server.target, hooks=[hook], ...) as session:
"""

import json
import os
import socket
import sys
import threading
import time

import tensorflow

# TensorFlow 1's sessions and queues; its early releases have no compat.v1.
tf = getattr(tensorflow.compat, "v1", tensorflow)

# How long a ps waits for the other servers at its start; how long a worker tries to tell every
# ps that it is done; and how long the last worker waits for every ps to end.
START_SECONDS = 60
NOTIFY_SECONDS = 30
LEAVE_SECONDS = 10


def create_done_queue(i, WorkersNumber):
    """Return the queue of ps i, which all sessions of the cluster share."""
    # If a ps connects to a worker too early, it retries a second later, and until then it breaks
    # what that worker begins.
    if _tf_config().get("task") == {"type": "ps", "index": i}:
        _await(_addresses(), True, START_SECONDS)
    return _queue(i, WorkersNumber)


def create_done_queues(PSNumber, WorkersNumber):
    """Return the queues of all ps."""
    return [create_done_queue(i, WorkersNumber) for i in range(PSNumber)]


class QueueManagementHook(tf.train.SessionRunHook):
    """Tell every ps that this worker has done its work. The default numbers are the step's."""

    def __init__(self, NumberOfPS=None, NumberOfWorkers=None):
        self._ps = len(_addresses("ps")) if NumberOfPS is None else NumberOfPS
        self._workers = len(_addresses("worker")) if NumberOfWorkers is None else NumberOfWorkers
        self._coordinator = None

    def after_create_session(self, session, coord):
        self._coordinator = coord

    def end(self, session):
        if not self._coordinator:
            self._notify(session.sess_str)
            return
        join = self._coordinator.join

        # Tell when the session's threads are joined: other hooks may use the session until then,
        # and closing it needs every ps. Close it before the join, because the thread of the
        # chief's SyncReplicasOptimizer would wait two minutes for gradients that no worker sends.
        def close_join_and_notify(*args, **options):
            self._coordinator.join = join
            try:
                session.close()
                join(*args, **options)
            finally:
                self._notify(session.sess_str)

        self._coordinator.join = close_join_and_notify

    def _notify(self, target):
        # In a thread, because TensorFlow would wait forever for a ps that is gone.
        notified = []
        notifier = threading.Thread(target=self._notify_every_ps, args=(target, notified),
                                    daemon=True)
        notifier.start()
        notifier.join(NOTIFY_SECONDS)
        if not notified:
            print("tf4slurm: a ps does not hear that this worker is done", file=sys.stderr)
        elif notified == ["last"]:
            # Otherwise spank-tf would stop the ps as soon as this last worker has ended.
            _await(_addresses("ps"), False, LEAVE_SECONDS)

    def _notify_every_ps(self, target, notified):
        with tf.Graph().as_default():
            done = [_queue(i, self._workers).enqueue(1) for i in range(self._ps)]
            workers = _queue(0, self._workers, "tf4slurm_workers")
            config = tf.ConfigProto(device_filters=["/job:ps"])
            try:
                with tf.Session(target, config=config) as session:
                    session.run(workers.enqueue(1))
                    last = session.run(workers.size()) == self._workers
                    session.run(done)
                    notified.append("last" if last else "one of them")
            except tf.errors.OpError:
                pass


def _queue(ps, workers, name="tf4slurm_done"):
    with tf.device("/job:ps/task:%d/cpu:0" % ps):
        return tf.FIFOQueue(workers, tf.int32, shared_name="%s_%d" % (name, ps))


def _tf_config():
    return json.loads(os.environ.get("TF_CONFIG") or "{}")


def _addresses(*roles):
    cluster = _tf_config().get("cluster", {})
    return [address for role in roles or cluster for address in cluster.get(role, [])]


def _await(addresses, listening, seconds):
    """Return when all these addresses accept connections, or when none of them does."""
    end = time.monotonic() + seconds
    for address in addresses:
        while _listens(address) != listening and time.monotonic() < end:
            time.sleep(0.1)


def _listens(address):
    host, port = address.rsplit(":", 1)
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=1).close()
        return True
    except OSError:
        return False
