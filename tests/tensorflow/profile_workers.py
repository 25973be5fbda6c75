# SPDX-License-Identifier: GPL-2.0-or-later
#
# A task beside the cluster that profiles all workers while they train. Every address of TF_CONFIG is
# that of a server that profiles, too.
#
#     profile_workers.py DIRECTORY

import glob
import os
import shutil
import socket
import subprocess
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf

cluster = tf.distribute.cluster_resolver.TFConfigClusterResolver().cluster_spec()
workers = cluster.job_tasks("worker")
targets = ",".join("grpc://" + address for address in workers)


if len(sys.argv) > 2:
    tf.profiler.experimental.client.trace(targets, sys.argv[1], duration_ms=1000)
    sys.exit()


def trace():
    """None, or why there is not one trace for each worker."""
    try:
        for address in workers:
            host, _, port = address.rpartition(":")
            socket.create_connection((host, int(port)), timeout=10).close()
        # A client that asks too early may hang for minutes.
        subprocess.run([sys.executable, *sys.argv, "once"], check=True, timeout=25)
    except (OSError, subprocess.SubprocessError) as error:
        return error
    traces = glob.glob(sys.argv[1] + "/**/*.xplane.pb", recursive=True)
    return None if len(traces) == len(workers) else f"traces: {traces}"


# Until all workers have started their servers, and have begun to train.
deadline = time.monotonic() + 120
while (wrong := trace()) is not None:
    if time.monotonic() > deadline:
        sys.exit(f"profile_workers: {wrong}")
    shutil.rmtree(sys.argv[1], ignore_errors=True)
    time.sleep(1)
print("profile_workers: ok", flush=True)
time.sleep(1000)
