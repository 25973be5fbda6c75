# SPDX-License-Identifier: GPL-2.0-or-later
"""
The plan of a trial: what is launched, how its programs behave, and which faults are injected when.
Everything random comes from the trial's seed, so the same seed makes the same plan.
"""
import random
import shlex
from dataclasses import dataclass, field
from typing import NamedTuple

import beside
import fault
import faults
import hangs
import network
import nodes
import prologs
import restarts

NODES = 4
ROLES = ("chief", "ps", "worker", "evaluator")
# Seconds; the site's arguments and the options of every step. After a failure without a ps the others end as
# planned.
STOP_GRACE, EVAL_GRACE, FAIL_GRACE = 1, 1, 600
TIMEOUT = 8
SITE_ARGUMENTS = (f"rendezvous_ports={network.LOW}-{network.HIGH} stop_grace={STOP_GRACE} "
                  f"eval_grace={EVAL_GRACE} fail_grace={FAIL_GRACE} restart_backoff={restarts.LONGEST_PAUSE} "
                  f"lost_after={nodes.LOST_AFTER}")


class Component(NamedTuple):
    """One component of a step, or the whole of it: srun's options, and how many tasks it has."""
    options: tuple
    tasks: int


class Release(NamedTuple):
    """A program's last command, sent so many milliseconds after the one before."""
    rank: int
    command: str
    pause_ms: int


