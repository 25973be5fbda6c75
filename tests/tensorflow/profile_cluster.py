# SPDX-License-Identifier: GPL-2.0-or-later
#
# An auxiliary task that profiles the others while they train. Every address of TF_CONFIG is
# that of a server that profiles, too.
#
#     profile_cluster.py DIRECTORY

import os
import pathlib
import shutil
import socket
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf

cluster = tf.distribute.cluster_resolver.TFConfigClusterResolver().cluster_spec()
targets = {job: cluster.job_tasks(job) for job in cluster.jobs}
servers = sum(targets.values(), [])
logdir = pathlib.Path(sys.argv[1])


def trace():
    """None, or why there is not one trace of a training for each server."""
    shutil.rmtree(logdir, ignore_errors=True)
    try:
        for server in servers:
            host, _, port = server.rpartition(":")
            socket.create_connection((host, int(port)), timeout=10).close()
        tf.profiler.experimental.client.trace(
            ",".join("grpc://" + server for server in servers), str(logdir), duration_ms=1000)
    except (OSError, tf.errors.UnavailableError, RuntimeError) as error:  # the last two: TensorFlow 2.15, 2.21
        return error
    traces = {path.name: path.read_bytes() for path in logdir.rglob("*.xplane.pb")}
    for job, tasks in targets.items():
        for server in tasks:
            data = traces.get(server.replace(":", "_") + ".xplane.pb")
            # A chief with ps only schedules; the others change the weights.
            if not data or (job in ("ps", "worker") and b"AssignSubVariableOp" not in data):
                return f"no trace of {job} {server} in {sorted(traces)}"
    return None


# Until all have started their servers, and have begun to train.
deadline = time.monotonic() + 180
while (wrong := trace()) is not None:
    if time.monotonic() > deadline:
        sys.exit(f"profile_cluster: {wrong}")
    time.sleep(1)
print(f"profile_cluster: {len(servers)} traces, ok", flush=True)
time.sleep(1000)
