# SPDX-License-Identifier: GPL-2.0-or-later
"""The modules that scripts for tf4slurm import, for use in a step of srun --tf-tasks.

    import tf4slurm.ServerDictionary as ServerDictionary
    import tf4slurm.DistributedTFQueueHook as QueueHook

`python -m tf4slurm SCRIPT ARGS` runs such a script, written for TensorFlow 1, on TensorFlow 2.
"""

import importlib


# Import a module only when it is used: one of the two imports TensorFlow.
def __getattr__(name):
    if name in ("ServerDictionary", "DistributedTFQueueHook"):
        return importlib.import_module("." + name, __name__)
    raise AttributeError("module %r has no attribute %r" % (__name__, name))