@dataclass
class Plan:
    seed: int
    proctrack: str
    way: str = "srun"           # srun, step (in an allocation), sbatch, het (components)
    nodes: int = 1
    components: list = field(default_factory=list)
    roles: list = field(default_factory=list)       # by rank
    lists: list = field(default_factory=list)       # the option with the list, by component
    options: list = field(default_factory=list)     # further options of the plugin
    stop: str = "auto"
    manners: list = field(default_factory=list)     # what the programs do first, by rank
    releases: list = field(default_factory=list)
    restarts: int = 0           # --tf-restart, and whether with `any`
    any_failure: bool = False
    failures: list = field(default_factory=list)    # before the releases; restarts.Failure
    prologs: list = field(default_factory=list)     # seconds that TaskProlog takes, by rank
    no_kill: bool = False       # nodes may be lost, and some of the roles are spare
    watch: str = ""             # --tf-watchdog, and the activity: messages, logs
    logs: bool = False          # --tf-log-dir
    inherits: bool = False      # the script's srun inherits the options of sbatch
    early: bool = False         # the programs find their last command when they start
    hold: int = None            # the slurmd of this node is stopped until the first fault
    faults: list = field(default_factory=list)

    @property
    def tasks(self):
        return len(self.roles)

    def supervised(self):
        return bool(self.conditions() or self.logs or self.restarts or self.watch) or "--tf-show" in self.options or (
            self.tasks > 1 and self.stop != "never")

    def ranks(self, *roles):
        return {rank for rank, role in enumerate(self.roles) if role in roles}

    # How the job ends if no fault disturbs it

    def conditions(self):
        """
        The job is over when all ranks of one of these sets have ended; then the others are
        stopped. Empty if none is ever stopped. See util/job/duties.h.
        """
        chief, workers = self.ranks("chief"), self.ranks("worker")
        if self.stop == "never":
            return []
        if self.stop == "chief":
            first = chief or set(sorted(workers)[:1])
            return [first] if first else []
        if self.stop == "workers":
            return [workers | chief]
        if self.ranks("ps"):
            return [chief or workers]
        apart = self.ranks("evaluator", "spare") | beside.ranks(self)
        return [set(range(self.tasks)) - apart] if apart else []

    def codes(self):
        """The exit codes that srun may have if no fault disturbs the step."""
        over = list(self.conditions())
        ends = self.last_ends()
        if over and self.stop == "auto":
            over += [{rank} for rank in self.ranks("ps") if ends.get(rank, {(0, 0)}) != {(0, 0)}]
        certain = set.intersection(*over) if over else set(ends)
        lowest = max((min(ends[rank]) for rank in certain), default=(0, 0))
        if self.stop == "auto" and not self.ranks("ps"):
            # The others' codes are not greater than that of the task that fails first, whichever it is.
            lowest = min([lowest, *(end for some in ends.values() for end in some if end != (0, 0))])
        return {code_of(max(lowest, end)) for some in ends.values() for end in some} | (
            {code_of(lowest)} if over else set())

    def last_ends(self):
        """By rank: how its last life may end, if it is not stopped."""
        ends = {release.rank: {end_of(release.command)} for release in self.releases}
        # A task that fails whenever it is told to end uses up all restarts.
        again = [end_of(r.command) for r in self.releases for _ in range(self.restarts + 1)]
        every = [end_of(f.command) for f in self.failures] + again * bool(self.restarts)
        for failure in self.failures:
            end = end_of(failure.command)
            if restarts.may_be_final(self, end, every):
                ends.setdefault(failure.rank, {(0, 0)}).add(end)
        return ends

    def planned_codes(self):
        """The exit codes of the single programs, as srun would report each."""
        return {code_of(end_of(release.command)) for release in [*self.releases, *self.failures]}

    def ends(self, rank):
        """How a rank may end, in the words of the plugin's table."""
        found = {"stopped"} if self.conditions() else set()
        for release in [*self.releases, *self.failures]:
            if release.rank == rank:
                by_signal, number = end_of(release.command)
                found.add(f"signal {number}" if by_signal else f"exit {number}")
        return found

    # For the reader

    def describe(self):
        shape = " : ".join(" ".join([*component.options, option])
                           for component, option in zip(self.components, self.lists))
        words = [self.way + " that inherits" * self.inherits, shape, *self.options]
        words += ["--tf-log-dir"] * self.logs + ["--task-prolog"] * bool(self.prologs)
        return " ".join(words) + "; " + (", ".join(str(f) for f in self.faults) or "no fault")

    def details(self):
        lines = [f"proctrack/{self.proctrack}, {self.describe()}"]
        if self.hold is not None:
            lines.append(f"slurmd of node {self.hold + 1} is stopped until the first fault")
        for rank, (role, manner) in enumerate(zip(self.roles, self.manners)):
            last = [r.command for r in self.releases if r.rank == rank]
            lines.append(f"rank {rank} {role}: {manner}; {', '.join(last) or 'serves for ever'}")
        if self.failures or self.restarts:
            failures = ", ".join(map(str, self.failures)) or "none"
            lines.append(f"failures before the end: {failures}")
        if self.prologs:
            lines.append(f"TaskProlog takes {', '.join(f'{s:.2f}' for s in self.prologs)} s")
        told = ", ".join(f"rank {r.rank} after {r.pause_ms} ms" for r in self.releases)
        lines.append(f"told to end{' before they start' if self.early else ''}: {told}")
        lines.append(f"without a fault srun exits with {sorted(self.codes())}")
        return lines


# Commands of programs: how they end, as (by a signal, number), the greater one decides

SIGNALS = {"KILL": 9, "SEGV": 11, "TERM": 15, "USR1": 10}


def end_of(command):
    words = command.split()
    return (0, int(words[1])) if words[0] == "exit" else (1, SIGNALS[words[1][1:]])


def code_of(end):
    by_signal, number = end
    return 128 + number if by_signal else number


# Choosing

def compress(roles, rng):
    """A list in the plugin's grammar for these roles, in one of several spellings."""
    items = []
    for role in roles:
        if items and items[-1][0] == role and rng.random() < 0.9:
            items[-1][1] += 1
        else:
            items.append([role, 1])
    rest = rng.randrange(len(items)) if rng.random() < 0.3 else None
    return ",".join(f"{role}:rest" if i == rest else role if count == 1 else f"{role}:{count}"
                    for i, (role, count) in enumerate(items))


