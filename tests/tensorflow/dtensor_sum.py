# SPDX-License-Identifier: GPL-2.0-or-later
#
# A sum over all devices of a DTensor mesh that spans all tasks. Each task has two CPU devices.

import os

import tensorflow as tf
from tensorflow.experimental import dtensor

dtensor.initialize_accelerator_system("CPU", num_logical_cpu_devices=2)
client, clients = dtensor.client_id(), dtensor.num_clients()
mesh = dtensor.create_distributed_mesh([("x", 2 * clients)], device_type="CPU")
# Each device adds a different power of two: the sum is right only if each took part once.
own = [tf.constant([4.0**client]), tf.constant([2 * 4.0**client])]
total = tf.reduce_sum(dtensor.pack(own, dtensor.Layout(["x"], mesh)))
found = int(dtensor.unpack(dtensor.relayout(total, dtensor.Layout.replicated(mesh, rank=0)))[0])
assert found == 4**clients - 1, f"the sum is {found}, not {4**clients - 1}"
print(f"dtensor_sum: client {client} of {clients}, {os.environ['SLURM_TF_ROLE']} {os.environ['SLURM_TF_INDEX']}: ok", flush=True)
