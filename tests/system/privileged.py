#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
What slurmstepd did as root, from strace of slurmd and its children.

    strace -f -qq -o TRACE -p SLURMD &
    privileged.py TRACE

Prints the system calls, without their numbers, of every slurmstepd and of each of its children until that has become
its user for good. Each kind of call is one line, sorted; with a new process or program, how often.
"""
import collections
import re
import sys

CALL = re.compile(r"(\d+) +(?:<\.\.\. )?(\w+)(?:\(| resumed>)")
RESULT = re.compile(r"= (-?\d+)")


def lines(path):
    """(thread, call, line, result) of each call that is complete, in the order of their ends."""
    started = {}                # a call of a thread that was interrupted by a line of another one
    for line in open(path, encoding="utf-8", errors="replace"):
        match = CALL.match(line)
        if not match:
            continue
        thread, call = match.groups()
        if line.rstrip().endswith("<unfinished ...>"):
            started[thread] = line.split("<unfinished")[0].rstrip()
            continue
        if "resumed>" in line:
            line = started.pop(thread, "") + line.split("resumed>", 1)[1]
        result = RESULT.search(line[line.rfind(")"):] if ")" in line else line)
        yield thread, call, line, int(result.group(1)) if result else 0


def main():
    parent = {}                 # of a thread: who has begun it, and whether as a thread
    for thread, call, line, result in lines(sys.argv[1]):
        if call in ("clone", "clone3", "fork", "vfork") and result > 0:
            parent[str(result)] = (thread, "CLONE_THREAD" in line)

    process = {}                # of a thread
    privileged = {}             # of a process: has it slurmstepd's privileges?
    calls = collections.Counter()

    def begin(thread):
        """Its first line may come before that of the call that has begun it."""
        if thread in process or thread not in parent:
            return process.setdefault(thread, thread)
        beginner, is_thread = parent[thread]
        process[thread] = begin(beginner) if is_thread else thread
        if not is_thread:
            privileged[thread] = privileged.get(begin(beginner), False)
        return process[thread]

    for thread, call, line, _ in lines(sys.argv[1]):
        me = begin(thread)
        if call == "execve" and "/slurmstepd\"" in line:
            privileged[me] = True
        if not privileged.get(me):
            continue
        if call in ("setuid", "setresuid", "setreuid") and not re.search(r"\((?:0|-1|4294967295)[,)]", line):
            privileged[me] = False
            continue
        text = line.split(None, 1)[1].split(" = ")[0].strip()
        calls[re.sub(r"0x[0-9a-f]+|\d+", "N", text)] += 1
    for text, times in sorted(calls.items()):
        new = text.startswith(("execve", "clone", "fork", "vfork")) and "CLONE_THREAD" not in text
        print(f"{times} times {text}" if new else text)


main()
