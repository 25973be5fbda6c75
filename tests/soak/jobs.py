# SPDX-License-Identifier: GPL-2.0-or-later
"""
Jobs at random: each is of one of the users and has one or two steps with a list, whose tasks run
task-check. check_job() judges one job by itself, held_twice() all of them together.
"""
import re
import shlex
from collections import defaultdict
from typing import NamedTuple

# Of one job at a time.
MAX_TASKS = 12
# The ports that most jobs compete for: a few more than the most jobs at a time can have.
PORTS = "28000-28191"
SOME_PORTS = "28000-28063,28100-28191,28064"
# The longest that a task serves after it has checked everything, in seconds.
MAX_LINGER = 3
# How long a task may wait for its peers on a busy machine.
PEER_SECONDS = 120

# The roles of the dictionary that all tasks share, in its order.
DICTIONARY = ("chief", "master", "ps", "worker")

LINE = re.compile(r"task-check: rank (?P<rank>\d+) (?P<role>\w+) (?P<index>\d+) (?P<node>\S+) "
                  r"(?P<host>\S+):(?P<port>\d+) ok digest=(?P<digest>\w+) step=(?P<step>\S+) "
                  r"ran=(?P<begin>[\d.]+)-(?P<end>[\d.]+)")


class Task(NamedTuple):
    """A task that has run and found everything right."""
    step: str
    rank: int
    role: str
    index: int
    node: str
    host: str
    port: int
    digest: str
    begin: float        # it held its port from here at the latest
    end: float          # to here at least

    def __str__(self):
        return f"rank {self.rank} ({self.role} {self.index}) of step {self.step}"


class Job(NamedTuple):
    """What to start, and the roles of each of its steps in rank order."""
    number: int
    name: str           # in Slurm
    user: str
    kind: str
    argv: list
    steps: list
    files: list = ()    # where the output is, if it does not come from the command


# A list and how it is spelled

def random_roles(rng, most=MAX_TASKS):
    """The roles of a cluster that TensorFlow accepts, in a random order."""
    one = rng.choice(["", "", "chief", "master"])
    evaluator = rng.random() < 0.2
    ps = rng.choice([0, 1, 1, 2, 3])
    others = [one] * bool(one) + ["ps"] * ps + ["evaluator"] * evaluator
    roles = others + ["worker"] * rng.randint(1, most - len(others))
    if rng.random() < 0.5:
        rng.shuffle(roles)
    return roles


def spell(rng, roles):
    """A value of --tf-tasks for these roles; sometimes with a `rest`."""
    runs = []
    for role in roles:
        if runs and runs[-1][0] == role and rng.random() < 0.9:
            runs[-1][1] += 1
        else:
            runs.append([role, 1])
    rest = rng.randrange(2 * len(runs))
    return ",".join(f"{role}:rest" if i == rest else role if n == 1 else f"{role}:{n}"
                    for i, (role, n) in enumerate(runs))


# A step

def port_options(rng):
    """Ports are held: --tf-hold=no promises nothing to other steps."""
    return rng.choice([[], [f"--tf-ports={PORTS}"], [f"--tf-ports={PORTS}"],
                       [f"--tf-ports={SOME_PORTS}"]])


def ending(roles):
    """An evaluator that outlives the training makes srun print that it waits for it."""
    return ["--tf-stop=never"] if "evaluator" in roles else []


