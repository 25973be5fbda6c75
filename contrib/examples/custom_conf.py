# SPDX-License-Identifier: GPL-2.0-or-later
#
# A script in which each process reads its own JSON file: custom_conf.py ps.json,
# custom_conf.py worker0.json, and so on. These files used to be written by hand for each job.
#
#     srun --tf-tasks=ps,worker:2 \
#         sh -c 'echo "$TF_CONFIG" > $SLURM_PROCID.json; exec python custom_conf.py $SLURM_PROCID.json'
#
# The workers count together, on the ps.

import json
import os
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")  # or it is announced at every start

import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

EACH = 100  # how far each worker counts

if len(sys.argv) != 2:
    sys.exit("usage: custom_conf.py FILE.json")
with open(sys.argv[1]) as file:
    config = json.load(file)
cluster, role, index = tf.train.ClusterSpec(config["cluster"]), config["task"]["type"], config["task"]["index"]

server = tf.train.Server(cluster, job_name=role, task_index=index)
if role == "ps":
    server.join()

goal = EACH * cluster.num_tasks("worker")
here = f"/job:worker/task:{index}"
with tf.device(tf.train.replica_device_setter(cluster=cluster, worker_device=here)):
    counter = tf.get_variable("counter", [], tf.int64, tf.zeros_initializer())
    count = tf.assign_add(counter, 1, use_locking=True)

# This worker talks to the parameter servers only, because another worker may have ended.
filters = tf.ConfigProto(device_filters=["/job:ps", here])
manager = tf.train.SessionManager(ready_op=tf.report_uninitialized_variables(), recovery_wait_secs=0.5)
if index == 0:
    session = manager.prepare_session(server.target, init_op=tf.global_variables_initializer(), config=filters)
else:
    session = manager.wait_for_session(server.target, config=filters)

for _ in range(EACH):
    session.run(count)
deadline = time.monotonic() + 60
while session.run(counter) < goal and time.monotonic() < deadline:
    time.sleep(0.1)
if session.run(counter) != goal:
    sys.exit(f"worker {index}: the counter is {session.run(counter)}, not {goal}")
print(f"worker {index}: {EACH} of {goal} were mine", flush=True)