def choose_roles(rng, tasks):
    roles = []
    if tasks > 1 and rng.random() < 0.4:
        roles.append("chief")
    if tasks - len(roles) > 1 and rng.random() < 0.15:
        roles.append("evaluator")
    # A ps needs a worker.
    most = tasks - len(roles) - 1
    if most > 0 and rng.random() < 0.8:
        roles += ["ps"] * rng.randint(1, max(1, most // 2))
    roles += ["worker"] * (tasks - len(roles))
    if rng.random() < 0.7:
        roles.sort(key=ROLES.index)
    else:
        rng.shuffle(roles)
    return roles


def choose_component(rng, nodes):
    tasks = rng.randint(nodes, 4 * nodes) if rng.random() < 0.4 else nodes * rng.randint(1, 4)
    options = [f"-N{nodes}", f"-n{tasks}"]
    distribution = rng.choice([None, None, "block", "cyclic", "cyclic", "plane=2"])
    if distribution:
        options += ["-m", distribution]
    return Component(tuple(options), tasks)


def choose_layout(rng, plan):
    plan.way = rng.choices(["srun", "step", "sbatch", "het"], [3, 4, 2, 1])[0]
    if plan.way == "het":
        sizes = rng.choice([(1, 1), (1, 2), (2, 1), (1, 3), (2, 2), (1, 1, 2)])
        plan.components = [choose_component(rng, size) for size in sizes]
        plan.nodes = sum(sizes)
    else:
        plan.nodes = rng.choice([1, 2, 2, 3, 3, 4, 4])
        plan.components = [choose_component(rng, plan.nodes)]
    plan.roles = choose_roles(rng, sum(c.tasks for c in plan.components))
    write_lists(rng, plan)
    if plan.way != "het" and plan.tasks % plan.nodes == 0 and rng.random() < 0.15:
        choose_per_node(rng, plan)


def write_lists(rng, plan):
    plan.lists, first = [], 0
    for component in plan.components:
        part = plan.roles[first:first + component.tasks]
        plan.lists.append("--tf-tasks=" + compress(part, rng))
        first += component.tasks


def choose_per_node(rng, plan):
    """The same roles on each node, which has every N-th rank, or N in a row."""
    each = plan.tasks // plan.nodes
    roles = [role for role in choose_roles(rng, each) if role in ("ps", "worker")]
    roles += ["worker"] * (each - len(roles))
    cyclic = rng.random() < 0.5
    plan.roles = [roles[rank // plan.nodes if cyclic else rank % each]
                  for rank in range(plan.tasks)]
    plan.lists = ["--tf-tasks-per-node=" + compress(roles, rng)]
    plan.components = [Component((f"-N{plan.nodes}", f"--ntasks-per-node={each}", "-m",
                                  "cyclic" if cyclic else "block"), plan.tasks)]


def choose_options(rng, plan):
    if rng.random() < 0.3:
        plan.stop = rng.choice(["chief", "workers", "never"])
        # A chief's policy needs a chief or a worker, the workers' policy a worker.
        if not plan.ranks("worker") and not (plan.stop == "chief" and plan.ranks("chief")):
            plan.stop = "never"
        plan.options.append(f"--tf-stop={plan.stop}")
    if rng.random() < 0.4:
        plan.options.append("--tf-show")
    if rng.random() < 0.2:
        plan.logs = True
    if rng.random() < 0.1:
        plan.options.append("--tf-hold=no")
    plan.inherits = plan.way == "sbatch" and rng.random() < 0.5


# What a program does when it starts. Its children do not keep the task's output open.
PLAIN = ":"
CHILD = "sleep"
TRAPS = ["trap '' TERM", "trap 'exit 0' TERM", "trap 'exit 5' TERM"]
CHILDREN = ["sleep 7777 > /dev/null 2>&1 &",
            "(sleep 7777 > /dev/null 2>&1 &)",
            "setsid sh -c 'trap \"\" TERM; exec sleep 7777' > /dev/null 2>&1 &"]
LAST = ["exit 0"] * 6 + ["exit 3", "exit 1", "kill -SEGV $$", "kill -KILL $$"]


def choose_programs(rng, plan):
    children = plan.proctrack == "cgroup" and plan.supervised()
    for _ in range(plan.tasks):
        manner = [rng.choice(TRAPS)] if rng.random() < 0.25 else []
        if children and rng.random() < 0.3:
            manner.append(rng.choice(CHILDREN))
        plan.manners.append("; ".join(manner).replace("&;", "&") or PLAIN)
    over = plan.conditions()
    needed = set().union(*over) if over else set(range(plan.tasks))
    released = sorted(needed) + [rank for rank in range(plan.tasks)
                                 if rank not in needed and rng.random() < 0.2]
    rng.shuffle(released)
    for rank in released:
        pause = rng.choice([0, 0, rng.randint(1, 100)])
        plan.releases.append(Release(rank, rng.choice(LAST), pause))
    plan.early = rng.random() < 0.15


def make(seed, proctrack, only=None, with_restarts=None, with_beside=None, with_prolog=None, with_watch=None,
         with_nodes=None):
    rng = random.Random(seed)
    plan = Plan(seed, proctrack)
    choose_layout(rng, plan)
    if with_nodes and with_watch:
        # Never both in one trial.
        with_nodes, with_watch = seed % 4 < 2, seed % 4 >= 2
    nodes_rng = nodes.choose(plan, with_nodes)
    beside_rng = beside.choose(plan, with_beside) if not nodes_rng else None
    if beside_rng:
        write_lists(beside_rng, plan)
    choose_options(rng, plan)
    hangs_rng = hangs.choose(plan, with_watch) if not nodes_rng else None
    restarts_rng = restarts.choose(plan, True if plan.ranks("spare") else with_restarts)
    choose_programs(rng, plan)
    prologs.choose(plan, with_prolog)
    if restarts_rng:
        restarts.choose_failures(restarts_rng, plan)
    if beside_rng:
        beside.choose_ends(beside_rng, plan)
    plan.faults = faults.choose(rng, plan, only)
    if restarts_rng:
        restarts.move_faults(restarts_rng, plan)
    if hangs_rng and not only:
        hangs.choose_faults(hangs_rng, plan)
    if nodes_rng:
        nodes.choose_faults(nodes_rng, plan)
    else:
        choose_hold(rng, plan)
    return plan


def choose_hold(rng, plan):
    """While a slurmd is stopped its tasks do not start: a fault must not wait for them."""
    launch = [f for f in plan.faults if f.moment.event in fault.LAUNCH]
    ranks = [f for f in launch if f.moment.event == "rank"]
    # The script of a batch job runs on the first node.
    first = 1 if plan.way == "sbatch" else 0
    if not launch or plan.nodes <= first or (ranks and plan.nodes == 1) or rng.random() < 0.4:
        return
    plan.hold = rng.randrange(first, plan.nodes)
    for one in ranks:
        one.moment = one.moment._replace(count=1)


# Command lines

def no_kill(plan):
    return ["--no-kill"] * plan.no_kill


def allocation(plan):
    """Options for a job in which the step has this layout."""
    options = [*no_kill(plan), *plan.components[0].options]
    return options[:options.index("-m")] if "-m" in options else options


def plugin_options(plan, logs):
    return [*plan.options, f"--tf-timeout={TIMEOUT}", *[f"--tf-log-dir={logs}"] * plan.logs]


def words(plan, program, logs, directory):
    """The words of the srun command, without `srun`; its files are in this directory."""
    result = []
    for component, option in zip(plan.components, plan.lists):
        options = [] if plan.inherits else [option, *plugin_options(plan, logs)]
        result += [":"] if result else []
        result += [*no_kill(plan), *component.options, *options, *prologs.options(plan, directory), *program]
    return result


def script(arguments, directory, stderr):
    """A batch script that runs the step and notes srun's exit code. stderr: a path, or None."""
    to = f" 2> {stderr}" if stderr else ""
    return f"#!/bin/sh\nsrun {shlex.join(arguments)}{to}\necho $? > {directory}/status\n"


def sbatch(plan, output, path, logs):
    options = [*plan.lists, *plugin_options(plan, logs)] if plan.inherits else []
    return ["sbatch", "--parsable", *allocation(plan), "-o", output, "--open-mode=append", *options,
            path]
