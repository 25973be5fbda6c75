# SPDX-License-Identifier: GPL-2.0-or-later
"""
Trials with srun's --no-kill: nodes die, are cut off, or lose their slurmd, in steps with spare tasks and without.
Nothing else is done to them: their programs end with 0 when they are told.

Their choices have a generator of their own, so that the other trials do not depend on them.
"""
import json
import random
import re
import time
from signal import SIGCONT, SIGKILL, SIGSTOP

import cluster as clusters
import lives
from fault import ANY_CODE, Effect, Fault, Moment

# So many of a hundred trials have --no-kill.
PERCENT = 3
# lost_after= of the site; and when a lost task is replaced at last, on a busy machine.
LOST_AFTER, LOST_SECONDS = 5, 25
# After the death of a node, lives may still begin that were about to.
BEGIN_SECONDS = 3
# Until Slurm has cleaned up a node that is back.
LEFT_SECONDS = 60

REPLACED = r"spank_tf: step \d+\.\d+: (.*), and replaced: (.*)\. (.*) \(restarts left without progress: (\d+)\)$"


# The plan

def choose(plan, wanted):
    """wanted: True, False, or None for by chance."""
    rng = random.Random(f"nodes {plan.seed}")
    chosen = rng.randrange(100) < PERCENT
    if not (chosen if wanted is None else wanted):
        return None
    if plan.way == "sbatch":
        plan.way = rng.choice(["srun", "step"])     # the script's own node would die, too
    if plan.way == "het" or plan.nodes < 2 or plan.lists[0].startswith("--tf-tasks-per-node"):
        return None
    plan.no_kill = True
    plan.roles = ["worker" if role == "evaluator" else role for role in plan.roles]
    workers = sorted(plan.ranks("worker"))
    if len(workers) > 1 and rng.random() < 0.75:
        most = min(3, len(workers) - 1, plan.tasks // 2)
        for rank in rng.choice([workers[::-1], rng.sample(workers, len(workers))])[:rng.randint(1, most)]:
            plan.roles[rank] = "spare"
    plan.lists = ["--tf-tasks=" + ",".join(plan.roles)]
    return rng


def choose_faults(rng, plan):
    """Call this when the programs are chosen."""
    plan.early, plan.prologs, plan.failures, plan.hold = False, [], [], None
    plan.releases = [r._replace(command="exit 0") for r in plan.releases if plan.roles[r.rank] != "spare"]
    # Its table has the spares' nodes.
    plan.options += [] if "--tf-show" in plan.options else ["--tf-show"]
    plan.faults = [Node(rng, plan)]
    if plan.restarts and rng.random() < 0.25:
        second = Node(rng, plan)
        second.node = rng.choice([n for n in range(plan.nodes) if n != plan.faults[0].node])
        if rng.random() < 0.5:
            second.moment = Moment("again", 1, rng.randint(0, 2000))
        plan.faults.append(second)


def programs(plan):
    """So many run at a time."""
    return plan.tasks - len(plan.ranks("spare"))


# The fault

class Node(Fault):
    """
    A node dies: its link is down, and its processes are dead; or it is cut off; or its slurmd is killed. It is back
    after a while. Slurm gives up one that died when it is back at the latest. A task that no spare replaces is
    lost after five minutes: then the step is cancelled.
    """

    def __init__(self, rng, plan):
        self.plan, self.node = plan, rng.randrange(plan.nodes)
        self.kind = rng.choice(["dies", "dies", "is cut off", "loses its slurmd"])
        self.is_short = self.kind == "is cut off" and rng.random() < 0.5
        self.lasts_ms = rng.randint(200, 2500) if self.is_short else rng.randint(14000, 24000)
        self.name = self.slurmd = self.at = None
        self.told = 0               # so many replacements had been printed
        # Its job has a node less.
        self.spoils_job = self.kind == "dies"
        self.in_time = rng.random() < 0.75
        super().__init__(rng, plan)
        if self.in_time:
            self.moment = Moment("started", programs(plan), rng.randint(0, 1500))

    @staticmethod
    def fits(plan):
        return plan.no_kill

    def what(self):
        return f"node {self.node + 1} {self.kind}"

    def link(self, trial, state):
        trial.cluster.on(self.name, "ip", "link", "set", "eth0", state)

    def kill(self, trial):
        """All processes there, but those that keep the host and its slurmd."""
        spared = {trial.cluster.keeper(self.name), self.slurmd}

        # One may make another process before its turn comes.
        def none_is_left():
            left = [pid for pid in trial.cluster.pids_on(self.name) if pid not in spared and clusters.stat_of(pid)]
            for pid in left:
                clusters.send(pid, SIGKILL)
            return not left

        clusters.eventually(5, none_is_left)

    def inject(self, trial):
        self.name, self.told = trial.node(self.node), len(replacements(trial))
        daemon = trial.cluster.slurmd(self.name)
        if not daemon:
            return None
        self.slurmd, self.at = daemon.pid, time.time()
        if self.kind == "loses its slurmd":
            clusters.send(self.slurmd, SIGKILL)
            return self.name
        self.link(trial, "down")
        if self.kind == "dies":
            clusters.send(self.slurmd, SIGSTOP)
            self.kill(trial)
        return self.name

    def repair(self, trial):
        if self.kind == "loses its slurmd":
            clusters.eventually(20, lambda: not trial.cluster.slurmd(self.name))
            trial.cluster.start_slurmd(self.name)
            return
        if self.kind == "dies":
            trial.cluster.root("scontrol", "update", f"nodename={self.name}", "state=down", "reason=dead")
        self.link(trial, "up")
        if self.kind == "dies":
            clusters.send(self.slurmd, SIGCONT)
            trial.cluster.root("scontrol", "update", f"nodename={self.name}", "state=resume")

    def effect(self):
        return Effect(ANY_CODE | {0}, also=".", ends=None, loses_output=True,
                      seconds=2 * LOST_SECONDS + self.lasts_ms / 1000 + 30, goes_on=LOST_SECONDS + 5)


# The trial

def place(plan, rank):
    role = plan.roles[rank]
    return role, str(plan.roles[:rank].count(role))


def present(trial, rank):
    """The newest life in the place of a rank, or None."""
    if not trial.plan.ranks("spare"):
        return trial.records.get(rank)
    own = [r for r in trial.records.values() if (r.role, r.index) == place(trial.plan, rank)]
    return max(own, key=lambda r: r.life, default=None)


def is_pending(trial):
    """A node was lost, and it is not known yet; or its tasks are replaced, and all have not begun again."""
    spares = bool(trial.plan.ranks("spare"))
    for fault, injection in trial.injected.items():
        if isinstance(fault, Node) and injection.text:
            # A short loss changes nothing; without spares, others do not wait either.
            waits = spares and not fault.is_short and fault.kind != "loses its slurmd"
            most = LOST_SECONDS if waits else min(5, fault.lasts_ms / 1000 + 2)
            again = waits and len(replacements(trial)) > fault.told and trial.all_run()
            if time.monotonic() - injection.at < most and not again:
                return True
    return False


# The rules

def cluster_of(record):
    return json.loads(record.config)["cluster"]


def replacements(trial):
    """(because, who, what then, restarts left) of each that srun has printed."""
    return [match.groups() for match in re.finditer(REPLACED, clusters.read(trial.output), re.M)]


def two_places(trial):
    """A life begins when no other rank is alive in its place."""
    for record in trial.lives.values() if trial.plan.ranks("spare") else ():
        for other in lives.alive_at(trial, record):
            if other.rank != record.rank and (other.role, other.index) == (record.role, record.index):
                yield f"when {record} began as {record.role} {record.index}, {other} was alive as that"


def dead_address(trial):
    """
    Lives that are alive at the same time have the same dictionary, and none that begins after the death of a node
    has an address there.
    """
    for record in trial.lives.values() if trial.plan.no_kill else ():
        text = json.dumps(cluster_of(record))
        for other in lives.alive_at(trial, record) if trial.plan.restarts else ():
            if cluster_of(other) != cluster_of(record):
                yield f"{record} and {other} have different dictionaries: {text}, {other.config}"
        for fault in trial.faults():
            if isinstance(fault, Node) and fault.kind == "dies" and record.begin \
                    and record.begin > fault.at + BEGIN_SECONDS \
                    and f'"{trial.cluster.address[fault.name]}:' in text:
                yield f"{record} began {record.begin - fault.at:.1f} s after the death of {fault.name}: {text}"


def replaced(trial):
    """
    A lost task is replaced if there is a spare on another node, which uses one restart; without a loss, or a spare,
    none is.
    """
    plan, found = trial.plan, replacements(trial)
    lefts = [int(left) for *_, left in found]
    if lefts != sorted(lefts, reverse=True) or any(left >= plan.restarts for left in lefts):
        yield f"of {plan.restarts} restarts are left: {lefts}"
    nodes = [fault for fault in trial.faults() if isinstance(fault, Node)]
    if found and (not plan.ranks("spare") or all(f.is_short or f.kind == "loses its slurmd" for f in nodes)):
        yield f"a task is replaced: {found}"
    if len(trial.plan.faults) != 1 or not nodes or nodes[0].kind != "dies" or not nodes[0].in_time:
        return
    rows = re.findall(r"^ +(\d+)  (\w+) \d+ +(\S+) +\d+\.", clusters.read(trial.output), re.M)
    table = rows[:plan.tasks]           # that of the start; another one follows a replacement
    lost = [rank for rank, role, node in table if node == nodes[0].name and role != "spare"]
    free = [rank for rank, role, node in table if node != nodes[0].name and role == "spare"]
    if lost and len(lost) <= len(free) and not found:
        yield f"ranks {lost} are not replaced, although these are free: {free}"
    elif lost and len(lost) <= len(free) and trial.cancelled:
        yield f"the step does not end, although ranks {lost} are replaced"


RULES = [two_places, dead_address, replaced]
