# SPDX-License-Identifier: GPL-2.0-or-later
#
# tf4slurm's queues and its hook on TensorFlow's own servers, all of them in this process:
#
#     PYTHONPATH=contrib/python .../bin/python -m unittest test_queues

import contextlib
import io
import json
import os
import socket
import threading
import time
import unittest
from unittest import mock

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0", TF_NUM_INTEROP_THREADS="4",
                  TF_NUM_INTRAOP_THREADS="1")

import tensorflow.compat.v1 as tf
import tf4slurm.DistributedTFQueueHook as QueueHook

tf.logging.set_verbosity(tf.logging.ERROR)
tf.disable_v2_behavior()


def free_addresses(number):
    sockets = [socket.socket() for _ in range(number)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    addresses = ["127.0.0.1:%d" % s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return addresses


def tf_config(cluster, role, index):
    return mock.patch.dict(os.environ, TF_CONFIG=json.dumps({"cluster": cluster, "task": {"type": role, "index": index}}))


class Cluster:
    """Two ps and two workers."""

    def __init__(self):
        addresses = free_addresses(4)
        self.cluster = {"ps": addresses[:2], "worker": addresses[2:]}
        self.spec = tf.train.ClusterSpec(self.cluster)
        self.servers = {(role, index): tf.train.Server(self.spec, job_name=role, task_index=index)
                        for role in self.cluster for index in range(2)}

    @contextlib.contextmanager
    def ps(self, index):
        """A function that runs what another makes of this ps's queue."""
        with tf.Graph().as_default():
            queue = QueueHook.create_done_queue(index, 2)
            with tf.Session(self.servers["ps", index].target) as session:
                yield lambda make: session.run(make(queue))

    def sizes(self):
        """How many elements are in the queues of the ps."""
        sizes = []
        for index in range(2):
            with self.ps(index) as run:
                sizes.append(int(run(lambda queue: queue.size())))
        return sizes

    def work(self, index, *hooks, optimizer=None, hook=None):
        """What a worker does, with these hooks behind ours."""
        server = self.servers["worker", index]
        with tf.Graph().as_default():
            setter = tf.train.replica_device_setter(worker_device="/job:worker/task:%d" % index, cluster=self.spec)
            with tf.device(setter):
                step = tf.train.get_or_create_global_step()
                value = tf.get_variable("value", [], initializer=tf.zeros_initializer())
                optimizer = optimizer or tf.train.GradientDescentOptimizer(0.1)
                train = optimizer.minimize((value - 1) ** 2, global_step=step)
            if hasattr(optimizer, "make_session_run_hook"):
                hooks += optimizer.make_session_run_hook(True, num_tokens=0),
            hooks = [hook or QueueHook.QueueManagementHook(NumberOfPS=2, NumberOfWorkers=2), *hooks]
            with tf.train.MonitoredTrainingSession(server.target, is_chief=index == 0, hooks=hooks) as session:
                for _ in range(5):
                    session.run(train)


class Queues(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster()

    def test_they_are_tensorflow_s_and_on_the_ps(self):
        with tf.Graph().as_default():
            queues = QueueHook.create_done_queues(2, 5)
            self.assertEqual([type(queue) for queue in queues], [tf.FIFOQueue, tf.FIFOQueue])
            self.assertEqual([queue.dtypes for queue in queues], [[tf.int32], [tf.int32]])
            for index, queue in enumerate(queues):
                device = tf.DeviceSpec.from_string(queue.queue_ref.device)
                self.assertEqual((device.job, device.task, device.device_type), ("ps", index, "CPU"))

    def test_it_holds_an_element_of_every_worker(self):
        with tf.Graph().as_default(), tf.Session(self.cluster.servers["worker", 0].target) as session:
            queue = QueueHook.create_done_queue(1, 2)
            session.run(queue.enqueue(1))
            session.run(queue.enqueue(1))
            with self.assertRaises(tf.errors.DeadlineExceededError):
                session.run(queue.enqueue(1), options=tf.RunOptions(timeout_in_ms=300))
        self.assertEqual(self.cluster.sizes(), [0, 2])

    def test_a_ps_goes_on_when_all_workers_are_done(self):
        went_on = []

        def serve():
            with self.cluster.ps(0) as run:
                run(lambda queue: queue.dequeue())
                went_on.append("one")
                run(lambda queue: queue.dequeue())
                went_on.append("two")

        # The graphs are the threads', so nothing is shared but the servers.
        ps = threading.Thread(target=serve, daemon=True)
        ps.start()
        self.assertEqual(went_on, [])
        self.cluster.work(0)
        deadline = time.monotonic() + 60
        while went_on != ["one"] and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(went_on, ["one"])
        self.cluster.work(1)
        ps.join(60)
        self.assertEqual(went_on, ["one", "two"])
        self.assertEqual(self.cluster.sizes(), [0, 2])


class Hook(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster()

    def test_it_is_a_session_run_hook(self):
        self.assertIsInstance(QueueHook.QueueManagementHook(NumberOfPS=1, NumberOfWorkers=1), tf.train.SessionRunHook)

    def test_every_worker_notifies_every_ps_once(self):
        self.cluster.work(0)
        self.assertEqual(self.cluster.sizes(), [1, 1])
        self.cluster.work(1)
        self.assertEqual(self.cluster.sizes(), [2, 2])

    def test_other_hooks_have_the_session_until_they_are_done(self):
        cluster = self.cluster

        class Late(tf.train.SessionRunHook):
            def end(self, session):
                self.sizes, self.step = cluster.sizes(), session.run(tf.train.get_global_step())

        late = Late()
        cluster.work(0, late)
        self.assertEqual((late.sizes, late.step, cluster.sizes()), ([0, 0], 5, [1, 1]))

    def test_a_worker_that_fails_is_not_done(self):
        class Failing(tf.train.SessionRunHook):
            def after_run(self, context, values):
                raise ArithmeticError

        with self.assertRaises(ArithmeticError):
            self.cluster.work(0, Failing())
        self.assertEqual(self.cluster.sizes(), [0, 0])

    def test_the_chief_of_a_synchronous_training_is_done_at_once(self):
        begin = time.monotonic()
        self.cluster.work(0, optimizer=tf.train.SyncReplicasOptimizer(
            tf.train.GradientDescentOptimizer(0.1), replicas_to_aggregate=1, total_num_replicas=1))
        # TensorFlow itself waits for 120 seconds there.
        self.assertLess(time.monotonic() - begin, 60)
        self.assertEqual(self.cluster.sizes(), [1, 1])

    def test_its_numbers_are_the_step_s_by_default(self):
        with tf_config(self.cluster.cluster, "worker", 0):
            self.cluster.work(0, hook=QueueHook.QueueManagementHook())
        self.assertEqual(self.cluster.sizes(), [1, 1])

    def test_without_a_monitored_session_it_notifies_at_once(self):
        with tf.Graph().as_default(), tf.Session(self.cluster.servers["worker", 1].target) as session:
            hook = QueueHook.QueueManagementHook(NumberOfPS=2, NumberOfWorkers=2)
            hook.begin()
            hook.end(session)
            self.assertEqual(self.cluster.sizes(), [1, 1])

    def test_a_ps_that_is_gone_keeps_no_worker(self):
        gone, here = free_addresses(2)
        spec = tf.train.ClusterSpec({"ps": [gone], "worker": [here]})
        server = tf.train.Server(spec, job_name="worker", task_index=0)
        hook = QueueHook.QueueManagementHook(NumberOfPS=1, NumberOfWorkers=1)
        config = tf.ConfigProto(device_filters=["/job:worker"])
        errors = io.StringIO()
        with tf.Graph().as_default(), tf.Session(server.target, config=config) as session, \
                mock.patch.object(QueueHook, "NOTIFY_SECONDS", 1), contextlib.redirect_stderr(errors):
            hook.end(session)
        self.assertEqual(errors.getvalue(), "tf4slurm: a ps does not hear that this worker is done\n")

    def test_the_last_worker_waits_for_every_ps_to_end(self):
        ended = []

        def end(ps):
            while self.cluster.sizes() != [2, 2]:
                time.sleep(0.1)
            time.sleep(1)
            ended.append(time.monotonic())
            ps.shutdown(socket.SHUT_RDWR)

        begin = time.monotonic()
        with tf_config(self.cluster.cluster, "worker", 0), mock.patch.object(QueueHook, "LEAVE_SECONDS", 60):
            self.cluster.work(0)
        self.assertLess(time.monotonic() - begin, 60)
        with socket.socket() as ps:
            ps.bind(("127.0.0.1", 0))
            ps.listen()
            address = "127.0.0.1:%d" % ps.getsockname()[1]
            threading.Thread(target=end, args=(ps,), daemon=True).start()
            with tf_config({"ps": [address]}, "worker", 1), mock.patch.object(QueueHook, "LEAVE_SECONDS", 60):
                self.cluster.work(1)
            self.assertTrue(ended and time.monotonic() < ended[0] + 60)

    def test_but_not_for_ever(self):
        with tf_config(self.cluster.cluster, "worker", 0), mock.patch.object(QueueHook, "LEAVE_SECONDS", 1):
            self.cluster.work(0)
            begin = time.monotonic()
            self.cluster.work(1)
            self.assertGreaterEqual(time.monotonic() - begin, 1)


class Start(unittest.TestCase):
    """A ps waits for the other servers."""

    def create(self, cluster, role, index, seconds):
        begin = time.monotonic()
        with tf.Graph().as_default(), tf_config(cluster, role, index), \
                mock.patch.object(QueueHook, "START_SECONDS", seconds):
            QueueHook.create_done_queue(0, 1)
        return time.monotonic() - begin

    def test_until_they_listen(self):
        for family, host in (socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "[::1]"):
            with socket.socket(family) as early, socket.socket(family) as late:
                early.bind((host.strip("[]"), 0))
                late.bind((host.strip("[]"), 0))
                early.listen()
                cluster = {"ps": ["%s:%d" % (host, early.getsockname()[1])],
                           "worker": ["%s:%d" % (host, late.getsockname()[1])]}
                timer = threading.Timer(1, late.listen)
                timer.start()
                seconds = self.create(cluster, "ps", 0, 60)
                self.assertTrue(timer.finished.is_set() and seconds < 30, seconds)

    def test_but_not_for_ever(self):
        seconds = self.create({"ps": free_addresses(1), "worker": free_addresses(1)}, "ps", 0, 1)
        self.assertTrue(1 <= seconds < 30, seconds)

    def test_and_nobody_else_does(self):
        cluster = {"ps": free_addresses(2), "worker": free_addresses(1)}
        self.assertLess(self.create(cluster, "worker", 0, 60), 30)
        self.assertLess(self.create(cluster, "ps", 1, 60), 30)


if __name__ == "__main__":
    unittest.main()
