# SPDX-License-Identifier: GPL-2.0-or-later
"""
What all faults have in common: the moment when one is injected, and what it may change.

A fault changes nothing but what its Effect says: srun's exit code and output are those of the same
step without the fault.
"""
from typing import NamedTuple

# The events of a trial. A moment is the N-th time of an event, and some milliseconds.
PHRASES = {
    "begin": "before srun",
    "srun": "after srun has started",
    "rendezvous": "after tf-rendezvous has started",
    "rank": "after {} tf-rank have started",
    "supervise": "after {} tf-supervise have started",
    "started": "after {} programs have started",
    "failed": "after {} programs were told to fail",
    "again": "after {} programs were restarted",
    "released": "after {} programs were told to end",
    "ended": "after {} programs have ended",
    "together": "when all programs run and give signs for the {}. time",
    "verdict": "after {} verdicts",
}
BEFORE_PROGRAMS = ("begin", "srun", "rendezvous", "rank")
LAUNCH = ("srun", "rendezvous", "rank")
PROGRAMS = ("started", "released", "ended")

# Lines that name a cause

NO_RENDEZVOUS = (r"spank_tf: .*(no rendezvous listens on|could not be reached|"
                 r"ended before it had read its configuration)")
GOES_ON = r"spank_tf: .*tf-rendezvous was killed and restarted\. The job continues"
RENDEZVOUS_ENDED = r"spank_tf: .*tf-rendezvous does not answer\. Its tasks will not be stopped"
RANKS_LOST = (r"spank_tf: step .*ended before "
              r"(the launch was complete|they received TF_CONFIG).*: .*rank")
RANKS_LATE = r"spank_tf: step .*(did not register within|no task registered within)"
SUPERVISORS_LOST = (r"spank_tf: step .*(these tasks are treated as lost, because there is no connection "
                    r"to their supervisors: |"
                    r"without ps \d+ \(rank .* its workers would wait forever)")
NO_FORK_SERVER = r"spank_tf: .* cannot start its program: tf-fork-server, which starts it, does not answer"
PS_ENDED = r"spank_tf: .*The other tasks are stopped"
ENDING_SRUN = r"spank_tf: .*some nodes do not report the end of their tasks, so srun is ended"
KILLED = r"tasks? [-\d,]+: Killed"
SIGNALLED = r"tasks? [-\d,]+: (Killed|Terminated|Interrupt|Exited|User defined)"
CANCELLED = r"CANCELLED AT|Job step aborted|[Cc]ancelled|revoked|expired|" + SIGNALLED


class Moment(NamedTuple):
    event: str
    count: int
    ms: int

    def __str__(self):
        after = f"{self.ms} ms " if self.ms else ""
        return after + PHRASES[self.event].format(self.count)


class Effect(NamedTuple):
    """What a fault may change."""
    codes: frozenset = frozenset()      # srun may exit with one of these, too
    cause: str = None                   # then a line of the output matches this, if srun can print
    also: str = None                    # lines of the plugin that may be printed besides
    ends: frozenset = frozenset()       # further ends of tasks in the table; None: any
    loses_output: bool = False          # lines of the programs, or the table, may be missing
    seconds: float = 0                  # the step may take so much longer
    goes_on: float = 0                  # the step may not end by itself any more: the campaign
                                        # cancels it when so many seconds nothing has happened


HARMLESS = Effect()
ANY_CODE = frozenset(range(1, 256))
# A supervisor whose task has ended without a rendezvous waits a minute for its return.
UNNOTICED = 75


def codes(*numbers):
    return frozenset(numbers)


def choose_moment(rng, plan, events):
    event = rng.choice([e for e in events if e != "supervise" or plan.supervised()])
    most = {"rank": plan.tasks, "supervise": plan.tasks, "started": plan.tasks,
            "released": len(plan.releases), "ended": len(plan.releases)}.get(event, 1)
    ms = 0 if rng.random() < 0.4 else int(rng.expovariate(1 / 60))
    return Moment(event, rng.randint(1, most), ms)


class Fault:
    """Base of all faults. A new one is added to KINDS in faults.py."""
    events = LAUNCH + ("supervise",) + PROGRAMS
    lasts_ms = 0                # it is repaired so long after it was injected; 0: after the step
    spoils_job = False          # the job has no next step
    loses_job = False           # Slurm may not notice that srun has gone
    orphans = False             # no slurmstepd ends what its programs leave behind
    keeps_restarts = False      # the same tasks are restarted as without it
    notes_failures = False      # otherwise only those that fail because of it, which the trial knows
    before = 0                  # so many programs had started when it was injected

    def __init__(self, rng, plan):
        self.moment = choose_moment(rng, plan, self.events)

    def __str__(self):
        lasts = f" for {self.lasts_ms} ms" if self.lasts_ms else ""
        return f"{self.what()}{lasts} {self.moment}"

    @staticmethod
    def fits(_plan):
        """Can it happen in a trial of this plan?"""
        return True

    def what(self):
        raise NotImplementedError

    def inject(self, trial):
        """Returns a text that says to what it was done, or None if there was nothing."""
        raise NotImplementedError

    def repair(self, trial):
        pass

    def effect(self):
        return HARMLESS
