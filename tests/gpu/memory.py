# SPDX-License-Identifier: GPL-2.0-or-later
#
# The memory of the device that is in use, and whether a life has it for itself when it begins.
#
#     memory.py sample FILE           add a line to FILE every few milliseconds, the time and MiB, until it is killed
#     memory.py judge FILE NOTES      fail if memory of a former life is in use when the program of a life begins; print how
#                                     long after its fault it was free. NOTES are of program.py, with "begin TIME LIFE"
#
# With SPANK_TF_GPU=cpu it is the number of files GPU_MEMORY* that are locked.

import ctypes
import errno
import fcntl
import glob
import os
import struct
import sys
import time


class Memory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


def of_device():
    nvml, device = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.c_void_p()

    def call(function, *arguments):
        code = getattr(nvml, function)(*arguments)
        if code:
            sys.exit("memory.py: %s: NVML's error %d" % (function, code))

    def used():
        memory = Memory()
        call("nvmlDeviceGetMemoryInfo", device, ctypes.byref(memory))
        return memory.used >> 20

    call("nvmlInit_v2")
    call("nvmlDeviceGetHandleByIndex_v2", 0, ctypes.byref(device))
    return used


def is_locked(path):
    request = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    with open(path) as f:
        return struct.unpack("hhqqi4x", fcntl.fcntl(f, fcntl.F_GETLK, request))[0] != fcntl.F_UNLCK


def of_locks():
    return sum(is_locked(path) for path in glob.glob(os.environ["GPU_MEMORY"] + "*"))


def sample(file):
    used = of_locks if os.environ.get("SPANK_TF_GPU") == "cpu" else of_device()
    with open(file, "w", buffering=1) as f:
        while True:
            f.write("%.3f %d\n" % (time.time(), used()))
            time.sleep(0.005)


def judge(file, notes):
    # The last line may not be complete.
    samples = [(float(t), int(m)) for t, m in (line.split() for line in open(file).read().split("\n")[:-1])]
    marks = [line.split() for line in open(notes)]
    begins = [(int(n), float(t)) for what, t, n in marks if what == "begin"]
    faults = [(int(n), float(t)) for what, t, n in marks if what == "fault"]
    unused = samples[0][1]
    taken = max(m for _, m in samples) - unused
    result = 0 if taken > 0 and faults else "no memory was taken"
    for life, fault in faults:
        begin = min(t for n, t in begins if n == life + 1)
        limit = unused + taken // 10
        free = next((t for t, m in samples if t >= fault and m <= limit), None)
        if free is None or free > begin:
            later = next((m for t, m in samples if t >= begin), None)
            result = "life %d begins while %s MiB of the former one are in use" % (life + 1, later)
        else:
            print("life %d: memory free %.2f s after the fault of the former one, program begun after %.2f s"
                  % (life + 1, free - fault, begin - fault))
    sys.exit(result)


sample(sys.argv[2]) if sys.argv[1] == "sample" else judge(*sys.argv[2:])
