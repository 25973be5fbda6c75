# SPDX-License-Identifier: GPL-2.0-or-later
"""
The faults of a trial, chosen by chance, and what srun may do because of them. "As without" means
its exit code and output without the fault. SIGSTOP is for a while. The details are the Effects.

    fault                           srun's exit code                line that names the cause
    KILL srun                       -9; 137 from a script           none
    TERM srun, INT twice            any but 0                       CANCELLED, Job step aborted, ...
    INT srun once, STOP             as without
    end tf-rendezvous in a launch   1                               no rendezvous listens on ...
    ... later                       as without                      (... was killed and restarted)
    end tf-writer                   as without                      (... is not written in time)
    KILL tf-supervise               137                             task N: Killed
    TERM, INT, STOP tf-supervise    as without
    end a task before exec          128 + signal, or 1              ended before the launch ...,
                                                                    did not register ...
    end a program, or several       128 + signal, or its own        task N: Killed, ...
    KILL slurmstepd                 any, after scancel              srun: error: ...
    TERM, INT, STOP slurmstepd      as without
    end slurmd, then restart        any but 0                       srun: error: ...
    reset, cut off from tf-rendez-  as without
    vous, lossy, slow, strangers
    cut off altogether              any but 0                       srun: error: ...
    /tmp full or read-only          as without
    log directory full, read-only   1                               --tf-log-dir: ...
    memory is short                 any
    scancel, time limit             any but 0                       CANCELLED, TIME LIMIT, ...
    srun's stderr hangs             as without
    a watched task hangs            124                             no activity ...
    a node is lost, with --no-kill  any                             any

Each may also be without effect, as when it comes too late.
"""
from hangs import Hang
from machine import Logs, Memory, Tmp
from network import Cut, CutRendezvous, Lossy, Network, Reset, Slow, Strangers
from nodes import Node
from orders import Cancel, Stderr, TimeLimit
from signals import (CtrlC, ProgramSignal, ProgramsSignal, RendezvousSignal, SlurmdSignal, SrunSignal,
                     StepdSignal, SuperviseSignal, TaskSignal, WriterSignal)

# How often each is chosen. TimeLimit takes long.
KINDS = {
    SrunSignal: 3, CtrlC: 1, RendezvousSignal: 4, WriterSignal: 3, SuperviseSignal: 4,
    TaskSignal: 3, ProgramSignal: 3, SlurmdSignal: 2, Reset: 2, CutRendezvous: 1, Cut: 1,
    Lossy: 1, Slow: 1, Strangers: 2, Tmp: 1, Logs: 4, Memory: 2, Cancel: 3, StepdSignal: 2,
    ProgramsSignal: 2, Stderr: 2, TimeLimit: 0.3,
    # hangs.py and nodes.py choose these.
    Hang: 0, Node: 0,
}
NAMES = [kind.__name__ for kind in KINDS]


def choose(rng, plan, only=None):
    """None, one or two faults; or one of the class whose name is `only`."""
    fitting = {kind: weight for kind, weight in KINDS.items() if kind.fits(plan)}
    count = rng.choices([0, 1, 2], [1, 14, 5])[0]
    kinds = rng.choices(list(fitting), list(fitting.values()), k=count)
    if only:
        kinds = [kind for kind in fitting if kind.__name__ == only]
    return [kind(rng, plan) for kind in kinds]


def unnoticed(faults):
    """
    A supervisor whose connection the network broke may come back. If it has ended meanwhile, the
    rendezvous knows that after five minutes only.
    """
    return any(isinstance(fault, (Reset, Network)) for fault in faults) and any(
        isinstance(fault, (SuperviseSignal, TaskSignal, StepdSignal, Memory)) for fault in faults)
