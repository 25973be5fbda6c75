# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults: a process is killed, terminated, interrupted, or stopped for a while."""
import signal
import time
from signal import SIGINT, SIGKILL, SIGSTOP, SIGTERM

import cluster
from fault import (ANY_CODE, CANCELLED, ENDING_SRUN, GOES_ON, HARMLESS, KILLED, NO_FORK_SERVER, NO_RENDEZVOUS,
                   PROGRAMS, PS_ENDED, RANKS_LATE, RANKS_LOST, RENDEZVOUS_ENDED, SIGNALLED,
                   SUPERVISORS_LOST, UNNOTICED, Effect, Fault, codes)


class Signal(Fault):
    target = ""                 # the name of the process
    effects = {}                # by signal; the other signals change nothing

    def __init__(self, rng, plan):
        super().__init__(rng, plan)
        self.plan = plan
        self.number = rng.choice([SIGKILL, SIGKILL, SIGSTOP, SIGTERM, SIGINT])
        if self.number == SIGSTOP:
            self.lasts_ms = rng.randint(50, 3000)
        self.pick = rng.random()
        self.pid = None

    def what(self):
        return f"{self.number.name} to {self.target}"

    def candidates(self, trial):
        return [p.pid for p in trial.processes if p.name == self.target]

    def inject(self, trial):
        pids = sorted(self.candidates(trial))
        if not pids:
            return None
        self.pid = pids[int(self.pick * len(pids))]
        text = f"{self.target} {self.pid} on {trial.cluster.host_of(self.pid)}"
        cluster.send(self.pid, self.number)
        return text

    def repair(self, trial):
        if self.number == SIGSTOP and self.pid:
            cluster.send(self.pid, signal.SIGCONT)

    def effect(self):
        if self.number == SIGSTOP:
            return Effect(seconds=self.lasts_ms / 1000)
        return self.effects.get(self.number, HARMLESS)


class SrunSignal(Signal):
    """
    srun asks for a second SIGINT before it obeys, unless it has just started; one whose job is
    queued revokes it and exits with 1. A step that was created and is never launched stays in its
    job. slurmctld ends the job of an srun that does not answer when it is told that the job starts.
    srun starts a child that ends the job if srun is killed; before that the job stays.
    """
    target = "srun"
    effects = {
        SIGKILL: Effect(codes(-9, 137), also=NO_RENDEZVOUS, ends=None, loses_output=True),
        SIGTERM: Effect(ANY_CODE | {-15}, CANCELLED, also=NO_RENDEZVOUS, ends=None,
                        loses_output=True),
    }

    def candidates(self, trial):
        self.spoils_job = ("rank", 1) not in trial.events
        self.loses_job = self.spoils_job and self.number == SIGKILL
        return [trial.srun] if trial.srun else []

    def effect(self):
        if self.number == SIGINT and self.spoils_job:
            return Effect(codes(-2, 130, 1), ends=None, loses_output=True)
        if self.number == SIGSTOP and self.spoils_job:
            return Effect(ANY_CODE, r"srun: error: ", also=NO_RENDEZVOUS, ends=None,
                          loses_output=True, seconds=self.lasts_ms / 1000 + 10)
        return super().effect()


class CtrlC(Fault):
    """SIGINT to srun, and a second one. See SrunSignal."""
    lasts_ms = 200
    pid = None

    def what(self):
        return "two SIGINT to srun, the first one"

    def inject(self, trial):
        self.pid = trial.srun
        if not self.pid:
            return None
        self.spoils_job = ("rank", 1) not in trial.events
        cluster.send(self.pid, SIGINT)
        return str(self.pid)

    def repair(self, trial):
        if self.pid:
            cluster.send(self.pid, SIGINT)

    def effect(self):
        # An srun that has just started obeys the first one, without a line.
        cause = None if self.spoils_job else r"srun: (interrupt|sending Ctrl-C)|[Cc]ancelled|revoked"
        return Effect(ANY_CODE | {-2}, cause,
                      also=NO_RENDEZVOUS, ends=None, loses_output=True)


