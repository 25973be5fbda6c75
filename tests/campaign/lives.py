# SPDX-License-Identifier: GPL-2.0-or-later
"""
The lives of tasks that may be restarted: what a trial watches, and what must hold of it. The
rules do nothing in a trial without restarts.

When a life begins, life-check prints which lives were alive then: each has a lock, which lasts
until its last descendant is dead. A record has that, and when the kernel started its process.
"""
import contextlib
import ctypes
import datetime
import errno
import glob
import itertools
import os
import re
import socket
import time

import cluster as clusters
import faults
import restarts

PROGRAM = "life-check"
CLONE_NEWNET = 0x40000000
# The kernel notes the begin of a process in such units.
TICK_SECONDS = 1 / os.sysconf("SC_CLK_TCK")
# slurmstepd notes a signal that it has sent.
SIGNALLED = r"\[(\S+)\] \[[^]]+\] (?:\w+: )*Sent signal (\d+) to "
# A supervisor that has got one of these does not begin another life, for KillWait and 5 s (see
# _slurms_grace_ms () in signals.c).
ENDING = {"1", "2", "3", "9", "15"}
ENDING_SECONDS = 7
# A tf-supervise whose slurmstepd was killed notices it within this time.
ORPHAN_SECONDS = 0.5
# Failures that are reported so soon after the first one are one event (EVENT_MS in restarts.c).
EVENT_SECONDS = 2

libc = ctypes.CDLL(None, use_errno=True)


def begin_of(stat):
    """When a process began, from its /proc/PID/stat, as time.time(). It may be early by a tick."""
    if not stat:
        return None
    since_boot = int(stat[stat.rindex(")") + 2:].split()[19]) * TICK_SECONDS
    return since_boot + time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)


class Watch:
    """Watches during a trial: held ports are never free, and when srun has gone."""

    def __init__(self, cluster, plan):
        self.cluster = cluster
        self.active = bool(plan.restarts)
        self.ports = self.active and "--tf-hold=no" not in plan.options
        self.sockets = {}           # by rank: one that tries to bind the rank's port
        self.free = {}              # by rank: when it did, and the life that was known then
        self.had_srun, self.srun_ended = False, None
        self.log_sizes = {}         # by node

    def log_of(self, node):
        return f"{self.cluster.dir}/log/{node}/slurmd.log"

    def begin(self):
        for node in self.cluster.nodes:
            self.log_sizes[node] = os.path.getsize(self.log_of(node))

    def socket_on(self, node):
        with open("/proc/thread-self/ns/net", "rb") as own, \
                open(f"/proc/{self.cluster.keeper(node)}/ns/net", "rb") as other:
            if libc.setns(other.fileno(), CLONE_NEWNET) < 0:
                raise OSError(ctypes.get_errno(), "setns")
            try:
                return socket.socket()
            finally:
                libc.setns(own.fileno(), CLONE_NEWNET)

    def look(self, trial):
        if not self.active:
            return
        if self.had_srun and not trial.srun and not self.srun_ended:
            self.srun_ended = time.time()
        self.had_srun = self.had_srun or bool(trial.srun)
        for record in trial.records.values() if self.ports else ():
            if record.rank not in self.free:
                self.probe(record)

    def probe(self, record):
        """Try to take the port. Without SO_REUSEADDR that fails while it is held."""
        if record.rank not in self.sockets:
            self.sockets[record.rank] = self.socket_on(record.node)
        try:
            self.sockets[record.rank].bind(("", int(record.port)))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
        else:
            # Give it back at once. It may be free because its task has ended.
            self.sockets[record.rank].close()
            self.free[record.rank] = time.time(), record.life, clusters.stat_of(record.pid)

    def end(self):
        for one in self.sockets.values():
            one.close()

    def signals(self, node):
        """When Slurm's signals were sent to tasks on a node during the trial: (time, number)."""
        with open(self.log_of(node), encoding="utf-8", errors="replace") as f:
            f.seek(self.log_sizes[node])
            for at, number in re.findall(SIGNALLED, f.read()):
                yield datetime.datetime.fromisoformat(at).timestamp(), number


# What the trial's lives are

def is_disturbed(trial):
    """Has there been a fault that may change which tasks are restarted?"""
    return not all(fault.keeps_restarts for fault in trial.faults())


