# SPDX-License-Identifier: GPL-2.0-or-later
"""
Trials with --tf-watchdog: tasks that hang, what their verdicts must be, and that there is none without
a hang. The programs have activity by signs.c: heartbeats, or lines in their log files.

Their choices have a generator of their own, so that the other trials do not depend on them.
"""
import os
import random
import re
import shutil
import time
from signal import SIGCONT, SIGSTOP, SIGUSR1, SIGUSR2

import cluster as clusters
import restarts
from fault import HARMLESS, Effect, Fault, Moment, codes

PROGRAM = "signs"
# So many of a hundred trials are watched.
PERCENT = 5
# --tf-watchdog; the longest time between two signs is far below, because the machine may be busy.
SECONDS = 4
MOST_MS = 500
# A verdict comes at most so long after the last sign, besides SECONDS.
LATE_SECONDS = 8
# srun's exit code, and that of a task.
HUNG = 124

VERDICT = (r"spank_tf: step \d+\.\d+: no activity for (\d+) s: (\+?\w+ \d+) \(rank (\d+), (\S+)\)"
           r", (.*?)(?:; \d+ others? since [\d:]{8})?(?:; \d+ others? (?:is|are) active)?$")


# The plan

def watched(plan):
    """
    The ranks whose silence counts. Not the log of a worker that only serves, as beside a chief and a ps.
    """
    serves = plan.watch == "logs" and plan.ranks("chief") and plan.ranks("ps")
    return plan.ranks("chief") if serves else plan.ranks("chief", "worker")


def choose(plan, wanted):
    """wanted: True, False, or None for by chance."""
    rng = random.Random(f"hangs {plan.seed}")
    chosen = rng.randrange(100) < PERCENT
    # A step may be an evaluator alone.
    if not (chosen if wanted is None else wanted) or not plan.ranks("chief", "worker"):
        return None
    plan.watch = rng.choice(["messages", "messages", "logs"])
    plan.logs = plan.logs or plan.watch == "logs"
    # A log counts if it grows before the second number is over.
    plan.options.append(f"--tf-watchdog={SECONDS},{SECONDS if plan.watch == 'logs' else SECONDS + 2}")
    return rng


def choose_faults(rng, plan):
    """Mostly hangs alone; sometimes one with other faults, or these alone."""
    kind = rng.random()
    if kind < 0.15:
        return
    most = plan.restarts + 1 if kind < 0.7 else 1
    hangs = [Hang(rng, plan, number) for number in range(1, rng.randint(1, most) + 1)]
    plan.faults = hangs + (plan.faults if kind >= 0.85 else [])
    plan.early = False


# The fault

class Hang(Fault):
    """
    A task is stopped, or in an endless loop; and its children, too. Then others that wait for it are
    silent, or they go on. If that is no hang, it is over after a while.
    """
    events = ("together",)

    def __init__(self, rng, plan, number=1):
        super().__init__(rng, plan)
        self.plan, self.moment = plan, Moment("together", number, rng.randint(50, 2000))
        own = watched(plan)
        others = set(range(plan.tasks)) - own
        self.rank = rng.choice(sorted(others if others and rng.random() < 0.2 else own))
        self.stopped = self.rank not in own or rng.random() < 0.5
        member = self.rank in restarts.members(plan)
        # Logs tell that the step hangs if none of them grows.
        self.others_follow = member and (rng.random() < 0.5 or plan.watch == "logs" and self.rank in own)
        self.keeps_restarts = not self.is_hang()
        self.notes_failures = True
        self.lasts_ms = 0 if self.is_hang() else SECONDS * 1000 + 1500
        self.pids, self.told = [], 0

    @staticmethod
    def fits(plan):
        return bool(plan.watch)

    def is_hang(self):
        return self.rank in watched(self.plan) or self.others_follow

    def what(self):
        return f"rank {self.rank} {'is stopped' if self.stopped else 'loops'}" + \
            ", and the others wait" * self.others_follow

    def inject(self, trial):
        record = trial.records.get(self.rank)
        if not record or int(record.pid) not in trial.programs():
            return None
        self.pids = [p.pid for p in trial.processes if str(p.parent) == record.pid and p.name == PROGRAM]
        self.told = len(verdicts(trial))
        for pid in [*self.pids, int(record.pid)]:
            clusters.send(pid, SIGSTOP if self.stopped else SIGUSR2)
        others = [p.pid for p in trial.processes if p.name == PROGRAM and p.pid not in self.pids]
        for pid in others if self.others_follow else []:
            clusters.send(pid, SIGUSR1)
        self.pids.append(int(record.pid))
        return str(record)

    def repair(self, trial):
        if self.stopped:
            for pid in set(self.pids) & {p.pid for p in trial.processes}:
                clusters.send(pid, SIGCONT)

    def effect(self):
        seconds = SECONDS + LATE_SECONDS + 10
        if not self.is_hang():
            return HARMLESS._replace(seconds=seconds)
        return Effect(codes(HUNG), VERDICT, ends=frozenset({"hung", "stopped"}),
                      loses_output=True, seconds=seconds)


