# SPDX-License-Identifier: GPL-2.0-or-later
"""Signs of life for --tf-watchdog, without dependencies.

    import spank_tf_watchdog

    for step in range(steps):
        spank_tf_watchdog.alive("step %d" % step)       # before what may hang
        train_step()
    spank_tf_watchdog.done()                            # the end may take longer than a step

    model.fit(..., callbacks=[spank_tf_watchdog.keras_callback(keras)])

These are messages of systemd's protocol to the socket that NOTIFY_SOCKET names. Where that is not set,
nothing happens. A message that cannot be sent at once is dropped: training never waits for it, and the
next step sends another one. A call takes some microseconds.

It can be copied beside a script; otherwise PYTHONPATH has to name its directory.
"""

import faulthandler
import fcntl
import os
import signal
import socket

_open = None
_own = "/proc/self/fd/"


def _show_stacks():
    """Let tf-status --stacks ask where this program is: at a signal, the stacks go to a file in memory, which has its
    number in its name. Nothing is printed, and no Python code runs. Only in a task, and not if the signal is taken."""
    number = signal.SIGRTMAX - 2
    if "SLURM_TF_ROLE" not in os.environ or signal.getsignal(number) != signal.SIG_DFL:
        return
    fd = os.memfd_create("spank_tf_stacks_%d" % number)
    fcntl.fcntl(fd, fcntl.F_SETFL, os.O_APPEND)
    faulthandler.register(number, file=fd, all_threads=True)


try:
    _show_stacks()
except (AttributeError, OSError, RuntimeError, ValueError):
    pass


def _names():
    name = os.environ.get("NOTIFY_SOCKET", "")
    if name:
        yield "\0" + name[1:] if name[0] == "@" else name
    # A descriptor of the task, which subprocess closes in the programs that it starts: then an ancestor has it.
    pid = os.getpid()
    while name.startswith(_own) and pid > 1:
        with open("/proc/%d/stat" % pid, "rb") as f:    # a program's name may be no UTF-8
            pid = int(f.read().rpartition(b")")[2].split()[1])
        yield "/proc/%d/fd/%s" % (pid, name[len(_own) :])


def _identity(sock):
    status = os.fstat(sock.fileno())
    return status.st_dev, status.st_ino


def _is_open(sock, identity):
    """The program may have closed all its descriptors, and the number may be another file's."""
    try:
        return _identity(sock) == identity
    except OSError:
        return False


def _socket():
    """Several threads may call this."""
    global _open
    known = _open
    if known and _is_open(*known):
        return known[0]
    if known and known is _open:
        known[0].detach()
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK)
    _open = sock, _identity(sock)
    return sock


def _send_to(name, message):
    try:
        _socket().sendto(message, name)
    except BlockingIOError:
        raise
    except OSError:
        return False
    return True


def _send(text):
    message = text.encode("utf-8", "replace")[:2048]
    try:
        return any(_send_to(name, message) for name in _names())
    except OSError:
        return False


def alive(status=""):
    """Tell that the program goes on, and what it does. True if the message was sent."""
    return _send("WATCHDOG=1\n" + ("STATUS=" + status.replace("\n", " ") if status else ""))


def done():
    """Announce that no heartbeat follows until the next alive()."""
    return _send("STOPPING=1")


def keras_callback(keras):
    """A callback for fit (), evaluate () and predict () of this Keras: keras, tf_keras or tf.keras.

    It sends a message before and after each batch: the one before shows which task still came to a collective
    in which all of them hang. What follows these calls may take any time. The step is counted over all epochs, so
    that a restart which gets further is one with progress; an epoch has a number of steps when Keras knows it.
    """

    class Alive(keras.callbacks.Callback):
        epoch = 0
        fits = False

        def on_train_begin(self, logs=None):
            self.fits = True

        def on_epoch_begin(self, epoch, logs=None):
            self.epoch = epoch

        def step(self, batch):
            steps = (self.params or {}).get("steps")
            number = "step %d, " % (self.epoch * steps + batch + 1) if steps else ""
            return number + "epoch %d, batch %d" % (self.epoch, batch)

        def on_train_batch_begin(self, batch, logs=None):
            alive(self.step(batch))

        def on_train_batch_end(self, batch, logs=None):
            alive(self.step(batch) + " done")

        def on_test_batch_begin(self, batch, logs=None):
            alive("evaluation, batch %d" % batch)

        def on_test_batch_end(self, batch, logs=None):
            alive("evaluation, batch %d done" % batch)

        def on_predict_batch_begin(self, batch, logs=None):
            alive("prediction, batch %d" % batch)

        def on_predict_batch_end(self, batch, logs=None):
            alive("prediction, batch %d done" % batch)

        def on_train_end(self, logs=None):
            self.fits = False
            done()

        def on_test_end(self, logs=None):
            if not self.fits:
                done()

        def on_predict_end(self, logs=None):
            if not self.fits:
                done()

    return Alive()


def session_hook(tf):
    """A SessionRunHook of TensorFlow 1, for MonitoredTrainingSession and Estimator. `tf` is tensorflow.compat.v1."""

    class Alive(tf.train.SessionRunHook):
        runs = 0

        def before_run(self, context):
            alive("run %d" % self.runs)

        def after_run(self, context, values):
            self.runs += 1
            alive("run %d done" % self.runs)

        def end(self, session):
            done()

    return Alive()
