# SPDX-License-Identifier: GPL-2.0-or-later
"""
The memory and the open descriptors of Slurm's daemons.

A daemon that has nothing to do opens and closes descriptors, and its heap is never quite the
same size. So a look takes the least of several sizes, and the growth that counts as a leak is far
above what varies: more than MAX_DESCRIPTORS descriptors, or than MAX_KIB of memory for each
thousand launches.
"""
import os
import time
from typing import NamedTuple

LOOKS = 20
PAUSE = 0.1

MAX_DESCRIPTORS = 10
MAX_KIB = 4096


class Size(NamedTuple):
    """Of one process."""
    kib: int            # of memory that is its own: heap and stacks
    descriptors: int


def _size(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as f:
        kib = next(int(line.split()[1]) for line in f if line.startswith("Anonymous:"))
    return Size(kib, len(os.listdir(f"/proc/{pid}/fd")))


def look(pids):
    """The sizes of these processes when they have nothing to do, by name."""
    looks = {name: [] for name in pids}
    for _ in range(LOOKS):
        for name, pid in pids.items():
            looks[name].append(_size(pid))
        time.sleep(PAUSE)
    return {name: Size(*map(min, zip(*sizes))) for name, sizes in looks.items()}


def compare(before, between, after, launches):
    """
    Print the growth by plain launches, from `before` to `between`, and by `launches` with a list,
    from there to `after`. Returns what is wrong.
    """
    wrong = []
    print(f"  {'':12}{'memory, KiB':>14}{'plain':>14}{'with a list':>14}"
          f"{'descriptors':>14}{'plain':>14}{'with a list':>14}")
    for name, first in before.items():
        plain_kib, plain_descriptors = (b - a for a, b in zip(first, between[name]))
        kib, descriptors = (b - a for a, b in zip(between[name], after[name]))
        print(f"  {name:12}{first.kib:14}{plain_kib:+14}{kib:+14}"
              f"{first.descriptors:14}{plain_descriptors:+14}{descriptors:+14}")
        if descriptors > MAX_DESCRIPTORS:
            wrong.append(f"{name} has {descriptors} more descriptors after {launches} launches")
        if kib > MAX_KIB * max(launches, 1000) / 1000:
            wrong.append(f"{name} has {kib} KiB more memory after {launches} launches")
    return wrong
