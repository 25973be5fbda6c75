# SPDX-License-Identifier: GPL-2.0-or-later
#
# A typical script for tf4slurm that leaves the end of a ps to the launcher: the ps serves forever.
# This one imports the package by its older name.
#
#     srun -n3 --tf-tasks=ps,worker:2 python -m tf4slurm LaunchServer_no_hooks.py -ps 1 -workers 2

import argparse
import time

import tensorflow as tf
import tf_for_slurm.ServerDictionary as ServerDictionary

STEPS = 200


def add_up(server, cluster, index, workers):
    """Each worker adds its number to a sum on a ps; all workers see the total."""
    here = "/job:worker/task:%d" % index
    with tf.device(tf.train.replica_device_setter(worker_device=here, cluster=cluster)):
        total = tf.Variable(0, name="total")
        add = tf.assign_add(total, index + 1, use_locking=True)
    manager = tf.train.SessionManager(
        ready_op=tf.report_uninitialized_variables(), recovery_wait_secs=1)
    # Do not wait for other workers: they may have ended.
    config = tf.ConfigProto(device_filters=["/job:ps", here])
    if index == 0:
        init = tf.global_variables_initializer()
        session = manager.prepare_session(server.target, init_op=init, config=config)
    else:
        session = manager.wait_for_session(server.target, config=config)
    for _ in range(STEPS):
        session.run(add)
    end = time.time() + 120
    while session.run(total) < STEPS * workers * (workers + 1) // 2 and time.time() < end:
        time.sleep(0.1)
    print("worker %d: done, the total is %d" % (index, session.run(total)), flush=True)
    session.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-ps", type=int, default=1)
    parser.add_argument("-workers", type=int, default=2)
    args = parser.parse_args()

    tasks = ["ps"] * args.ps + ["worker"] * args.workers
    dictionary, role, index = ServerDictionary.GetServerDictionary(tasks, InfinyBand=False)
    cluster = tf.train.ClusterSpec(dictionary)
    server = tf.train.Server(cluster, job_name=role, task_index=index)

    if role == "ps":
        server.join()
    else:
        add_up(server, cluster, index, args.workers)


if __name__ == "__main__":
    main()
