# SPDX-License-Identifier: GPL-2.0-or-later
"""
Trials with auxiliary tasks (`+data` in a list): what the plan says of them, and what must
hold. Restarts of such tasks are in restarts.py and lives.py.

Their choices have a generator of their own, so that the other trials do not depend on them.
"""
import json
import random
import re

import cluster as clusters
import restarts
from fault import HARMLESS

NAMES = ("+data", "+log")
# So many of a hundred trials have such tasks.
PERCENT = 25
# How one may end before the others.
ENDS = ["exit 0", "exit 1", "exit 3", "kill -KILL $$", "kill -USR1 $$"]

FAILED = r"\+\w+ \d+ \(rank (\d+), \S+\) (?:failed with )?(.*)\. spank_tf stops no other task"


def ranks(plan):
    return plan.ranks(*NAMES)


def name(role):
    """Of a role, as its task and log file have it."""
    return role.lstrip("+")


# Choosing

def choose(plan, wanted):
    """Some of the workers, but not all. wanted: True, False, or None for by chance."""
    rng = random.Random(f"beside {plan.seed}")
    chosen = rng.randrange(100) < PERCENT
    workers = sorted(plan.ranks("worker"))
    per_node = plan.lists[0].startswith("--tf-tasks-per-node")
    if per_node or len(workers) < 2 or not (chosen if wanted is None else wanted):
        return None
    for rank in rng.sample(workers, rng.randint(1, min(3, len(workers) - 1))):
        plan.roles[rank] = rng.choice(NAMES)
    return rng


def choose_ends(rng, plan):
    """Call this when the programs are chosen."""
    for rank in [] if plan.early else sorted(ranks(plan)):
        if rng.random() < 0.5:
            plan.failures.append(restarts.Failure(rank, rng.choice(ENDS),
                                                  rng.choice([0, 0, rng.randint(1, 300)]),
                                                  rng.random() < 0.25))


# The rules

def addresses(trial):
    """Every program knows the same address of each auxiliary task, which is its own there."""
    plan, seen = trial.plan, set()
    names = list(dict.fromkeys(role for role in plan.roles if role in NAMES))
    for record in trial.lives.values():
        known = {n: some.split(",") if some else [] for n, some in zip(NAMES, record.beside[1:])}
        seen.add(tuple(record.beside))
        if record.beside[0] != ",".join(map(name, names)):
            yield f"{record}: SLURM_TF_BESIDE is {record.beside[0]}, not {names}"
        if {n: len(some) for n, some in known.items()} != {n: plan.roles.count(n) for n in NAMES}:
            yield f"{record} has these addresses: {known}"
        role, own = plan.roles[record.rank], f"{record.address}:{record.port}"
        if role in NAMES and own not in known[role][plan.roles[:record.rank].count(role):][:1]:
            yield f"{record} has the address {own}, not its own of {known[role]}"
        cluster = json.loads(record.config)["cluster"].values()
        if {a for some in cluster for a in some} & {a for some in known.values() for a in some}:
            yield f"{record}: an address is in the cluster, too: {record.config}"
    if len(seen) > 1:
        yield f"programs know different addresses: {seen}"


def output_of(trial, rank):
    if not trial.plan.logs:
        return clusters.read(trial.output)
    role = trial.plan.roles[rank]
    index = trial.plan.roles[:rank].count(role)
    return clusters.read(f"{trial.logs}/{name(role)}{index}.log")


def unreported(trial):
    """
    Those that were told to fail, and srun has not said so. What fails in the moment of the job's end
    may not be reported.
    """
    plan = trial.plan
    failed = {f.rank for f in plan.failures[:trial.failed]
              if f.rank in ranks(plan) and f.command != "exit 0" and not f.at_once}
    if plan.restarts or not plan.supervised() or not failed:
        return set()
    return failed - {int(rank) for rank, _ in re.findall(FAILED, clusters.read(trial.output))}


def is_harmless(fault):
    return fault.effect()._replace(seconds=0) == HARMLESS


def ends_nothing(trial):
    """
    Its end before the others' ends nothing else: those for which the job waits do what they were
    told. If it failed, srun says so.
    """
    plan = trial.plan
    early = [f for f in plan.failures if f.rank in ranks(plan)]
    if not all(map(is_harmless, trial.faults())) or trial.cancelled \
            or plan.restarts or not early:
        return
    # A ps that fails ends the job.
    leads = {r.rank for r in plan.releases if plan.roles[r.rank] == "ps" and r.command != "exit 0"}
    needed = set().union(*plan.conditions()) if not leads else set()
    for release in plan.releases:
        if release.rank in needed and plan.stop != "chief" \
                and f"program {release.rank}: {release.command}" not in output_of(trial, release.rank):
            yield f"rank {release.rank} has not done what it was told: {release.command}"
    if unreported(trial):
        yield f"srun does not report that these have failed: {unreported(trial)}"


RULES = [addresses, ends_nothing]
