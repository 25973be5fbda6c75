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

import beside
import cluster as clusters
import fault as fault_base
import faults
import hangs
import lives
import nodes
import orders
import plan as plans
import prologs

HERE = os.path.dirname(os.path.realpath(__file__))
# These run as the user, who may not be able to read this directory.
PROGRAMS = ("program", "strangers", prologs.PROGRAM)

TICK = 0.006
# A step ends within this time after its launch if no fault is in the way.
STEP_SECONDS = 15
# After scancel: KillWait, and what Slurm adds.
CANCEL_SECONDS = 15
# When nothing has happened for so long, an event that a fault waits for does not come any more,
# and programs that have not started do not start.
QUIET_SECONDS = 2
# The same if tasks may be restarted: one is stopped, and there is a pause before its next life.
QUIET_RESTART_SECONDS = 4
# What a restart may take.
RESTART_SECONDS = 6


class Record:
    """What a program has recorded when it started: one life of a task."""

    def __init__(self, rank, life, text):
        self.rank, self.life = rank, life
        (self.config, self.role, self.index, self.address, self.port, self.node, self.task_pid,
         self.pid, alive, stat) = text.split("\n")[:10]
        self.beside = text.split("\n")[10:13]       # SLURM_TF_BESIDE, _DATA, _LOG
        self.prolog = text.split("\n")[13]
        # Of a trial with restarts; see lives.py.
        self.found, _, self.port_error = alive.partition("port: ")
        self.begin = lives.begin_of(stat)

    def __str__(self):
        return f"life {self.life} of rank {self.rank}"


class Injection(NamedTuple):
    at: float
    text: str           # to what it was done; None: there was nothing


