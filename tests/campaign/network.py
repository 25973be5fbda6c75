# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults of the network, and strangers who use it. The rendezvous has a port of its own range."""
import re

from fault import ANY_CODE, PROGRAMS, RANKS_LATE, RENDEZVOUS_ENDED, Effect, Fault

# rendezvous_ports= of the site.
LOW, HIGH = 25000, 25999


class Reset(Fault):
    """
    All connections with the rendezvous are reset. A supervisor reconnects within 30 s. The order
    that tells it to exit may be lost, and when it reconnects the rendezvous has ended.
    """
    events = ("rank", "supervise") + PROGRAMS

    def what(self):
        return "the rendezvous' connections are reset"

    def inject(self, trial):
        out = trial.cluster.on(trial.srun_host(), "ss", "-K", "-Htn", "state", "connected",
                               f"sport >= :{LOW} and sport <= :{HIGH}")
        return f"{len(out.splitlines())} connections" if out.strip() else None

    def effect(self):
        return Effect(also=RENDEZVOUS_ENDED, seconds=35)


class Network(Fault):
    """Base: a node's network is disturbed for a while. What TCP has lost it sends again."""
    longest_ms = 4000

    def __init__(self, rng, plan):
        super().__init__(rng, plan)
        self.lasts_ms = rng.randint(50, self.longest_ms)
        self.node = rng.randrange(plan.nodes)
        self.name = None

    def rules(self, verb):
        """Commands that add (-I) or delete (-D) the disturbance."""
        raise NotImplementedError

    def inject(self, trial):
        self.name = trial.node(self.node)
        for words in self.rules("-I"):
            trial.cluster.on(self.name, *words)
        return self.name

    def repair(self, trial):
        if self.name:
            for words in self.rules("-D"):
                trial.cluster.on(self.name, *words)

    def effect(self):
        return Effect(seconds=self.lasts_ms / 1000 + 35)


class CutRendezvous(Network):
    """No packet between a node and the rendezvous arrives."""

    def what(self):
        return f"node {self.node + 1} is cut off from the rendezvous"

    def rules(self, verb):
        for chain in ("INPUT", "OUTPUT"):
            for port in ("--sport", "--dport"):
                yield ["iptables", verb, chain, "-p", "tcp", port, f"{LOW}:{HIGH}", "-j", "DROP"]


class Cut(Network):
    """No packet to or from a node arrives. Slurm itself may give up."""

    def what(self):
        return f"node {self.node + 1} is cut off"

    def rules(self, verb):
        yield ["iptables", verb, "INPUT", "-i", "eth0", "-j", "DROP"]
        yield ["iptables", verb, "OUTPUT", "-o", "eth0", "-j", "DROP"]

    def effect(self):
        return Effect(ANY_CODE, r"srun: error: ", also=RANKS_LATE, ends=None, loses_output=True,
                      seconds=self.lasts_ms / 1000 + 60)


class Lossy(Network):
    """A third of the packets to a node is lost."""

    def what(self):
        return f"node {self.node + 1} loses packets"

    def rules(self, verb):
        yield ["iptables", verb, "INPUT", "-i", "eth0", "-m", "statistic", "--mode", "random",
               "--probability", "0.3", "-j", "DROP"]


class Slow(Network):
    """A node sends at 200 kbit/s, through a buffer of half a second."""

    def what(self):
        return f"node {self.node + 1} is slow"

    def rules(self, verb):
        if verb == "-I":
            yield ["tc", "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", "200kbit",
                   "burst", "3kb", "latency", "500ms"]
        else:
            yield ["tc", "qdisc", "del", "dev", "eth0", "root"]


class Strangers(Fault):
    """Another user connects to the rendezvous and sends garbage, half frames or nothing."""
    events = ("rendezvous", "rank", "supervise") + PROGRAMS
    child = None

    def __init__(self, rng, plan):
        super().__init__(rng, plan)
        self.node = rng.randrange(plan.nodes)
        self.seed = rng.randrange(1 << 30)
        self.number = rng.choice([1, 20, 300])

    def what(self):
        return f"{self.number} connections of strangers"

    def inject(self, trial):
        host = trial.srun_host()
        found = re.search(r":(25\d\d\d)\s", trial.cluster.on(host, "ss", "-Hltn"))
        if not found:
            return None
        self.child = trial.cluster.start_on(
            trial.node(self.node), trial.dir + "/strangers", trial.cluster.address[host], found[1],
            str(self.number), str(self.seed), user=trial.cluster.other_user)
        return f"port {found[1]}"

    def repair(self, trial):
        if not self.child:
            return
        self.child.terminate()
        answers = self.child.communicate()[0]
        if answers:
            trial.wrong.append(f"the rendezvous has answered a stranger: {answers!r}")