class Random:
    """Makes jobs of the generator `rng` for these users on these nodes."""

    def __init__(self, rng, users, nodes, program, work):
        self.rng, self.users, self.nodes, self.program, self.work = rng, users, nodes, program, work

    def jobs(self, count):
        kinds = [self.step, self.step, self.step, self.per_node, self.in_turn, self.at_a_time,
                 self.batch, self.heterogeneous]
        for number in range(count):
            user, make = self.rng.choice(self.users), self.rng.choice(kinds)
            (program, *argv), steps, *files = make(number)
            name = f"soak{number}"
            yield Job(number, name, user, make.__name__, [program, "-J", name, *argv], steps,
                      *files)

    def place(self, tasks):
        nodes = self.rng.sample(self.nodes, self.rng.randint(1, min(tasks, len(self.nodes))))
        return ["-w", ",".join(nodes), f"-N{len(nodes)}", f"-n{tasks}"]

    def task_check(self, roles):
        return [self.program, f"--roles={','.join(roles)}", f"--timeout={PEER_SECONDS}", "--times",
                f"--linger={self.rng.randint(0, MAX_LINGER)}"]

    def cluster(self, roles):
        """The options and the program of a step with a list."""
        options = port_options(self.rng)
        return ([f"--tf-tasks={spell(self.rng, roles)}", *options, *ending(roles)],
                self.task_check(roles))

    def step(self, _):
        """srun alone."""
        roles = random_roles(self.rng)
        options, program = self.cluster(roles)
        layout = self.rng.choice([[], ["-m", "block"], ["-m", "cyclic"]])
        return ["srun", "-Q", *self.place(len(roles)), *layout, *options, *program], [roles]

    def per_node(self, _):
        """The same list on every node."""
        nodes = self.rng.randint(1, 3)
        mine = ["ps"] * self.rng.randint(0, 1) + ["worker"] * self.rng.randint(1, 3)
        options = port_options(self.rng)
        return (["srun", "-Q", f"-N{nodes}", f"--ntasks-per-node={len(mine)}", "-m", "block",
                 f"--tf-tasks-per-node={spell(self.rng, mine)}", *options,
                 *self.task_check(mine * nodes)], [mine * nodes])

    def two_steps(self, most):
        """The options of a job, and two steps of it that have as many tasks."""
        steps = [random_roles(self.rng, most)]
        steps.append(self.rng.sample(steps[0], len(steps[0])))
        lines = []
        for roles in steps:
            options, program = self.cluster(roles)
            lines.append(shlex.join(["srun", "-Q", "--overlap", *options, *program]))
        return self.place(len(steps[0])), lines, steps

    def in_turn(self, _):
        """Two steps of a job, one after the other."""
        place, lines, steps = self.two_steps(MAX_TASKS)
        return ["salloc", "-Q", *place, "bash", "-ec", "\n".join(lines)], steps

    def at_a_time(self, _):
        """Two steps of a job at the same time."""
        place, lines, steps = self.two_steps(MAX_TASKS // 2)
        script = f"{lines[0]} &\n{lines[1]}\nwait $!"
        return ["salloc", "-Q", *place, "bash", "-ec", script], steps

    def batch(self, number):
        """A batch job, whose step inherits the options."""
        roles = random_roles(self.rng)
        options, program = self.cluster(roles)
        files = [f"{self.work}/job.{number}.{kind}" for kind in ("out", "err")]
        return (["sbatch", "-Q", "-W", *self.place(len(roles)), "-o", files[0], "-e", files[1],
                 *options, "--wrap", shlex.join(["srun", "-Q", *program])], [roles], files)

    def heterogeneous(self, _):
        """A heterogeneous job with a list for each component."""
        ps, workers = self.rng.randint(1, 3), self.rng.randint(1, 5)
        roles = ["ps"] * ps + ["worker"] * workers
        options = port_options(self.rng)
        program = self.task_check(roles)
        return (["srun", "-Q", f"-n{ps}", f"--tf-tasks=ps:{ps}", *options, *program, ":",
                 f"-n{workers}", "--tf-tasks=worker:rest", *program], [roles])


# What must be true

def parse(text):
    """The tasks of task-check's lines, and the lines that are something else."""
    tasks, others = [], []
    for line in text.splitlines():
        found = LINE.fullmatch(line)
        if not found:
            others.append(line)
            continue
        fields = found.groupdict()
        for name in ("rank", "index", "port"):
            fields[name] = int(fields[name])
        for name in ("begin", "end"):
            fields[name] = float(fields[name])
        tasks.append(Task(**fields))
    return tasks, others


def digest(tasks):
    """What task-check prints for the dictionary of exactly these tasks."""
    cluster = []
    for role in DICTIONARY:
        own = sorted((task for task in tasks if task.role == role), key=lambda task: task.index)
        if own:
            addresses = ",".join(f'"{task.host}:{task.port}"' for task in own)
            cluster.append(f'"{role}":[{addresses}]')
    value = 0xcbf29ce484222325          # FNV-1a
    for byte in ("{" + ",".join(cluster) + "}").encode():
        value = (value ^ byte) * 0x100000001b3 % 2**64
    return f"{value:016x}"


def places(roles):
    """Rank, role and index of each task of a list."""
    return [(rank, role, roles[:rank].count(role)) for rank, role in enumerate(roles)]


def check_step(name, tasks):
    """What is wrong with the dictionaries of a step."""
    expected = digest(tasks)
    wrong = [f"{task}: its dictionary is {task.digest}, that of the step's tasks is {expected}"
             for task in tasks if task.digest != expected]
    if len({task.host for task in tasks}) < len({task.node for task in tasks}):
        wrong.append(f"step {name}: two nodes have the same address")
    return wrong


def check_job(job, code, out, err):
    """The tasks of a job that has ended, and what is wrong with it."""
    tasks, others = parse(out)
    wrong = [f"exit {code}"] * (code != 0)
    wrong += [f"printed \"{line}\"" for line in others + err.splitlines()]
    steps = defaultdict(list)
    for task in tasks:
        steps[task.step].append(task)
    found = sorted(sorted(task[1:4] for task in step) for step in steps.values())
    if found != sorted(places(roles) for roles in job.steps):
        wrong.append(f"its steps have the tasks {found}, not those of {job.steps}")
    for name, step in steps.items():
        wrong += check_step(name, step)
    return tasks, wrong


def held_twice(tasks):
    """Each two tasks that had the same port of the same node at the same time, as a text."""
    ports = defaultdict(list)
    for task in tasks:
        ports[task.node, task.port].append(task)
    texts = []
    for (node, port), own in ports.items():
        own.sort(key=lambda task: task.begin)
        for i, first in enumerate(own):
            texts += [f"port {port} of {node} was that of {first} and of {second} at the same time"
                      for second in own[i + 1:] if second.begin < first.end]
    return texts