class RendezvousSignal(Signal):
    """
    Before the last answer the launch fails; afterwards it goes on, if it has supervisors.
    """
    target = "tf-rendezvous"
    events = ("rendezvous", "rank", "supervise") + PROGRAMS
    silent = False

    def candidates(self, trial):
        return trial.rendezvous()

    def repair(self, trial):
        super().repair(trial)
        # A step that goes on is cancelled after this.
        self.silent = 0 in trial.records and int(trial.records[0].pid) not in trial.programs()

    def effect(self):
        if self.number == SIGSTOP:
            return super().effect()
        later = Effect(cause=None if self.silent else RENDEZVOUS_ENDED, also=RENDEZVOUS_ENDED,
                       loses_output=True, seconds=UNNOTICED)
        if self.plan.supervised():
            later = Effect(also=GOES_ON)
        if self.before == self.plan.tasks:
            return later
        return later._replace(codes=codes(1), cause="|".join((NO_RENDEZVOUS, RENDEZVOUS_ENDED, GOES_ON)),
                              ends=codes("exit 1"))


class WriterSignal(Signal):
    """
    The children of tf-rendezvous that write: master.log's, and that of srun's stderr, if something has been
    printed. The next message starts another one of the latter.
    """
    target = "tf-writer"
    events = ("supervise",) + PROGRAMS
    late = Effect(also=r"spank_tf: \S+/master.log is not written in time", loses_output=True)

    @staticmethod
    def fits(plan):
        return plan.supervised()

    def effect(self):
        return self.late._replace(seconds=4 + self.lasts_ms / 1000)


class SuperviseSignal(Signal):
    """Its program is killed, too; after ten seconds the task counts as ended."""
    target = "tf-supervise"
    events = ("supervise",) + PROGRAMS
    effects = {SIGKILL: Effect(codes(137), KILLED, also=SUPERVISORS_LOST, ends=codes("signal 9"),
                               loses_output=True, seconds=75)}

    @staticmethod
    def fits(plan):
        return plan.supervised()


def _rank_ended(number):
    """
    The effect of this signal on a task that has not become its program yet. The rendezvous does not
    know of one that has not registered, and waits for it.
    """
    return Effect(codes(1, 128 + number), RANKS_LOST + "|" + RANKS_LATE + "|" + SIGNALLED,
                  also="|".join([RANKS_LOST, SUPERVISORS_LOST, PS_ENDED, NO_FORK_SERVER]),
                  ends=codes(f"signal {number:d}", "exit 1"), loses_output=True, seconds=75)


class TaskSignal(Signal):
    target = "tf-rank"
    events = ("rank",)
    effects = {number: _rank_ended(number) for number in (SIGKILL, SIGTERM, SIGINT)}
    # It may just have become its program, which may handle SIGTERM.
    effects[SIGTERM] = effects[SIGTERM]._replace(
        codes=effects[SIGTERM].codes | {0, 5}, ends=effects[SIGTERM].ends | {"exit 0", "exit 5"})


class ProgramSignal(Signal):
    """
    A program may ignore SIGTERM, or exit with 0 or 5. When it does not end as planned, the end of
    another program may decide srun's code.
    """
    target = "program"
    events = PROGRAMS
    effects = {
        SIGKILL: Effect(codes(137), KILLED, ends=codes("signal 9"), loses_output=True),
        SIGTERM: Effect(codes(143, 5, 0), SIGNALLED + "|" + PS_ENDED, also=PS_ENDED,
                        ends=codes("signal 15", "exit 5", "exit 0"), loses_output=True),
        SIGINT: Effect(codes(130), SIGNALLED, ends=codes("signal 2"), loses_output=True),
    }

    def candidates(self, trial):
        return trial.programs()

    def effect(self):
        effect = super().effect()
        return effect._replace(codes=effect.codes and effect.codes | self.plan.planned_codes())


