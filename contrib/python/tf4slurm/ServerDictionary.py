# SPDX-License-Identifier: GPL-2.0-or-later
"""The cluster of a step of srun --tf-tasks, in the form that scripts for tf4slurm expect."""

import itertools
import json
import os
import sys


def GetServerDictionary(TensorFlowServerTasks, InfinyBand=True, InfiniBand=True):
    """Return (dictionary, type, index): the addresses of all "ps" and of all "worker" of the
    step, and which of them this task is.

    TensorFlowServerTasks is the step's list, one role for each task in rank order. If it is not
    the list that srun --tf-tasks was given, or if this is not a task of such a step, the script
    ends with one line that says which list would fit.

    The addresses are on the network that srun --tf-ib and --tf-network chose for the step. The
    arguments InfinyBand and InfiniBand are accepted for existing scripts and have no effect.
    """
    tasks = list(TensorFlowServerTasks)
    if not tasks:
        _end("the script lists no tasks")
    cluster, role, index = _read_config(_fitting(tasks))
    _check_numbers(tasks, cluster)
    _check_place(tasks, role, index)
    return dict({"ps": [], "worker": []}, **cluster), role, index


def _read_config(fitting):
    text = os.environ.get("TF_CONFIG")
    if not text:
        _end("this is not a task of srun --tf-tasks (TF_CONFIG is not set); " + fitting)
    try:
        config = json.loads(text)
        cluster, role, index = config["cluster"], config["task"]["type"], config["task"]["index"]
        cluster[role][index]
        return cluster, role, index
    except (ValueError, TypeError, LookupError):
        _end("TF_CONFIG is not what srun --tf-tasks sets; " + fitting)


def _check_numbers(tasks, cluster):
    # An evaluator is listed in its own TF_CONFIG only.
    listed = [role for role in tasks if role != "evaluator"]
    step = [role for role in cluster for _ in cluster[role] if role != "evaluator"]
    if sorted(listed) != sorted(step):
        _end("the script lists %s, the step has %s; %s" %
             (_shown(listed), _shown(step), _fitting(tasks)))


def _check_place(tasks, role, index):
    if "SLURM_PROCID" not in os.environ:
        return
    # spank-tf may have given the task another number than that of its place in the list.
    rank = int(os.environ.get("SPANK_TF_FORMER_SLURM_PROCID", os.environ["SLURM_PROCID"]))
    listed = "not a task"
    if rank < len(tasks):
        listed = "%s %d" % (tasks[rank], tasks[:rank].count(tasks[rank]))
    if listed != "%s %d" % (role, index):
        _end("rank %d is %s in the script's list and %s %d in the step; %s" %
             (rank, listed, role, index, _fitting(tasks)))


def _items(tasks):
    for role, group in itertools.groupby(tasks):
        count = len(list(group))
        yield role if count == 1 else "%s:%d" % (role, count)


def _shown(tasks):
    return "%d tasks (%s)" % (len(tasks), ", ".join(_items(tasks)))


def _fitting(tasks):
    return "srun -n%d --tf-tasks=%s would fit" % (len(tasks), ",".join(_items(tasks)))


def _end(message):
    sys.exit("tf4slurm: " + message)