class Trial:
    def __init__(self, cluster, plan):
        self.cluster, self.plan = cluster, plan
        self.dir = cluster.work + "/trial"
        self.logs, self.output = self.dir + "/logs", self.dir + "/output"
        self.files = cluster.files()            # that were there before
        self.begin = self.last_event = self.last_release = time.monotonic()
        self.job = None             # the allocation in which the step runs, if the plan has one
        self.child = None           # srun, or sbatch
        self.srun = None            # its process id, while it runs
        self.code = None            # srun's exit code; negative: it was killed by this signal
        self.processes = []         # the user's, at the last look
        self.records = {}           # by rank: of its newest life
        self.lives = {}             # of all lives, by path
        self.seen = {}              # by event: the process ids that it counts
        self.events = {("begin", 1): 0}         # (event, count): when
        self.pipes = {}             # by rank and life: where its command is written
        self.held = None            # the process id of the slurmd that is stopped
        self.releasing, self.released = plan.early, 0
        self.failed = 0             # so many of the plan's failures were sent
        self.failing = {}           # by rank: the life that was told to fail
        self.told = {}              # by rank: the life that was told to end
        self.failures = []          # (when, rank, life) of all that were told to fail, or killed
        self.deaths = {}            # by rank and life: when its process was seen to be gone
        self.console = None         # srun's stderr, if a fault makes it hang
        self.watch = lives.Watch(cluster, plan)
        self.early = plan.early     # a program was told to end before all of them ran
        self.injected = {}          # by fault: Injection
        self.repaired = set()
        self.together, self.togethers = False, 0    # do all programs run, and give signs? how often they began
        self.verdicts = 0           # so many were seen
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
            for life in range(self.plan.restarts + 2):
                path = f"{self.dir}/command.{rank}.{life}"
                self.own(path, os.mkfifo)
                # Both ends: a write does not wait for the program.
                self.pipes[rank, life] = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        prologs.prepare(self)
        hangs.prepare(self)
        self.console = orders.console(self)
        if self.plan.restarts:
            shutil.copy(os.environ["SPANK_TF_PROGRAMS"] + "/" + lives.PROGRAM, self.dir)
        self.watch.begin()
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
        words = plans.words(self.plan, [self.dir + "/program", self.dir], self.logs, self.dir)
        console = self.console
        with open(self.output, "a", encoding="utf-8") as output:
            if self.plan.way == "sbatch":
                clusters.write(self.dir + "/script", plans.script(words, self.dir, console and console.path))
                words = plans.sbatch(self.plan, self.output, self.dir + "/script", self.logs)
            else:
                words = ["srun", *[f"--jobid={self.job}"] * bool(self.job), *words]
            stderr = console.out if console and self.plan.way != "sbatch" else output
            self.child = self.cluster.start(*words, stdout=output, stderr=stderr)

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
        """The process ids of tf-rendezvous. A child, which has its name for a moment, is not one."""
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
        return not self.cluster.jobs() \
            and all(p.name == lives.PROGRAM and self.daemons_may_stay() for p in self.processes)

    def daemons_may_stay(self):
        """Without a cgroup Slurm does not end a daemon that a life has left, if it kills that life's parent."""
        return self.plan.restarts and self.plan.proctrack == "linuxproc"

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
            if path not in self.lives:
                self.add(path)
        self.count("started", len(self.records))
        self.count("again", sum(record.life > 0 for record in self.lives.values()))
        self.count("failed", self.failed)
        self.count("released", self.released)
        running = {p.pid for p in self.processes}
        for record in self.lives.values():
            if int(record.pid) not in running:
                self.deaths.setdefault((record.rank, record.life), time.monotonic())
        self.count("ended", len(self.deaths))
        if self.console:
            self.console.read()
        self.watch.look(self)
        hangs.look(self)

    def add(self, path):
        """A program has started."""
        rank, life = map(int, path.split(".")[-3:-1])
        record = self.lives[path] = Record(rank, life, clusters.read(path))
        if rank not in self.records or life > self.records[rank].life:
            self.records[rank] = record
        if self.plan.restarts:
            self.note(f"{record}, process {record.pid} on {record.node}")

    def count(self, event, number):
        for n in range(1, number + 1):
            if (event, n) not in self.events:
                self.events[event, n] = self.last_event = time.monotonic()
                self.note(f"{event} {n}")

    def quiet_seconds(self):
        """How long nothing has happened."""
        return time.monotonic() - max([self.last_event, *(i.at for i in self.injected.values())])

    def is_pending(self):
        """What a fault has done shows later: until then no program is told anything."""
        return hangs.is_pending(self) or nodes.is_pending(self)

    def is_quiet(self):
        """Nothing happens any more."""
        if (self.console and self.console.hangs) or self.is_pending():
            return False
        return self.quiet_seconds() > prologs.seconds(self.plan) + (
            QUIET_RESTART_SECONDS if self.plan.restarts else QUIET_SECONDS)

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
        launched = len(self.records) >= nodes.programs(self.plan)
        return (launched and fault.moment.event in fault_base.BEFORE_PROGRAMS
                or self.is_quiet())

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

    def tell(self, rank, command):
        """The present life of a rank, or its first one."""
        record = nodes.present(self, rank)
        if record:
            rank = record.rank
        life = record.life if record else 0
        if command != "exit 0":
            self.failures.append((time.monotonic(), rank, life))
        if (rank, life) in self.pipes:
            os.write(self.pipes[rank, life], (command + "\n").encode())
        self.last_release = time.monotonic()
        return life

    def all_run(self):
        """All programs have started, and those that were told to fail are in their next lives."""
        return len(self.records) >= nodes.programs(self.plan) and all(
            self.records[rank].life > life or not self.plan.restarts
            for rank, life in self.failing.items()) and (
                not self.plan.restarts or len(self.programs()) == nodes.programs(self.plan))

    def serve_failures(self):
        """One after the other: when all programs run, or nothing happens any more."""
        while self.failed < len(self.plan.failures):
            failure = self.plan.failures[self.failed]
            if not (self.all_run() or self.is_quiet() or (failure.at_once and self.failed)) \
                    or time.monotonic() < self.last_release + failure.pause_ms / 1000:
                return
            self.failing[failure.rank] = self.tell(failure.rank, failure.command)
            self.failed += 1
            self.note(f"rank {failure.rank} is told: {failure.command}")
            self.count("failed", self.failed)

    def may_release(self):
        """
        The programs are told to end when all of them run, and no fault is to come before that; or
        when nothing happens any more.
        """
        if any(f not in self.injected and f.moment.event not in ("released", "ended")
               for f in self.plan.faults) or self.failed < len(self.plan.failures):
            return False
        return self.all_run() and not beside.unreported(self) or self.is_quiet()

    def release_next_lives(self):
        """Those that were told to end in a former life."""
        for release in self.plan.releases[:self.released]:
            record = nodes.present(self, release.rank)
            if record and record.life > self.told[release.rank]:
                self.told[release.rank] = self.tell(release.rank, release.command)

    def serve_releases(self):
        if self.is_pending():
            return
        self.serve_failures()
        self.release_next_lives()
        self.releasing = self.releasing or self.may_release()
        while self.releasing and self.released < len(self.plan.releases):
            release = self.plan.releases[self.released]
            if time.monotonic() < self.last_release + release.pause_ms / 1000:
                return
            self.early = self.early or len(self.records) < nodes.programs(self.plan)
            self.told[release.rank] = self.tell(release.rank, release.command)
            self.released += 1
            self.count("released", self.released)

    def bound(self):
        seconds = RESTART_SECONDS * self.plan.restarts \
            + QUIET_RESTART_SECONDS * len(self.plan.failures) \
            + prologs.seconds(self.plan) * (1 + self.plan.restarts + len(self.plan.failures))
        return STEP_SECONDS + seconds + sum(fault.effect().seconds for fault in self.faults())

    def goes_on(self):
        """Because of a fault the step does not end by itself."""
        longest = max((fault.effect().goes_on for fault in self.faults()), default=0)
        if faults.unnoticed(self.faults()):
            longest = fault_base.UNNOTICED
        if not longest or self.failed < len(self.plan.failures) \
                or self.released < len(self.plan.releases) \
                or len(self.injected) < len(self.plan.faults):
            return False
        if re.search(fault_base.RENDEZVOUS_ENDED, clusters.read(self.output)):
            longest = 1
        return self.quiet_seconds() > longest + prologs.seconds(self.plan)

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
        if self.console:
            # A child of tf-rendezvous writes what stderr did not take, and ends after srun.
            clusters.eventually(STEP_SECONDS, lambda: (self.look(), not self.processes)[1])

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
        self.watch.end()
        if self.console:
            self.console.close()
        for pipe in self.pipes.values():
            os.close(pipe)
        if self.child and self.child.poll() is None:
            self.child.kill()
            self.child.wait()
        shutil.rmtree(self.dir, ignore_errors=True)
