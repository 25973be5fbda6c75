# SPDX-License-Identifier: GPL-2.0-or-later
"""
The CPU time of a group of processes, counted by the kernel in a cgroup (version 2).

Every process that a member starts is a member too, and its time still counts after it has
ended. The kernel counts what the scheduler gave to each thread, to the microsecond; it needs no
cgroup controller for that. Kernel threads, which do part of the network's work, are not members
and are not counted.
"""
import os
import time

# A cgroup that has just lost its last process can stay busy for a moment.
REMOVE_SECONDS = 5


def _mount_point():
    """Where cgroup version 2 is mounted, or None."""
    with open("/proc/self/mountinfo", encoding="utf-8") as f:
        for line in f:
            mount, _, filesystem = line.partition(" - ")
            if filesystem.startswith("cgroup2 "):
                return mount.split()[4]
    return None


class Group:
    """An existing cgroup."""

    def __init__(self, path):
        self.path = path
        # Opened by root, so that a process can still enter when it is about to change its user.
        self._members = os.open(path + "/cgroup.procs", os.O_WRONLY | os.O_CLOEXEC)

    def add(self, pid):
        os.write(self._members, str(pid).encode())

    def enter(self):
        """Make this process a member. Safe between fork() and exec()."""
        os.write(self._members, b"0")

    def size(self):
        """The number of processes in it."""
        with open(self.path + "/cgroup.procs", encoding="utf-8") as f:
            return len(f.readlines())

    def microseconds(self):
        with open(self.path + "/cpu.stat", encoding="utf-8") as f:
            fields = dict(line.split() for line in f)
        return int(fields["usage_usec"])


def create(names):
    """Create a cgroup with one child for each name. Its path, or None if this is not possible."""
    mount = _mount_point()
    if not mount:
        return None
    path = f"{mount}/spank-tf-bench.{os.getpid()}"
    try:
        for name in names:
            os.makedirs(f"{path}/{name}")
    except OSError:
        remove(path)
        return None
    return path


def remove(path):
    """Remove what create() has made, after the last of its processes has ended."""
    deadline = time.monotonic() + REMOVE_SECONDS
    for folder, _, _ in os.walk(path, topdown=False):
        while True:
            try:
                os.rmdir(folder)
                break
            except OSError:
                if time.monotonic() > deadline:
                    return
                time.sleep(0.05)
