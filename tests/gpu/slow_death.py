# SPDX-License-Identifier: GPL-2.0-or-later
#
# slow_death.py PID DIRECTORY: when this process dies, keep it from ending while the file "traced" is in the directory. The
# file "dying" shows that it is in the kernel's exit (), which has not closed its files yet. It must have one thread.

import ctypes
import os
import sys
import time

PTRACE_CONT, PTRACE_SEIZE, PTRACE_O_TRACEEXIT, PTRACE_EVENT_EXIT, WALL = 7, 0x4206, 0x40, 6, 0x40000000

pid, directory = int(sys.argv[1]), sys.argv[2]
libc = ctypes.CDLL(None, use_errno=True)


def ptrace(request, data):
    if libc.ptrace(request, pid, None, ctypes.c_void_p(data)) < 0:
        raise OSError(ctypes.get_errno(), "ptrace")


ptrace(PTRACE_SEIZE, PTRACE_O_TRACEEXIT)
open(os.path.join(directory, "traced"), "w").close()
while True:
    _, status = os.waitpid(pid, WALL)
    if not os.WIFSTOPPED(status):
        sys.exit("it has died at once")
    if status >> 16 == PTRACE_EVENT_EXIT:
        break
    # It stops for each signal, which it gets now.
    ptrace(PTRACE_CONT, os.WSTOPSIG(status))
open(os.path.join(directory, "dying"), "w").close()
while os.path.exists(os.path.join(directory, "traced")):
    time.sleep(0.05)
ptrace(PTRACE_CONT, 0)
