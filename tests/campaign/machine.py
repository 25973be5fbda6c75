# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults of a host: a directory is full or read-only, memory is short."""
import glob
import os

import cluster
from fault import ANY_CODE, LAUNCH, PROGRAMS, UNNOTICED, Effect, Fault, codes


class Disk(Fault):
    """Base: a directory on one host is full or read-only, until the end of the step."""
    events = ("begin", "srun", "started")
    kinds = {"full": "size=4k", "without inodes": "nr_inodes=2", "read-only": "ro"}

    def __init__(self, rng, plan):
        super().__init__(rng, plan)
        self.kind = rng.choice(sorted(self.kinds))
        self.node = rng.choice([None, *range(plan.nodes)])
        self.host = None

    def directory(self, trial):
        raise NotImplementedError

    def inject(self, trial):
        self.host = "login" if self.node is None else trial.node(self.node)
        path = self.directory(trial)
        trial.cluster.on(self.host, "mount", "-t", "tmpfs", "-o",
                         "mode=1777," + self.kinds[self.kind], "none", path)
        if self.kind != "read-only":
            trial.cluster.on(self.host, "sh", "-c", f"head -c 1M /dev/zero > {path}/filler")
        return self.host

    def repair(self, trial):
        if self.host:
            trial.cluster.on(self.host, "umount", "-l", self.directory(trial))


class Tmp(Disk):
    def what(self):
        return f"/tmp is {self.kind}"

    def directory(self, _trial):
        return "/tmp"


class Logs(Disk):
    """A log file that cannot be made refuses the step; one that cannot be written does not."""

    @staticmethod
    def fits(plan):
        return plan.logs

    def what(self):
        return f"the log directory is {self.kind}"

    def directory(self, trial):
        return trial.logs

    def effect(self):
        return Effect(codes(1), r"spank_tf: .*--tf-log-dir: ", ends=codes("exit 1"),
                      loses_output=True)


GROUPS = "/sys/fs/cgroup/memory"


def group_name(worker):
    """The beginning of the names of a worker's cgroups."""
    return f"{GROUPS}/spank-tf-campaign-{worker}-"


def groups_of(worker):
    """Those that a worker which was killed has left."""
    return glob.glob(group_name(worker) + "*")


class Memory(Fault):
    """
    All processes of one kind get little more memory, and the kernel kills some of them. What that
    means is shown by the other faults; here a trial has to end, and leave nothing behind. srun has
    a child that ends the job when srun was killed; that one lives. In an allocation the step of an
    srun that was killed may stay, as with SrunSignal.
    """
    targets = {
        "srun": LAUNCH + PROGRAMS,
        "tf-rendezvous": ("rendezvous", "rank", "started"),
        "tf-rank": ("rank",),
        "tf-supervise": ("supervise",) + PROGRAMS,
        "slurmstepd": ("rank",) + PROGRAMS,
    }

    def __init__(self, rng, plan):
        self.target = rng.choice([t for t in self.targets
                                  if t != "tf-supervise" or plan.supervised()])
        self.events = self.targets[self.target]
        self.kib = rng.choice([0, 16, 64, 256, 1024, 4096])
        self.orphans = self.target == "slurmstepd"
        self.spoils_job = self.target in ("slurmstepd", "srun")
        self.group = None
        super().__init__(rng, plan)

    @staticmethod
    def fits(_plan):
        return os.path.isdir(GROUPS)

    def what(self):
        return f"{self.kib} KiB more memory for {self.target}"

    def inject(self, trial):
        if self.target == "slurmstepd":
            pids = [pid for pid, _, _ in trial.stepds()]
        elif self.target == "srun":
            pids = [trial.srun] if trial.srun else []
        else:
            pids = [p.pid for p in trial.processes if p.name == self.target]
        if not pids:
            return None
        self.group = f"{group_name(os.getpid())}{id(self)}"
        os.mkdir(self.group)
        # A limit of 0 would refuse every process.
        cluster.write(self.group + "/memory.limit_in_bytes", str(max(4096, self.kib * 1024)))
        for pid in pids:
            cluster.write(self.group + "/cgroup.procs", str(pid))
        return f"{len(pids)} processes"

    def repair(self, trial):
        if not self.group:
            return
        cluster.write(self.group + "/memory.limit_in_bytes", "-1")
        if not cluster.eventually(10, self.removed):
            trial.wrong.append(f"{self.group} cannot be removed")

    def removed(self):
        for pid in cluster.read(self.group + "/cgroup.procs").split():
            cluster.write(GROUPS + "/cgroup.procs", pid)
        return cluster.remove_directory(self.group)

    def effect(self):
        return Effect(ANY_CODE | {-9, 0}, also=".", ends=None, loses_output=True, seconds=90,
                      goes_on=UNNOTICED)
