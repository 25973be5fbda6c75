# SPDX-License-Identifier: GPL-2.0-or-later
#
# own_port.py NAME: a script that chooses its port itself, as those do that were written for SlurmClusterResolver: it
# takes the cluster's hosts, and 15000 on each. Prints "NAME: trains" after the first step, trains until there is a file
# "end", and prints "NAME: done".

import json
import os
import sys
import time

config = json.loads(os.environ["TF_CONFIG"])
config["cluster"] = {role: [address.rsplit(":", 1)[0] + ":15000" for address in addresses]
                     for role, addresses in config["cluster"].items()}
os.environ["TF_CONFIG"] = json.dumps(config)

import tensorflow as tf  # noqa: E402

name, steps, end = sys.argv[1], 0, 0.0
strategy = tf.distribute.MultiWorkerMirroredStrategy()


@tf.function
def step(values):
    return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(lambda: tf.identity(values)), axis=None)


while not end:
    replicas, end = step(tf.constant([1.0, os.path.exists("end")])).numpy()
    assert replicas == strategy.num_replicas_in_sync == 2
    if steps == 0:
        print(f"{name}: trains", flush=True)
    steps += 1
    time.sleep(0.1)
print(f"{name}: done", flush=True)
