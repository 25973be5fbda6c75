# SPDX-License-Identifier: GPL-2.0-or-later
"""
Trials with --tf-restart: what the plan says of them. Which tasks fail, and what is then
restarted; see util/job/duties.h. lives.py has the rules.

Their choices have a generator of their own, so that the other trials do not depend on them.
"""
import random
import re
from typing import NamedTuple

import fault

# Seconds: restart_backoff= of the site.
LONGEST_PAUSE = 1
# So many of a hundred trials have restarts.
PERCENT = 25
# In so many of them many tasks fail at once.
MANY_PERCENT = 25
# How a life may fail that is not the last one, in a step without `any` and with it.
FAILURES = ["exit 42", "exit 143", "kill -KILL $$", "kill -TERM $$", "kill -USR1 $$"]
FAILURES_ANY = FAILURES + ["exit 1", "exit 3", "kill -SEGV $$"]
FINAL = ["exit 1", "exit 2", "kill -SEGV $$"]
# Another child of a life, which listens on the task's port.
SERVER = '"$life_check" serve $SLURM_TF_PORT > /dev/null 2>&1'
# Signals that show a defect of the program: SIGILL, SIGABRT, SIGFPE, SIGSEGV.
DEFECTS = (4, 6, 8, 11)

# The messages, with the tasks, how they ended, the pause and what is left
_TASK = r"\+?\w+ \d+ \(rank \d+, [^\s,]+\)"
_ENDED = rf"({_TASK}(?:, {_TASK})*(?: and \d+ more)?) ended at \d\d:\d\d:\d\d, (.*?)"
_AGAIN = r" in (\d+) s \(restarts left without progress: (\d+)\)"
ONE = _ENDED + r"\. Restarting (?:it|them)" + _AGAIN
ALL = _ENDED + r"\.(?: The other tasks have \d+ s to exit\.)? Restarting all tasks" + _AGAIN
NONE_LEFT = _ENDED + r"\. Not restarted: \d+ restarts? (?:in a row )?without progress.*"
NOT = _ENDED + r"\. Not restarted: .*"
# Reasons that only a fault explains.
DISTURBED = r"\. Not restarted: (?:the step was asked to end|its supervisor was disconnected)"
PS_TERMINATED = r"ps \d+ \(rank \d+, \S+\) ended with signal 15\. The other tasks are stopped"
BEGIN = r"all tasks restarted.*"
LINES = rf"step \d+\.\d+: ({ONE}|{ALL}|{BEGIN}|{NONE_LEFT}|{NOT}|{PS_TERMINATED})$"


class Failure(NamedTuple):
    """A command for a program's present life, sent so many milliseconds after the one before."""
    rank: int
    command: str
    pause_ms: int
    at_once: bool               # do not wait until all programs run

    def __str__(self):
        return f"rank {self.rank} {self.command} after {self.pause_ms} ms" \
            + " at once" * self.at_once


# The policy

def leads(plan, rank):
    """Its failure concerns others."""
    return plan.roles[rank] in ("ps", "chief") or not plan.ranks("ps")


def members(plan):
    """Those that start together."""
    return {rank for rank, role in enumerate(plan.roles)
            if role != "evaluator" and not role.startswith("+")}


def is_alone(plan, rank):
    return rank not in members(plan) or len(members(plan)) == 1 or not leads(plan, rank)


def is_worth_a_try(plan, how):
    """how: as the messages have it."""
    if how == "hung":
        return True
    by_signal, number = how.startswith("signal"), int(re.search(r"\d+", how)[0])
    if plan.any_failure:
        return bool(by_signal) or number not in (0, 2, 126, 127)
    return number not in DEFECTS if by_signal else number in (42, 143)


def may_be_final(plan, end, ends):
    """May a planned failure be its task's end? ends: those of all commands of the plan."""
    failures = [e for e in ends if e != (0, 0)]
    return end in failures and (len(failures) > plan.restarts
                                or any(not is_worth_a_try(plan, f"{'signal' if by_signal else 'exit'} {number}")
                                       for by_signal, number in failures))


# Choosing

def choose(plan, wanted):
    """wanted: True, False, or None for by chance."""
    rng = random.Random(f"restarts {plan.seed}")
    chosen = rng.randrange(100) < PERCENT
    if not (chosen if wanted is None else wanted):
        return None
    plan.restarts = rng.choice([1, 2, 2, 3, 3])
    plan.any_failure = rng.random() < 0.4
    plan.options.append(f"--tf-restart={plan.restarts}{',any' * plan.any_failure}")
    return rng


def choose_failures(rng, plan):
    """Call this when the programs are chosen."""
    for rank, manner in enumerate(plan.manners):
        if rng.random() < 0.4:
            plan.manners[rank] = manner + "; " * (manner[-1] != "&") + SERVER
    if plan.early:
        return
    for _ in range(rng.choice([0, 1, 1, 2, 2, 3, plan.restarts + 1])):
        # One that leads, half of the time.
        ranks = [r for r in range(plan.tasks) if leads(plan, r)] if rng.random() < 0.5 else []
        commands = FINAL if rng.random() < 0.1 else FAILURES_ANY if plan.any_failure else FAILURES
        rank, command = rng.choice(ranks or range(plan.tasks)), rng.choice(commands)
        plan.failures.append(Failure(rank, deadly(plan, rank, command),
                                     rng.choice([0, 0, rng.randint(1, 300)]), rng.random() < 0.25))
    choose_many(random.Random(f"many {plan.seed}"), plan)


def deadly(plan, rank, command):
    """The command, or another one if the program would survive it."""
    return "kill -KILL $$" if "TERM" in command and "trap" in plan.manners[rank] else command


def choose_many(rng, plan):
    """Sometimes many tasks fail in one moment: all workers, all of one role, some, or all."""
    if rng.randrange(100) >= MANY_PERCENT:
        return
    some = set(rng.sample(range(plan.tasks), rng.randint(1, plan.tasks)))
    ranks = rng.choice([plan.ranks("worker"), plan.ranks(rng.choice(plan.roles)), some,
                        set(range(plan.tasks))])
    commands = FAILURES_ANY if plan.any_failure else FAILURES
    same = rng.choice([None, *commands])
    many = [Failure(rank, deadly(plan, rank, same or rng.choice(commands)), 0, bool(i))
            for i, rank in enumerate(sorted(ranks))]
    at = rng.randint(0, len(plan.failures))
    plan.failures[at:at] = many


def move_faults(rng, plan):
    """To the moments that only these trials have: between two lives, and in a later one."""
    for one in plan.faults:
        if plan.failures and "ended" in one.events and rng.random() < 0.7:
            event = rng.choice(["failed", "failed", "again"])
            # The pause is a second; what is stopped before has another one.
            ms = rng.choice([0, rng.randint(1, 300), rng.randint(1, 2500)])
            one.moment = fault.Moment(event, rng.randint(1, len(plan.failures)), ms)
