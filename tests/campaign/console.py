# SPDX-License-Identifier: GPL-2.0-or-later
"""
srun's stderr, where a fault makes it hang: a pipe that is full and not read, or a terminal that was
stopped. Otherwise what is written there arrives in the trial's output at once.
"""
import contextlib
import fcntl
import os
import termios

PIPE_BYTES = 4096
# Fills the pipe; srun and the plugin print none.
FILLER = b"\0"


class Console:
    def __init__(self, trial, terminal):
        self.output, self.hangs, self.terminal = trial.output, False, terminal
        self.path = trial.dir + "/stderr"
        if terminal:
            # `out` is srun's, and stays open: then there is no error when srun has ended.
            self.reader, self.out = os.openpty()
            os.set_blocking(self.reader, False)
        else:
            trial.own(self.path, os.mkfifo)
            self.reader = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
            self.out = os.open(self.path, os.O_WRONLY)
            fcntl.fcntl(self.out, fcntl.F_SETPIPE_SZ, PIPE_BYTES)

    def hang(self):
        self.hangs = True
        if self.terminal:
            termios.tcflow(self.out, termios.TCOOFF)
            return
        # Another open file, because srun has `out`.
        filler = os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(filler, FILLER)
        os.close(filler)

    def go_on(self):
        if self.terminal and self.hangs:
            termios.tcflow(self.out, termios.TCOON)
        self.hangs = False
        self.read()

    def read(self):
        """Move what was written to the output."""
        with contextlib.suppress(BlockingIOError):
            while not self.hangs and (text := os.read(self.reader, 1 << 16)):
                with open(self.output, "ab") as output:
                    output.write(text.replace(FILLER, b"").replace(b"\r", b""))

    def close(self):
        os.close(self.reader)
        os.close(self.out)