class ProgramsSignal(ProgramSignal):
    """Several programs are killed in one moment: all of a node, all workers, or all."""
    notes_failures = True

    def __init__(self, rng, plan):
        super().__init__(rng, plan)
        self.number, self.lasts_ms = SIGKILL, 0
        self.group = rng.choice(["all of a node", "all workers", "all"])

    def what(self):
        return f"SIGKILL to several programs, {self.group}"

    def candidates(self, trial):
        running = trial.programs()
        records = [r for r in trial.records.values() if int(r.pid) in running]
        if self.group == "all of a node":
            nodes = sorted({r.node for r in records})
            records = [r for r in records if r.node == nodes[int(self.pick * len(nodes))]]
        elif self.group == "all workers":
            records = [r for r in records if self.plan.roles[r.rank] == "worker"]
        return records

    def inject(self, trial):
        records = self.candidates(trial)
        for record in records:
            trial.failures.append((time.monotonic(), record.rank, record.life))
            cluster.send(int(record.pid), SIGKILL)
        return ", ".join(map(str, records)) or None


class StepdSignal(Signal):
    """
    slurmstepd ignores SIGTERM and SIGINT. srun does not notice that one was killed: it waits for
    the end of its tasks until the step is cancelled, and then exits with the code of the others.
    For slurmctld the step does not end before the job. The tasks of that slurmstepd end, and begin
    no further life (see lives.ended ()).
    """
    target = "slurmstepd"
    events = ("rank", "supervise") + PROGRAMS
    killed = Effect(codes(0, 1, 5, 137, 143), r"srun: error: ",
                    also="|".join([PS_ENDED, RANKS_LOST, RANKS_LATE, SUPERVISORS_LOST]),
                    ends=codes("signal 15", "signal 9", "exit 0", "exit 5", "stopped"),
                    loses_output=True, seconds=60, goes_on=3)
    node = at = None            # of the one that was killed, and when

    def __init__(self, rng, plan):
        super().__init__(rng, plan)
        self.spoils_job = self.number == SIGKILL

    def candidates(self, trial):
        return [pid for pid, _, _ in trial.stepds()]

    def inject(self, trial):
        text = super().inject(trial)
        if text and self.number == SIGKILL:
            self.node, self.at = text.split()[-1], time.time()
            # What programs that had ended have left stays, as without the plugin; and another
            # fault may have ended a tf-supervise, too.
            self.orphans = trial.releasing or trial.failed or len(trial.plan.faults) > 1
        return text

    def effect(self):
        if self.number != SIGKILL:
            return super().effect()
        return self.killed._replace(codes=self.killed.codes | self.plan.planned_codes())


class SlurmdSignal(Signal):
    """A slurmd that was killed or terminated starts again a while later."""
    target = "slurmd"

    def __init__(self, rng, plan):
        super().__init__(rng, plan)
        self.lasts_ms = rng.randint(50, 3000)
        self.node = rng.randrange(plan.nodes)
        self.name = None

    def inject(self, trial):
        self.name = trial.node(self.node)
        daemon = trial.cluster.slurmd(self.name)
        if not daemon:
            return None
        self.pid = daemon.pid
        cluster.send(self.pid, self.number)
        return self.name

    def repair(self, trial):
        if self.number == SIGSTOP:
            super().repair(trial)
        elif self.pid:
            # It finishes what it does before it obeys.
            cluster.eventually(20, lambda: not trial.cluster.slurmd(self.name))
            trial.cluster.start_slurmd(self.name)

    def effect(self):
        seconds = self.lasts_ms / 1000
        if self.number == SIGSTOP:
            return Effect(seconds=seconds)
        return Effect(ANY_CODE, r"srun: error: |" + RANKS_LATE, also=RANKS_LATE + "|" + ENDING_SRUN,
                      ends=None, loses_output=True, seconds=seconds + 30)
