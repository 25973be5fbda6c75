# SPDX-License-Identifier: GPL-2.0-or-later
"""
ParameterServerStrategy whose chief saves a checkpoint when it gets SIGTERM, and exits with 42. The
variables are on the ps, one of them on each, so the checkpoint can be complete only while all of
them serve. Saving takes ten seconds: so long the chief waits before it reads them.

    srun --tf-tasks=chief,ps:2,worker saving.py DIRECTORY
    saving.py --check DIRECTORY         prints the steps of the saved variables
"""
import os
import signal
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")

import tensorflow as tf

SAVING = 10
directory = sys.argv[-1]


def counters(number):
    """One for each ps; they count the steps."""
    return [tf.Variable(tf.zeros([1 << 12], tf.int64), name=f"counter{i}") for i in range(number)]


def check():
    path = tf.train.latest_checkpoint(directory)
    reader = tf.train.load_checkpoint(path)
    for name, shape in sorted(tf.train.list_variables(path)):
        if name.startswith("counter"):
            values = set(reader.get_tensor(name).flatten().tolist())
            print(f"saved {name.split('/')[0]} {shape} {values}")


def serve(cluster, spec):
    tf.distribute.Server(spec, job_name=cluster.task_type, task_index=cluster.task_id,
                         protocol="grpc").join()


def coordinate(cluster, spec):
    asked = []
    signal.signal(signal.SIGTERM, lambda number, frame: asked.append(number))
    strategy = tf.distribute.ParameterServerStrategy(cluster)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        variables = counters(spec.num_tasks("ps"))
    places = sorted(tf.DeviceSpec.from_string(v.device).task for v in variables)
    assert places == list(range(spec.num_tasks("ps"))), places

    @tf.function
    def step():
        for v in variables:
            v.assign_add(tf.ones_like(v))

    steps = 0
    while not asked:
        coordinator.schedule(step)
        coordinator.join()
        steps += 1
        if steps == 3:
            print("saving: trains", flush=True)
    print(f"saving: asked to end after {steps} steps", flush=True)
    time.sleep(SAVING)
    tf.train.Checkpoint(**{f"counter{i}": v for i, v in enumerate(variables)}).save(directory + "/ckpt")
    # The workers serve, too: a step after the save.
    coordinator.schedule(step)
    coordinator.join()
    print(f"saving: saved after {steps} steps, asked {len(asked)} times", flush=True)
    sys.exit(42)


if "--check" in sys.argv:
    check()
else:
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    (coordinate if resolver.task_type == "chief" else serve)(resolver, resolver.cluster_spec())
