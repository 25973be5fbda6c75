# SPDX-License-Identifier: GPL-2.0-or-later
#
# Processes that meet as those of PyTorch do: process 0 listens at MASTER_PORT, with SO_REUSEADDR, and each other one
# sends it its number. With --fail, the last process fails in its first life, when all have met.

import errno
import os
import socket
import sys
import time

rank, world, life = (int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "TORCHELASTIC_RESTART_COUNT"))
address, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
assert os.environ.get("SLURM_TF_RESTART", "0") == str(life)


def bind(number, *options):
    server = socket.socket(socket.AF_INET6)
    server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    for option in options:
        server.setsockopt(socket.SOL_SOCKET, option, 1)
    server.bind(("::", number))
    return server


def is_taken(number, *options):
    try:
        bind(number, *options).close()
    except OSError as error:
        return error.errno == errno.EADDRINUSE
    return False


def serve():
    # Both ports are held.
    own = int(os.environ["SLURM_TF_PORT"])
    assert (own == port) == ("--one-port" in sys.argv)
    assert "--not-held" in sys.argv or is_taken(own), "its own port is free"
    assert is_taken(port), "MASTER_PORT is free"
    server = bind(port, socket.SO_REUSEADDR)
    server.listen(world)
    peers = [server.accept()[0] for _ in range(1, world)]
    assert sorted(int(peer.recv(16)) for peer in peers) == list(range(1, world))
    for peer in peers:
        peer.sendall(b"met")
    # Connections that the server closes stay in TIME_WAIT, also when its next life binds the port.
    for peer in peers:
        peer.close()


def meet():
    deadline = time.monotonic() + 20
    while True:
        try:
            peer = socket.create_connection((address, port))
            break
        except ConnectionRefusedError:
            assert time.monotonic() < deadline, "process 0 does not listen"
            time.sleep(0.02)
    peer.sendall(b"%d" % rank)
    assert peer.recv(16) == b"met"


if rank == 0:
    serve()
else:
    meet()
if "--fail" in sys.argv and life == 0:
    if rank == world - 1:
        sys.exit(3)
    time.sleep(1000)
print(f"meet: {rank} of {world}, life {life}, at {address}:{port}" if "--where" in sys.argv
      else f"meet: {rank} of {world}, life {life}", flush=True)
