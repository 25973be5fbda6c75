# SPDX-License-Identifier: GPL-2.0-or-later
#
# A typical script for TFJob on Kubernetes: it reads TF_CONFIG itself, and expects
# "environment":"cloud" in it.
#
#     srun --tf-tasks=master,ps,worker:2 tf-exec --environment=cloud python tfjob.py
#
# The master makes every task of the cluster multiply two matrices. It is the only task that ends.

import json
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")  # or it is announced at every start

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

SIZE = 100

config = json.loads(os.environ.get("TF_CONFIG", "{}"))
cluster, task = config.get("cluster", {}), config.get("task", {})
if config.get("environment") != "cloud":
    sys.exit("tfjob: TF_CONFIG is not of the cloud")

server = tf.train.Server(tf.train.ClusterSpec(cluster), job_name=task["type"], task_index=task["index"])
if task["type"] != "master":
    server.join()

a, b = np.random.default_rng(0).normal(size=[2, SIZE, SIZE])
products = {}
for job, addresses in cluster.items():
    for index in range(len(addresses)):
        with tf.device(f"/job:{job}/task:{index}"):
            products[f"{job} {index}"] = tf.matmul(a, b)

with tf.Session(server.target) as session:
    for name, product in session.run(products).items():
        if not np.allclose(product, a @ b):
            sys.exit(f"tfjob: {name} cannot multiply")
        print(f"tfjob: {name} has multiplied", flush=True)
print("tfjob: ok", flush=True)
