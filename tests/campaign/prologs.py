# SPDX-License-Identifier: GPL-2.0-or-later
"""
Trials with a TaskProlog that takes its time, on some nodes or for some ranks, and runs before every
life of a task.

Their choices have a generator of their own, so that the other trials do not depend on them.
"""
import random

import cluster as clusters

PROGRAM = "prolog"
# So many of a hundred trials have one.
PERCENT = 15


def choose(plan, wanted):
    """wanted: True, False, or None for by chance."""
    rng = random.Random(f"prolog {plan.seed}")
    chosen = rng.randrange(100) < PERCENT
    if not (chosen if wanted is None else wanted):
        return
    slow = rng.uniform(0.1, 2)
    how = rng.choice(["all", "some", "each"])
    plan.prologs = [slow if how == "all" or how == "some" and rng.random() < 0.5 else
                    rng.uniform(0, slow) if how == "each" else 0 for _ in range(plan.tasks)]


def seconds(plan):
    """What TaskProlog takes at most."""
    return max(plan.prologs, default=0)


def prepare(trial):
    for rank, some in enumerate(trial.plan.prologs):
        clusters.write(f"{trial.dir}/seconds.{rank}", f"{some:.2f}\n")
    if trial.plan.prologs:
        trial.own(f"{trial.dir}/prologs", lambda path: clusters.write(path, ""))


def options(plan, directory):
    """srun's."""
    return [f"--task-prolog={directory}/{PROGRAM}"] if plan.prologs else []


# The rule

def prolog(trial):
    """TaskProlog has run once before each life."""
    if not trial.plan.prologs:
        return
    began = clusters.read(f"{trial.dir}/prologs").split()
    for life in sorted(set(began)):
        if began.count(life) > 1:
            yield f"TaskProlog has run {began.count(life)} times for life {life}"
    for record in trial.lives.values():
        if record.prolog != f"{record.rank}.{record.life}":
            yield f"{record} has the environment of TaskProlog of {record.prolog or 'none'}"


RULES = [prolog]
