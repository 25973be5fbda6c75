# SPDX-License-Identifier: GPL-2.0-or-later
#
# A task beside the cluster that profiles all workers while they train. Every address of TF_CONFIG is
# that of a server that profiles, too.
#
#     profile_workers.py DIRECTORY

import os
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf

cluster = tf.distribute.cluster_resolver.TFConfigClusterResolver().cluster_spec()
targets = ",".join("grpc://" + address for address in cluster.job_tasks("worker"))

# The workers may not have started their servers yet, or not have begun to train.
deadline = time.monotonic() + 90
while True:
    try:
        tf.profiler.experimental.client.trace(targets, sys.argv[1], duration_ms=1000)
        break
    except (tf.errors.UnavailableError, RuntimeError) as error:  # TensorFlow 2.15, 2.21
        if time.monotonic() > deadline:
            sys.exit(f"profile_workers: {error}")
        time.sleep(1)
print("profile_workers: ok", flush=True)
time.sleep(1000)
