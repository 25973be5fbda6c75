# SPDX-License-Identifier: GPL-2.0-or-later
"""
What a user or Slurm itself does to a step: scancel, the time limit; a terminal that is stopped, or a
pipe that is not read.
"""
import subprocess

from console import Console
from fault import ANY_CODE, CANCELLED, HARMLESS, NO_RENDEZVOUS, PS_ENDED, RANKS_LOST, Effect, Fault


class Cancel(Fault):
    """scancel of the step or of the job. A program may survive a signal that is not SIGKILL."""
    child = None

    def __init__(self, rng, plan):
        super().__init__(rng, plan)
        self.of_step = rng.random() < 0.5
        self.spoils_job = not self.of_step
        self.signal = rng.choice([None, None, None, "TERM", "INT", "KILL", "USR1", "CONT"])

    def what(self):
        how = f" --signal={self.signal}" if self.signal else ""
        return f"scancel{how} of the {'step' if self.of_step else 'job'}"

    def inject(self, trial):
        ids = trial.cluster.steps() if self.of_step else trial.cluster.jobs()
        if not ids:
            return None
        how = [f"--signal={self.signal}"] if self.signal else []
        # scancel waits for a slurmd that does not answer; the trial goes on.
        self.child = trial.cluster.start("scancel", "--quiet", *how, *ids,
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return ", ".join(ids)

    def repair(self, _trial):
        if self.child:
            self.child.wait()

    def effect(self):
        if self.signal == "CONT":
            return HARMLESS
        return Effect(ANY_CODE | {0, -9, -15}, CANCELLED,
                      also="|".join([PS_ENDED, RANKS_LOST, NO_RENDEZVOUS]), ends=None,
                      loses_output=True, seconds=15, goes_on=4 if self.signal else 0)


class TimeLimit(Fault):
    """The job's time limit comes in a second. slurmctld looks for that every few seconds."""
    spoils_job = True

    def what(self):
        return "the job's time limit is reached"

    def inject(self, trial):
        ids = trial.cluster.jobs()
        for job in ids:
            trial.cluster.root("scontrol", "update", f"jobid={job}", "EndTime=now+1")
        return ", ".join(ids) or None

    def effect(self):
        return Effect(ANY_CODE, "DUE TO TIME LIMIT|" + CANCELLED, also=PS_ENDED, ends=None,
                      loses_output=True, seconds=40)


class Stderr(Fault):
    """
    srun's stderr hangs for a while. Nothing waits for it but srun, if it has something to print itself.
    """
    keeps_restarts = True

    def __init__(self, rng, plan):
        super().__init__(rng, plan)
        self.lasts_ms = rng.randint(50, 6000)
        # The stderr of a batch job's srun is on a node.
        self.is_batch = plan.way == "sbatch"
        self.terminal = not self.is_batch and rng.random() < 0.5

    def what(self):
        return f"srun's stderr, a {'terminal' if self.terminal else 'pipe'}, hangs"

    def inject(self, trial):
        trial.console.hang()
        return "stderr"

    def repair(self, trial):
        trial.console.go_on()

    def effect(self):
        # With the script ends what still waits for a stderr on its node.
        return Effect(seconds=self.lasts_ms / 1000, loses_output=self.is_batch)


def console(trial):
    """srun's stderr, if it is to hang."""
    terminals = [f.terminal for f in trial.plan.faults if isinstance(f, Stderr)]
    return Console(trial, terminals[0]) if terminals else None