def by_rank(trial):
    """The lives of each rank, in the order in which they began."""
    found = {}
    for record in sorted(trial.lives.values(), key=lambda r: (r.begin or 0, r.life)):
        found.setdefault(record.rank, []).append(record)
    return found


def alive_at(trial, record):
    """The lives whose processes were alive when this one began."""
    names = {f"{r.rank}.{r.life}": r for r in trial.lives.values()}
    # One that was killed before it wrote its record is not known.
    return [names[name] for name in record.found.split() if name in names]


def generation(trial, record):
    """
    So many restarts of all had been before this life began: a task whose failure concerns all has
    one life for each of them; another one has met those. None if it has met none.
    """
    if not restarts.is_alone(trial.plan, record.rank):
        return record.life
    met = [r.life for r in alive_at(trial, record) if not restarts.is_alone(trial.plan, r.rank)]
    return max(met, default=None)


def announced(trial):
    """
    Of every restart that was printed: [(the ranks, are there more, how they ended, seconds, left, by
    which line)].
    """
    text = clusters.read(trial.output)
    found = [(match.start(), *match.groups(), line)
             for line in (restarts.ONE, restarts.ALL)
             for match in re.finditer(line, text)]
    return [([int(rank) for rank in re.findall(r"rank (\d+)", ranks)], ranks.endswith(" more"),
             how.split(", "), int(pause), int(left), line)
            for _, ranks, how, pause, left, line in sorted(found)]


# The rules

def one_life(trial):
    """A life begins when every process of its task's former life is dead."""
    for record in trial.lives.values() if trial.plan.restarts else ():
        for other in record.found.split():
            rank, life = map(int, other.split("."))
            if rank == record.rank:
                yield f"when {record} began, a process of life {life} was alive"


def numbers(trial):
    """The lives of a task are 0, 1, 2, ..., each once, and there are at most N restarts."""
    plan = trial.plan
    for rank, records in by_rank(trial).items() if plan.restarts else ():
        lives = [record.life for record in records]
        if lives != sorted(set(lives)) or lives[-1] > plan.restarts:
            yield f"the lives of rank {rank} are {lives}"


def reported(trial):
    """
    srun reports each restart: failures that are worth a try, of single tasks or of all as the roles
    say, and how many are left. No task is restarted without that.
    """
    plan, lines = trial.plan, announced(trial)
    if not plan.restarts:
        return
    lost = any(fault.effect().loses_output for fault in trial.faults())
    for ranks, more, hows, pause, left, line in lines:
        if pause != restarts.LONGEST_PAUSE:
            yield f"ranks {ranks} are restarted after {pause} s"
        # Those before the last one have failed alone.
        last_alone = not more and hows[-1] != "hung" and restarts.is_alone(plan, ranks[-1])
        if line == restarts.ALL and (last_alone or not set(ranks) <= restarts.members(plan)):
            yield f"ranks {ranks} have failed, and all start again"
        if line == restarts.ONE and not all(restarts.is_alone(plan, rank) for rank in ranks):
            yield f"ranks {ranks} have failed, and they alone start again"
        for how in hows:
            if not restarts.is_worth_a_try(plan, how):
                yield f"ranks {ranks} are restarted after {how}"
    # Tasks that fail in the second after the first line of their event have one of their own.
    lefts = [left for left, _ in itertools.groupby(left for *_, left, _ in lines)]
    expected = list(range(plan.restarts))[::-1]
    # A restart that has become impossible was used, and has no such line.
    if lefts != expected[:len(lefts)] and not (is_disturbed(trial) and set(lefts) <= set(expected)
                                               and lefts == sorted(set(lefts), reverse=True)):
        yield f"of {plan.restarts} restarts are left, one after the other: {lefts}"
    for rank, record in trial.records.items():
        times = sum(rank in ranks or (line == restarts.ALL and rank in restarts.members(plan))
                    for ranks, *_, line in lines)
        # A line names eight tasks.
        may = times + sum(more and rank not in ranks for ranks, more, *_ in lines)
        if record.life > may and not lost:
            yield f"{record} began, and {may} restarts of this rank were reported"
        # A failure that is final may end the job before a restart.
        if record.life < times and trial.code == 0 and not is_disturbed(trial):
            yield f"{times} restarts of rank {rank} were reported, its last life is {record.life}"
    if not is_disturbed(trial):
        for line in re.findall(rf".*{restarts.DISTURBED}.*", clusters.read(trial.output)):
            yield f"this is not true: {line}"