# The trial

def verdicts(trial):
    """(seconds, rank, name, node, what is known) of each that srun has printed."""
    return [(int(match[1]), int(match[3]), match[2], match[4], match[5])
            for match in re.finditer(VERDICT, clusters.read(trial.output), re.M)] if trial.plan.watch else []


def prepare(trial):
    if trial.plan.watch:
        shutil.copy(os.environ["SPANK_TF_PROGRAMS"] + "/" + PROGRAM, trial.dir)
        # After progress restarts would be counted anew, and how far a life gets is chance.
        kind = "pings" if trial.plan.watch == "messages" else "lines"
        clusters.write(trial.dir + "/signs.args", f"{MOST_MS} {kind}\n")


def look(trial):
    """Note when all programs run, and give signs; and the failures that verdicts are."""
    if not trial.plan.watch:
        return
    together = len(trial.programs()) == trial.plan.tasks and (trial.together or all(
        os.path.exists(f"{trial.dir}/gives.{r.rank}.{r.life}") for r in trial.records.values()))
    if together and not trial.together:
        trial.togethers += 1
        trial.count("together", trial.togethers)
    trial.together = together
    found = verdicts(trial)
    for _, rank, *_ in found[trial.verdicts:]:
        record = trial.records.get(rank)
        trial.failures.append((time.monotonic(), rank, record.life if record else 0))
        trial.count("verdict", len(found))
    trial.verdicts = len(found)


def is_pending(trial):
    """A task hangs, and the verdict has not come, but may; or a task is to hang now."""
    coming = [f for f in trial.plan.faults if isinstance(f, Hang) and f not in trial.injected]
    if any(f.moment.count <= trial.togethers for f in coming) or (
            coming and len(trial.programs()) == trial.plan.tasks and not trial.together):
        return True
    for fault, injection in trial.injected.items():
        if isinstance(fault, Hang) and injection.text and trial.verdicts == fault.told:
            since = time.monotonic() - injection.at
            if since < (SECONDS + LATE_SECONDS if fault.is_hang() else fault.lasts_ms / 1000):
                return True
    return False


# The rules

def verdict(trial):
    """
    There is one verdict for each hang. It names the task that was silent first, and comes when it was
    silent long enough.
    """
    plan, found = trial.plan, verdicts(trial)
    hangs = [f for f in trial.faults() if isinstance(f, Hang) and f.is_hang()]
    if not plan.watch:
        return
    for seconds, rank, name, _, known in found:
        faults = [f for f in hangs if f.rank == rank]
        role, index = plan.roles[rank], plan.roles[:rank].count(plan.roles[rank])
        if not faults:
            yield f"rank {rank} does not hang: {[f.what() for f in hangs]}"
        elif known.startswith("stopped") not in [f.stopped for f in faults]:
            yield f"the verdict about rank {rank} says: {known}"
        if name != f"{role} {index}":
            yield f"the verdict has rank {rank} as {name}"
        if seconds < SECONDS:
            yield f"rank {rank} is judged after {seconds} s"
    alone = all(isinstance(f, Hang) for f in trial.faults())
    if alone and [rank for _, rank, *_ in found] != [f.rank for f in hangs]:
        yield f"the verdicts are about {[rank for _, rank, *_ in found]}, not {[f.rank for f in hangs]}"


def hung(trial):
    """A hang that is not followed by a restart ends the step with 124, or a greater code of another task."""
    plan, hangs = trial.plan, [f for f in trial.faults() if isinstance(f, Hang) and f.is_hang()]
    if not hangs or not verdicts(trial) or not all(isinstance(f, Hang) for f in trial.faults()):
        return
    left = [left for *_, left, _ in restarts_of(trial)]
    final = not plan.restarts or re.search(r" ended at [0-9:]+, .*\bhung\b.*\. Not restarted",
                                           clusters.read(trial.output))
    if final and not (trial.code == HUNG or trial.code > HUNG and trial.code in plan.codes() | plan.planned_codes()):
        yield f"srun's exit code is {trial.code}, not {HUNG}"
    if not final and len(left) < len(verdicts(trial)):
        yield f"after {len(verdicts(trial))} hangs, so many restarts were reported: {len(left)}"


def restarts_of(trial):
    """Those after a hang. Of all tasks, if there are several."""
    line = restarts.ALL if len(restarts.members(trial.plan)) > 1 else restarts.ONE
    return [match.groups() for match in re.finditer(line, clusters.read(trial.output))
            if match[2].startswith("hung")]


RULES = [verdict, hung]
