# SPDX-License-Identifier: GPL-2.0-or-later
"""
The private cluster of the campaign, seen from its login host, where a worker of the campaign runs:
commands as the user, processes, nodes and daemons.
"""
import contextlib
import os
import pwd
import re
import resource
import signal
import subprocess
import time
from typing import NamedTuple

CLUSTER = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "cluster")
# A command that answers at once; the machine may be busy.
COMMAND_SECONDS = 60


class Process(NamedTuple):
    """A process, as /proc shows it. A zombie is none."""
    pid: int
    name: str
    parent: int
    state: str


def read(path):
    """The contents of a file, "" if there is none."""
    with contextlib.suppress(OSError):
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read()
    return ""


def write(path, text):
    """Write to a file of the kernel, which may refuse it."""
    with contextlib.suppress(OSError):
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)


def remove_directory(path):
    with contextlib.suppress(OSError):
        os.rmdir(path)
    return not os.path.exists(path)


def stat_of(pid):
    """A Process, or None if it has ended."""
    text = read(f"/proc/{pid}/stat")
    if not text:
        return None
    name = text[text.index("(") + 1:text.rindex(")")]
    state, parent = text[text.rindex(")") + 2:].split()[:2]
    return None if state in "ZX" else Process(int(pid), name, int(parent), state)


