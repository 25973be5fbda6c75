# SPDX-License-Identifier: GPL-2.0-or-later
"""
One trial: launch the step of a plan, inject the faults at their moments, send the programs their
last commands, and wait until srun has ended.
"""
import glob
import os
import re
import shutil
import signal
import time
from typing import NamedTuple

import cluster as clusters
import fault as fault_base
import faults
import plan as plans

HERE = os.path.dirname(os.path.realpath(__file__))
# These run as the user, who may not be able to read this directory.
PROGRAMS = ("program", "strangers")

TICK = 0.006
# A step ends within this time after its launch if no fault is in the way.
STEP_SECONDS = 15
# After scancel: KillWait, and what Slurm adds.
CANCEL_SECONDS = 15
# When nothing has happened for so long, an event that a fault waits for does not come any more,
# and programs that have not started do not start.
QUIET_SECONDS = 2


class Record:
    """What a program has recorded when it started."""

    def __init__(self, rank, text):
        self.rank = rank
        (self.config, self.role, self.index, self.address, self.port, self.node, self.task_pid,
         self.pid) = text.split("\n")[:8]


class Injection(NamedTuple):
    at: float
    text: str           # to what it was done; None: there was nothing


class Trial:
    def __init__(self, cluster, plan):
        self.cluster, self.plan = cluster, plan
        self.dir = cluster.work + "/trial"
        self.logs, self.output = self.dir + "/logs", self.dir + "/output"
        self.begin = self.last_event = self.last_release = time.monotonic()
        self.job = None             # the allocation in which the step runs, if the plan has one
        self.child = None           # srun, or sbatch
        self.srun = None            # its process id, while it runs
        self.code = None            # srun's exit code; negative: it was killed by this signal
        self.processes = []         # the user's, at the last look
        self.records = {}           # by rank
        self.seen = {}              # by event: the process ids that it counts
        self.events = {("begin", 1): 0}         # (event, count): when
        self.pipes = []             # by rank: where its command is written
        self.held = None            # the process id of the slurmd that is stopped
        self.releasing, self.released = plan.early, 0
        self.early = plan.early     # a program was told to end before all of them ran
        self.injected = {}          # by fault: Injection
        self.repaired = set()
        self.cancelled = False      # by the campaign, because the step did not end by itself
        self.wrong = []             # found during the trial
        self.log = []               # for the details
        self.state = ""             # the processes when the step was cancelled

    def note(self, text):
        self.log.append(f"{time.monotonic() - self.begin:7.3f} s  {text}")

    # Preparations

    def prepare(self):
        shutil.rmtree(self.dir, ignore_errors=True)
        self.own(self.dir, os.mkdir)
        for name in PROGRAMS:
            shutil.copy(f"{HERE}/{name}", self.dir)
        if self.plan.logs:
            self.own(self.logs, os.mkdir)
        self.own(self.output, lambda path: clusters.write(path, ""))
        for rank, manner in enumerate(self.plan.manners):
            clusters.write(f"{self.dir}/manner.{rank}", manner + "\n")
            path = f"{self.dir}/command.{rank}"
            self.own(path, os.mkfifo)
            # Both ends: a write does not wait for the program.
            self.pipes.append(os.open(path, os.O_RDWR | os.O_CLOEXEC))
        if self.plan.way == "step":
            self.allocate()
        if self.plan.hold is not None:
            self.hold()

    def own(self, path, make):
        """Make something that belongs to the user."""
        make(path)
        os.chown(path, self.cluster.user.pw_uid, -1)

    def allocate(self):
        code, _, error = self.cluster.run("salloc", "--no-shell", *plans.allocation(self.plan))
        granted = re.search(r"Granted job allocation (\d+)", error)
        if code or not granted:
            raise RuntimeError(f"salloc fails: {error}")
        self.job = granted[1]

    def hold(self):
        """Stop a slurmd, so that the launch stays incomplete."""
        self.held = self.cluster.slurmd(self.node(self.plan.hold)).pid
        clusters.send(self.held, signal.SIGSTOP)
        self.note("a slurmd is stopped")

    def end_hold(self):
        if self.held:
            clusters.send(self.held, signal.SIGCONT)
            self.note("that slurmd is continued")
        self.held = None

    # The step

    def launch(self):
        words = plans.words(self.plan, [self.dir + "/program", self.dir], self.logs)
        with open(self.output, "a", encoding="utf-8") as output:
            if self.plan.way == "sbatch":
                clusters.write(self.dir + "/script", plans.script(words, self.dir))
                words = plans.sbatch(self.plan, self.output, self.dir + "/script", self.logs)
            else:
                words = ["srun", *[f"--jobid={self.job}"] * bool(self.job), *words]
            self.child = self.cluster.start(*words, stdout=output, stderr=output)

    def node(self, number):
        return self.cluster.nodes[number]

    def srun_host(self):
        return self.cluster.host_of(self.srun) if self.srun else "login"

    def stepds(self):
        """(pid, node, step) of every slurmstepd of a step with tasks."""
        return [stepd for stepd in self.cluster.stepds()
                if not stepd[2].endswith((".batch", ".extern"))]

    def find_srun(self):
        """The process of srun. Its child, which is called the same, is not the one."""
        pids = {p.pid for p in self.processes if p.name == "srun"}
        tops = [p.pid for p in self.processes if p.pid in pids and p.parent not in pids]
        return tops[0] if tops else None

    def rendezvous(self):
        """The process ids of tf-rendezvous. Its child, which is called the same, is not one."""
        pids = {p.pid for p in self.processes if p.name == "tf-rendezvous"}
        return [p.pid for p in self.processes if p.pid in pids and p.parent not in pids]

    def programs(self):
        """The process ids of the programs that run."""
        return {p.pid for p in self.processes} & {int(r.pid) for r in self.records.values()}

    def has_ended(self):
        if self.child.poll() is None:
            return False
        if self.plan.way != "sbatch":
            self.code = self.child.returncode
            return True
        text = clusters.read(self.dir + "/status").strip()
        if text:
            self.code = int(text)
            return True
        # The script was killed, too.
        return not self.processes and not self.cluster.jobs()

    # Events

    def look(self):
        """Look at the processes and the records, and note the events."""
        self.processes = self.cluster.processes()
        self.srun = self.find_srun()
        self.count("srun", 1 if self.srun else 0)
        self.count("rendezvous", len(self.rendezvous()))
        for event in ("rank", "supervise"):
            pids = self.seen.setdefault(event, set())
            pids.update(p.pid for p in self.processes if p.name == "tf-" + event)
            self.count(event, len(pids))
        for path in glob.glob(self.dir + "/started.*"):
            rank = int(path.rsplit(".", 1)[1])
            if rank not in self.records:
                self.records[rank] = Record(rank, clusters.read(path))
        self.count("started", len(self.records))
        self.count("released", self.released)
        self.count("ended", len(self.records) - len(self.programs()))

    def count(self, event, number):
        for n in range(1, number + 1):
            if (event, n) not in self.events:
                self.events[event, n] = self.last_event = time.monotonic()
                self.note(f"{event} {n}")

    def quiet_seconds(self):
        """How long nothing has happened."""
        return time.monotonic() - max([self.last_event, *(i.at for i in self.injected.values())])

    # Faults

    def faults(self):
        """Those that were injected, and had a target."""
        return [fault for fault, injection in self.injected.items() if injection.text]

    def is_due(self, fault):
        at = self.events.get((fault.moment.event, fault.moment.count))
        return at is not None and time.monotonic() >= at + fault.moment.ms / 1000

    def comes_no_more(self, fault):
        """Its event."""
        if (fault.moment.event, fault.moment.count) in self.events:
            return False
        launched = len(self.records) == self.plan.tasks
        return (launched and fault.moment.event in fault_base.BEFORE_PROGRAMS
                or self.quiet_seconds() > QUIET_SECONDS)

    def serve_faults(self):
        """Inject and repair what is due."""
        for fault in self.plan.faults:
            if fault not in self.injected:
                if self.is_due(fault):
                    self.inject(fault)
                elif self.comes_no_more(fault):
                    self.injected[fault] = Injection(time.monotonic(), None)
                    self.note(f"its event does not come: {fault}")
            elif fault.lasts_ms and fault not in self.repaired:
                if time.monotonic() >= self.injected[fault].at + fault.lasts_ms / 1000:
                    self.repair(fault)

    def inject(self, fault):
        fault.before = len(self.records)
        text = fault.inject(self)
        self.injected[fault] = Injection(time.monotonic(), text)
        self.note(f"fault: {fault}: {text or 'nothing to do'}")

    def repair(self, fault):
        if self.injected[fault].text and fault not in self.repaired:
            fault.repair(self)
            self.note(f"repaired: {fault}")
        self.repaired.add(fault)

    def end_faults(self):
        for fault in self.injected:
            self.repair(fault)
        self.end_hold()

    def serve_hold(self):
        """The slurmd goes on when every fault of the launch was injected."""
        launch = [f for f in self.plan.faults if f.moment.event in fault_base.BEFORE_PROGRAMS]
        if self.held and all(f in self.injected for f in launch):
            self.end_hold()

    # The end

    def may_release(self):
        """
        The programs are told to end when all of them run, and no fault is to come before that; or
        when nothing happens any more.
        """
        if any(f not in self.injected and f.moment.event not in ("released", "ended")
               for f in self.plan.faults):
            return False
        return len(self.records) == self.plan.tasks or self.quiet_seconds() > QUIET_SECONDS

    def serve_releases(self):
        self.releasing = self.releasing or self.may_release()
        while self.releasing and self.released < len(self.plan.releases):
            release = self.plan.releases[self.released]
            if time.monotonic() < self.last_release + release.pause_ms / 1000:
                return
            self.early = self.early or len(self.records) < self.plan.tasks
            os.write(self.pipes[release.rank], (release.command + "\n").encode())
            self.last_release = time.monotonic()
            self.released += 1
            self.count("released", self.released)

    def bound(self):
        return STEP_SECONDS + sum(fault.effect().seconds for fault in self.faults())

    def goes_on(self):
        """Because of a fault the step does not end by itself."""
        longest = max((fault.effect().goes_on for fault in self.faults()), default=0)
        if faults.unnoticed(self.faults()):
            longest = fault_base.UNNOTICED
        if not longest or self.released < len(self.plan.releases) \
                or len(self.injected) < len(self.plan.faults):
            return False
        known = re.search(fault_base.RENDEZVOUS_ENDED, clusters.read(self.output))
        return self.quiet_seconds() > (1 if known else longest)

    def run(self):
        """Until srun has ended."""
        self.serve_faults()
        self.launch()
        self.look()
        while not self.has_ended():
            self.serve_faults()
            self.serve_hold()
            self.serve_releases()
            if self.goes_on() or time.monotonic() > self.begin + self.bound():
                self.cancel()
                break
            time.sleep(TICK)
            self.look()
        self.note(f"srun has ended with {self.code}")
        self.end_faults()

    def ends_within(self, seconds):
        return clusters.eventually(seconds, lambda: (self.look(), self.has_ended())[1])

    def cancel(self):
        """The step does not end by itself."""
        self.cancelled = True
        self.note("the step is cancelled")
        self.state = self.picture()
        self.end_faults()
        for what, ids in (("step", self.cluster.steps()), ("job", self.cluster.jobs())):
            self.cluster.run("scancel", "--quiet", *ids)
            if self.ends_within(CANCEL_SECONDS):
                return
            self.wrong.append(f"srun does not end after scancel of the {what}")
            self.state += self.picture()
        self.cluster.cancel_all()
        self.ends_within(CANCEL_SECONDS)

    def picture(self):
        """The processes of both users, and the steps."""
        users = f"{self.cluster.user.pw_name},{self.cluster.other_user.pw_name}"
        return self.cluster.root("ps", "-u", users, "-o", "pid,ppid,stat,wchan:20,comm,args") \
            + self.cluster.root("squeue", "-s")

    def close(self):
        for pipe in self.pipes:
            os.close(pipe)
        if self.child and self.child.poll() is None:
            self.child.kill()
            self.child.wait()
        shutil.rmtree(self.dir, ignore_errors=True)
