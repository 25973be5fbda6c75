# SPDX-License-Identifier: GPL-2.0-or-later
#
# A script as people wrote them for Keras 2: tf.keras, a batch for each entry of "worker" in TF_CONFIG, and, where the
# cluster has a ps, the same model.fit () with ParameterServerStrategy.

import json
import os

import numpy as np
import tensorflow as tf

config = json.loads(os.environ["TF_CONFIG"])
cluster = tf.distribute.cluster_resolver.TFConfigClusterResolver()
if "ps" in config["cluster"]:
    if cluster.task_type in ("ps", "worker"):
        tf.distribute.Server(cluster.cluster_spec(), job_name=cluster.task_type,
                             task_index=cluster.task_id, protocol="grpc").join()
    strategy = tf.distribute.ParameterServerStrategy(cluster)
else:
    strategy = tf.distribute.MultiWorkerMirroredStrategy()

batch = 32 * len(config["cluster"]["worker"])
points = np.random.default_rng(0).normal(size=[batch * 10, 8])
data = tf.data.Dataset.from_tensor_slices((points, points.sum(axis=1, keepdims=True))).repeat().batch(batch)

with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.InputLayer(input_shape=[8]), tf.keras.layers.Dense(1)])
    model.compile(optimizer=tf.keras.optimizers.SGD(learning_rate=0.05), loss="mse", metrics=["mae"])
losses = model.fit(data, epochs=3, steps_per_epoch=10, verbose=0).history["loss"]
print(f"keras2: {strategy.num_replicas_in_sync} replicas, {batch // 32} workers, loss falls: {losses[-1] < losses[0] / 2}")
