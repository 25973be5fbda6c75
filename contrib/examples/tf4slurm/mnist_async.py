# SPDX-License-Identifier: GPL-2.0-or-later
#
# Data of MNIST's shape, trained asynchronously with TensorFlow 1, as in tf4slurm's tutorial:
#
#     srun -n4 --tf-tasks=ps,worker:3 python -m tf4slurm mnist_async.py -ps 1 -workers 3

import sys

import spank_tf_watchdog
import tensorflow as tf

import mnist


def train(args, cluster, server, index, queue_hook):
    here = "/job:worker/task:%d" % index
    with tf.device(tf.train.replica_device_setter(worker_device=here, cluster=cluster)):
        pictures = tf.placeholder(tf.float32, [None, 784])
        labels = tf.placeholder(tf.float32, [None, 10])
        logits, keep = mnist.network(pictures)
        loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits))
        step = tf.train.get_or_create_global_step()
        train_step = tf.train.AdamOptimizer(0.002).minimize(loss, global_step=step)

    final = mnist.FinalAccuracy(pictures, labels, logits)
    hooks = [queue_hook, mnist.Together(args.workers),
             tf.train.StopAtStepHook(last_step=args.iterations), final]
    is_chief = index == 0
    if not is_chief:
        mnist.await_variables(server.target)
    mine = 0
    with tf.train.MonitoredTrainingSession(server.target, is_chief, hooks=hooks) as session:
        while not session.should_stop():
            spank_tf_watchdog.alive("step %d of mine" % mine)  # for --tf-watchdog
            batch = mnist.read([index, mine], args.batch_size)
            session.run(train_step, {pictures: batch[0], labels: batch[1], keep: 0.7})
            mine += 1
    print("worker %d: done, %d of %d steps were mine, accuracy %.3f" %
          (index, mine, args.iterations, final.accuracy), flush=True)
    if final.accuracy < 0.9:
        sys.exit("worker %d: this accuracy is too low" % index)


if __name__ == "__main__":
    mnist.launch(train, batch_size=50, iterations=300)
