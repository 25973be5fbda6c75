# SPDX-License-Identifier: GPL-2.0-or-later
"""Run a script for TensorFlow 1, which says `import tensorflow as tf`, on TensorFlow 2.

The script and its own modules get TensorFlow 2's compat.v1 instead, with the behaviour of
TensorFlow 1. Packages that are installed beside TensorFlow, such as Keras, get TensorFlow 2,
for which they were written.
"""

import builtins
import os
import runpy
import sys

USAGE = """\
usage: python -m tf4slurm SCRIPT [ARGS...]

Run SCRIPT, which was written for TensorFlow 1 (import tensorflow as tf; tf.Session,
tf.train.Server), on the TensorFlow of this Python: 1, or 2 with its compat.v1."""


def main():
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(USAGE)
        return
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print(USAGE, file=sys.stderr)
        sys.exit(2)
    script = sys.argv[1]
    if not os.path.isfile(script):
        sys.exit("tf4slurm: %s: no such script" % script)
    try:
        import tensorflow
    except ImportError as error:
        sys.exit("tf4slurm: %s has no TensorFlow (%s)" % (sys.executable, error))
    if not tensorflow.__version__.startswith("1."):
        _switch_behaviour(tensorflow.compat.v1)
        _give_instead(tensorflow, tensorflow.compat.v1)
    _become(script)


def _switch_behaviour(v1):
    # disable_v2_behavior () would print a warning.
    verbosity = v1.logging.get_verbosity()
    v1.logging.set_verbosity(v1.logging.ERROR)
    v1.disable_v2_behavior()
    v1.logging.set_verbosity(verbosity)


def _give_instead(tensorflow, v1):
    beside = os.path.dirname(os.path.dirname(tensorflow.__file__)) + os.sep
    original = builtins.__import__

    def import_(name, globals=None, locals=None, fromlist=(), level=0):
        module = original(name, globals, locals, fromlist, level)
        if name == "tensorflow" and not ((globals or {}).get("__file__") or "").startswith(beside):
            return v1
        return module

    builtins.__import__ = import_


def _become(script):
    sys.argv = sys.argv[1:]
    # Python looks here first; because of -m it was the working directory.
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = os.path.dirname(os.path.realpath(script))
    runpy.run_path(script, run_name="__main__")


main()