def events_at_most(trial):
    """
    So many events the trial's failures can have been, by the time that has passed from the order to
    fail until the campaign saw the end. One of the two seconds is for the report.
    """
    count, begin, failed = 0, None, set()
    again = [at for (event, _), at in trial.events.items() if event == "again"]
    for at, rank, life in sorted(trial.failures):
        end = trial.deaths.get((rank, life))
        if begin is None or rank in failed or not end or end - begin > EVENT_SECONDS / 2 \
                or any(begin < restarted < end for restarted in again):
            count, begin, failed = count + 1, at, set()
        failed.add(rank)
    return count


def one_event(trial):
    """A restart covers all failures until a task has restarted. Within two seconds they share a line."""
    plan, lines = trial.plan, announced(trial)
    if not plan.restarts or trial.early \
            or not all(f.keeps_restarts or f.notes_failures for f in trial.faults()):
        return
    most = events_at_most(trial)
    used = len({left for *_, left, _ in lines})
    if used > most:
        yield f"failures at {most} different times have used up {used} restarts"
    for name, kind in (("of single tasks", restarts.ONE), ("of all", restarts.ALL)):
        number = sum(line == kind for *_, line in lines)
        if number > most:
            yield f"failures at {most} different times have {number} lines about restarts {name}"
    if most <= plan.restarts and re.search(restarts.NONE_LEFT, clusters.read(trial.output)):
        yield f"failures at {most} different times have used up {plan.restarts} restarts"


def barrier(trial):
    """After a restart of all, no life begins before every task has ended."""
    for record in trial.lives.values() if trial.plan.restarts else ():
        if record.rank not in restarts.members(trial.plan):
            continue
        own = generation(trial, record)
        for other in alive_at(trial, record):
            its = generation(trial, other)
            if other.rank in restarts.members(trial.plan) and None not in (own, its) \
                    and own != its:
                yield f"when {record} began, {other} was alive (restarts of all: {own} and {its})"


def port(trial):
    """A held port is never free between two lives, and every life can listen on it."""
    for record in trial.lives.values() if trial.watch.ports else ():
        if record.port_error:
            yield f"{record} cannot use port {record.port}: {record.port_error}"
        at, life, process = trial.watch.free.get(record.rank, (None, None, None))
        if at and record.life > life:
            yield f"port {record.port} was free after life {life}, before {record} began"
        if at and record.life == life and process:
            yield f"port {record.port} was free during {record}"


def orphans(trial, fault):
    """
    Lives that began when their slurmstepd was dead. Such a program dies when it prints, so it may have no
    record; but its lock exists.
    """
    ranks = {record.rank for record in trial.lives.values() if record.node == fault.node}
    for path in glob.glob(trial.dir + "/alive.*"):
        rank, life = map(int, path.split(".")[-2:])
        late = os.path.getmtime(path) - fault.at
        if rank in ranks and late > ORPHAN_SECONDS:
            yield f"life {life} of rank {rank} began {late:.3f} s after its slurmstepd was killed"


def ended(trial):
    """
    No life begins when srun has ended, after Slurm has told the tasks of its node to end, or when its
    slurmstepd was killed.
    """
    if not trial.plan.restarts:
        return
    for fault in trial.faults():
        if isinstance(fault, faults.StepdSignal) and fault.node:
            yield from orphans(trial, fault)
    told = {}
    for node in {record.node for record in trial.lives.values()}:
        told[node] = [at for at, number in trial.watch.signals(node) if number in ENDING]
    for record in trial.lives.values():
        if not record.life:
            continue
        begin = record.begin - TICK_SECONDS
        if trial.watch.srun_ended and begin > trial.watch.srun_ended:
            yield f"{record} began {begin - trial.watch.srun_ended:.3f} s after the end of srun"
        for at in told[record.node]:
            if at + TICK_SECONDS < begin < at + ENDING_SECONDS:
                yield f"{record} began {begin - at:.3f} s after its step was told to end"


RULES = [one_life, numbers, reported, one_event, barrier, port, ended]
