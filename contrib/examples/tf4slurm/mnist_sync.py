# SPDX-License-Identifier: GPL-2.0-or-later
#
# Data of MNIST's shape, trained synchronously with TensorFlow 1, as in tf4slurm's tutorial: a step
# uses the gradients of all workers.
#
#     srun -n4 --tf-tasks=ps,worker:3 python -m tf4slurm mnist_sync.py -ps 1 -workers 3

import sys

import spank_tf_watchdog
import tensorflow as tf

import mnist


def train(args, cluster, server, index, queue_hook):
    is_chief = index == 0
    here = "/job:worker/task:%d" % index
    with tf.device(tf.train.replica_device_setter(worker_device=here, cluster=cluster)):
        pictures = tf.placeholder(tf.float32, [None, 784])
        labels = tf.placeholder(tf.float32, [None, 10])
        logits, keep = mnist.network(pictures)
        loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits))
        step = tf.train.get_or_create_global_step()
        optimizer = tf.train.SyncReplicasOptimizer(
            tf.train.AdamOptimizer(0.005), replicas_to_aggregate=args.workers,
            total_num_replicas=args.workers, use_locking=True, name="sync_replicas")
        train_step = optimizer.minimize(
            loss, global_step=step, aggregation_method=tf.AggregationMethod.ADD_N)

    final = mnist.FinalAccuracy(pictures, labels, logits)
    # Without tokens no worker begins before all workers are ready.
    hooks = [queue_hook, optimizer.make_session_run_hook(is_chief, num_tokens=0),
             tf.train.StopAtStepHook(last_step=args.iterations), final]
    if not is_chief:
        mnist.await_variables(server.target)
    mine = 0
    with tf.train.MonitoredTrainingSession(server.target, is_chief, hooks=hooks) as session:
        while not session.should_stop():
            spank_tf_watchdog.alive("step %d of mine" % mine)  # for --tf-watchdog
            batch = mnist.read([index, mine], args.batch_size // args.workers)
            session.run(train_step, {pictures: batch[0], labels: batch[1], keep: 0.7})
            mine += 1
    # Not the number of steps if a faster worker did some for a slower one.
    print("worker %d: done, %d gradients for %d steps were mine, accuracy %.3f" %
          (index, mine, args.iterations, final.accuracy), flush=True)
    if final.accuracy < 0.9:
        sys.exit("worker %d: this accuracy is too low" % index)


if __name__ == "__main__":
    mnist.launch(train, batch_size=60, iterations=100)
