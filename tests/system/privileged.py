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


def main():
    process = {}                # of a thread
    privileged = {}             # of a process: has it slurmstepd's privileges?
    calls = collections.Counter()
    started = {}                # a call of a thread that was interrupted by a line of another one

    for line in open(sys.argv[1], encoding="utf-8", errors="replace"):
        match = CALL.match(line)
        if not match:
            continue
        thread, call = match.groups()
        if line.rstrip().endswith("<unfinished ...>"):
            started[thread] = line.split("<unfinished")[0].rstrip()
            continue
        if "resumed>" in line:
            line = started.pop(thread, "") + line.split("resumed>", 1)[1]
        me = process.setdefault(thread, thread)
        result = RESULT.search(line[line.rfind(")"):] if ")" in line else line)
        if call == "execve" and "/slurmstepd\"" in line:
            privileged[me] = True
        if call in ("clone", "clone3", "fork", "vfork") and result and int(result.group(1)) > 0:
            child = result.group(1)
            process[child] = me if "CLONE_THREAD" in line else child
            if process[child] == child:
                privileged[child] = privileged.get(me, False)
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