def send(pid, number):
    """Send a signal to a process that may have ended."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def eventually(seconds, condition, pause=0.02):
    """Wait until a condition holds. Returns its last value."""
    deadline = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < deadline:
        time.sleep(pause)
    return value


class Cluster:
    """The cluster in $PRIVATE_SLURM and the two users of its jobs."""

    def __init__(self, user, other_user):
        self.dir = os.environ["PRIVATE_SLURM"]
        self.work = self.dir + "/work"
        self.nodes = read(self.dir + "/nodes").split()
        self.user, self.other_user = pwd.getpwnam(user), pwd.getpwnam(other_user)
        self.namespaces = {self.network(self.keeper(node)): node for node in self.nodes}
        self.login = self.network("self")
        self.address = {}
        for line in read(self.dir + "/hosts").splitlines():
            address, name = line.split()
            self.address[name] = address
        resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)

    # Commands

    def start(self, *argv, user=None, **options):
        """Start a command on the login host, as the user unless another one is given."""
        user = user or self.user
        env = {**os.environ, "HOME": user.pw_dir, "USER": user.pw_name, "LOGNAME": user.pw_name}
        return subprocess.Popen(argv, user=user.pw_uid, group=user.pw_gid, extra_groups=[], env=env,
                                cwd=self.work, stdin=subprocess.DEVNULL, text=True, **options)

    def run(self, *argv, user=None):
        """Run a command as the user. Returns its exit code, stdout and stderr."""
        child = self.start(*argv, user=user, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            out, err = child.communicate(timeout=COMMAND_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
            return -1, "", f"{argv[0]} takes longer than {COMMAND_SECONDS} s"
        return child.returncode, out, err

    def root(self, *argv):
        """Run a command on the login host as root; it may fail. Returns its output."""
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, text=True, capture_output=True,
                              timeout=COMMAND_SECONDS, check=False, cwd="/")
        return done.stdout + done.stderr

    def enter(self, host):
        """The words before a command that make it run on a host, as root."""
        if host == "login":
            return []
        return ["nsenter", "-t", str(self.keeper(host)), "-m", "-n", "-u"]

    def on(self, host, *argv):
        return self.root(*self.enter(host), *argv)

    def start_on(self, host, *argv, user):
        """Start a command on a host as this user. Its output is a pipe."""
        # Only root may enter.
        become = ["setpriv", "--reuid", str(user.pw_uid), "--regid", str(user.pw_gid),
                  "--clear-groups"]
        return subprocess.Popen([*self.enter(host), *become, *argv], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                cwd=self.work)

    # Processes

    def keeper(self, host):
        """The process that keeps a host's namespaces."""
        return int(read(f"{self.dir}/ns/{host}"))

    @staticmethod
    def network(pid):
        try:
            return os.readlink(f"/proc/{pid}/ns/net")
        except OSError:
            return None

    def host_of(self, pid):
        return self.namespaces.get(self.network(pid), "login")

    def has(self, pid):
        """Is it a process on one of the hosts? Another cluster's user may have the same number."""
        network = self.network(pid)
        return network == self.login or network in self.namespaces

    def processes(self, user=None):
        """The processes of the user."""
        uid, found = (user or self.user).pw_uid, []
        for entry in os.scandir("/proc"):
            if entry.name.isdigit():
                with contextlib.suppress(OSError):
                    if entry.stat().st_uid == uid and (process := stat_of(entry.name)) \
                            and self.has(process.pid):
                        found.append(process)
        return found

    def pids_on(self, host):
        return [int(entry.name) for entry in os.scandir("/proc")
                if entry.name.isdigit() and self.namespaces.get(self.network(entry.name)) == host]

    def stepds(self):
        """(pid, node, job.step) of every slurmstepd in this cluster."""
        found = []
        for entry in os.scandir("/proc"):
            if not entry.name.isdigit():
                continue
            match = re.match(r"slurmstepd: \[([^]]*)\]", read(f"/proc/{entry.name}/cmdline"))
            if match and self.network(entry.name) in self.namespaces:
                process = stat_of(entry.name)
                # Not a task that has not exec'd yet.
                if process and process.name.startswith("slurmstepd"):
                    found.append((process.pid, self.host_of(process.pid), match[1]))
        return found

    def files(self):
        """The paths of the users' files, where a job may leave some."""
        found, uids = set(), (self.user.pw_uid, self.other_user.pw_uid)
        for directory in ("/tmp", "/dev/shm", "/var/tmp", self.work):
            for entry in os.scandir(directory):
                with contextlib.suppress(OSError):
                    if entry.stat(follow_symlinks=False).st_uid in uids:
                        found.add(entry.path)
        return found

    # Slurm

    def jobs(self):
        """The ids of all jobs that have not ended."""
        ended = {"CD", "CA", "F", "TO", "NF", "DL", "OOM", "PR"}
        lines = self.run("squeue", "-h", "-t", "all", "-o", "%i %t")[1].splitlines()
        return [line.split()[0] for line in lines if line.split()[1] not in ended]

    def steps(self):
        """The ids of all steps with tasks."""
        return [step for step in self.run("squeue", "-h", "-s", "-o", "%i")[1].split()
                if not step.endswith((".batch", ".extern"))]

    def busy_nodes(self):
        """"NAME STATE REASON" of every node that is not idle."""
        lines = self.run("sinfo", "-h", "-N", "-o", "%N %T %E")[1].splitlines()
        return [line for line in lines if line.split()[1] != "idle"] if lines else ["none"]

    def cancel_all(self):
        """End everything that a broken trial has left."""
        for user in (self.user, self.other_user):
            self.run("scancel", "--quiet", "--user", user.pw_name, user=user)
            for process in self.processes(user):
                send(process.pid, signal.SIGCONT)
                send(process.pid, signal.SIGKILL)

    def kill(self, name=None):
        """Kill the user's processes, or those with this name."""
        for process in self.processes():
            if name in (None, process.name):
                send(process.pid, signal.SIGKILL)

    # Daemons

    def slurmd(self, node):
        """Its process, or None."""
        pid = read(f"{self.dir}/{node}.pid").strip()
        process = stat_of(pid) if pid else None
        return process if process and process.name == "slurmd" else None

    def start_slurmd(self, node):
        """Start it again after a fault has ended it."""
        with open(f"{self.dir}/log/{node}.log", "a", encoding="utf-8") as log:
            subprocess.run([*self.enter(node), "slurmd", "-N", node], stdin=subprocess.DEVNULL,
                           stdout=log, stderr=log, check=False, cwd="/", start_new_session=True)

    def mend_nodes(self):
        """Bring back nodes that Slurm has given up because of a fault."""
        for line in self.busy_nodes():
            name, state = line.split()[:2]
            if state.startswith(("drain", "down")):
                self.root("scontrol", "update", f"nodename={name}", "state=resume")

    def check(self):
        """
        `tests/cluster check`: 0 if all daemons run, 3 if one had died by Slurm's own fault, else 4;
        and its report. Daemons that had died run again.
        """
        done = subprocess.run([CLUSTER, "check", "--dir", self.dir], stdin=subprocess.DEVNULL,
                              text=True, capture_output=True, check=False, cwd="/",
                              env={k: v for k, v in os.environ.items() if k != "PRIVATE_SLURM"})
        return done.returncode, done.stdout + done.stderr

    def daemons_run(self):
        return all(map(self.slurmd, self.nodes)) and stat_of(
            read(f"{self.dir}/slurmctld.pid").strip() or 0)

    @staticmethod
    def size_of_slurmd(pid):
        """Its open descriptors and its memory in KiB."""
        rss = re.search(r"RssAnon:\s+(\d+)", read(f"/proc/{pid}/status"))
        return len(os.listdir(f"/proc/{pid}/fd")), int(rss[1]) if rss else 0
