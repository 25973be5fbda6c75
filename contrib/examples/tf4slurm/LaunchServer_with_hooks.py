# SPDX-License-Identifier: GPL-2.0-or-later
#
# A typical script for tf4slurm: TensorFlow 1, and a ps that ends when every worker has
# reported that it is done.
#
#     srun -n3 --tf-tasks=ps,worker:2 python -m tf4slurm LaunchServer_with_hooks.py -ps 1 -workers 2
#
# Python finds tf4slurm in PYTHONPATH. With TensorFlow 1, `-m tf4slurm` is not needed.

import argparse
import time

import tensorflow as tf
import tf4slurm.DistributedTFQueueHook as QueueHook
import tf4slurm.ServerDictionary as ServerDictionary


def count_together(server, cluster, index, hook, steps):
    """Each step sleeps and increments the global step, which is on a ps."""
    here = "/job:worker/task:%d" % index
    with tf.device(tf.train.replica_device_setter(worker_device=here, cluster=cluster)):
        step = tf.train.get_or_create_global_step()
        one_more = tf.assign_add(step, 1)
    hooks = [hook, tf.train.StopAtStepHook(last_step=steps)]
    mine = 0
    is_chief = index == 0
    with tf.train.MonitoredTrainingSession(server.target, is_chief, hooks=hooks) as session:
        while not session.should_stop():
            time.sleep(1)
            session.run(one_more)
            mine += 1
    print("worker %d: done, %d steps were mine" % (index, mine), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-ps", type=int, default=1)
    parser.add_argument("-workers", type=int, default=2)
    # One worker runs for half a minute: another one may wait that long if it finds no variables.
    parser.add_argument("-steps", type=int, default=50)
    args = parser.parse_args()

    tasks = ["ps"] * args.ps + ["worker"] * args.workers
    dictionary, role, index = ServerDictionary.GetServerDictionary(tasks)
    print("%s %d is at %s" % (role, index, dictionary[role][index]), flush=True)
    cluster = tf.train.ClusterSpec(dictionary)
    server = tf.train.Server(cluster, job_name=role, task_index=index)

    if role == "ps":
        queue = QueueHook.create_done_queue(index, args.workers)
        session = tf.Session(server.target)
        for number in range(args.workers):
            session.run(queue.dequeue())
        session.close()
        print("ps %d: all %d workers are done" % (index, args.workers), flush=True)
    else:
        hook = QueueHook.QueueManagementHook(NumberOfPS=args.ps, NumberOfWorkers=args.workers)
        count_together(server, cluster, index, hook, args.steps)


if __name__ == "__main__":
    main()
