# SPDX-License-Identifier: GPL-2.0-or-later
"""
What must hold after a trial. Each rule is a generator of texts that say how it is broken; its name
is what the campaign prints.
"""
import glob
import json
import os
import re
import time
import traceback

import beside
import cluster as clusters
import faults
import hangs
import lives
import nodes
import plan as plans
import prologs
import restarts

# Lines of the plugin that a step may print without a fault.
USUAL = (r"(?:--tf-watchdog: without --tf-log-dir only tasks that send heartbeats are watched|"
         r"step \d+\.\d+: (?:\d+ tasks? on \d+ nodes?, network .*|how its tasks ended|"
         r"first (?:failure|to end): \+?\w+ \d+ \(\S+\) at [\d:]{8}, .*|logs are in .*|"
         + beside.FAILED + "|"
         r"the training has (?:finished|failed)\. Waiting up to \d+ s for .*|"
         r"ps \d+ \(rank \d+, \S+\) (?:failed with .*|hung)\. Its workers would wait for it forever and are "
         r"stopped|"
         r"\w+ \d+ \(rank \d+, \S+\) (?:failed with .*|hung|saved and exited with \d+)\. spank_tf does not stop the other tasks, .*|"
         r"\w+ \d+ \(rank \d+, \S+\) (?:(?:failed with .*|hung)\. The other tasks cannot continue without it and|saved and exited with \d+\. The other tasks) will be stopped in 600 s|"
         r"\+?\w+ \d+ \(rank \d+, .*did not exit within \d+ s of SIGTERM and (?:was|were) killed\. --tf-grace=.*|"
         r"time report: [\dhms ]+ in total, .*|"
         r"waiting for \d+ of \d+ tasks.*|no task has registered yet))$")
CANCELLED = r"step \d+\.\d+ was (cancelled|interrupted)$"
# After the end of srun. Slurm itself may need some seconds.
LEFT_SECONDS = 15


# Programs

def check_config(trial, record):
    """TF_CONFIG is complete, and says of this rank what is true."""
    roles = trial.plan.roles
    role, index = roles[record.rank], roles[:record.rank].count(roles[record.rank])
    if role == "spare":
        role, index = record.role, int(record.index)
    config = json.loads(record.config)
    cluster, own = config["cluster"], f"{record.address}:{record.port}"
    counts = {r: roles.count(r) for r in roles
              if r not in (*beside.NAMES, "spare") and (r != "evaluator" or role == "evaluator")}
    addresses = [address for some in cluster.values() for address in some]
    is_beside, role = role in beside.NAMES, beside.name(role)
    if config["task"] != {"type": role, "index": index}:
        yield f"TF_CONFIG says it is {config['task']}, not {role} {index}"
    elif {r: len(some) for r, some in cluster.items()} != counts:
        yield f"TF_CONFIG does not have the roles of the step: {record.config}"
    elif not is_beside and cluster[role][index] != own:
        yield f"its address is {own}, in TF_CONFIG {cluster[role][index]}"
    if len(set(addresses)) != len(addresses):
        yield f"an address occurs twice in {record.config}"
    if (record.role, record.index) != (role, str(index)):
        yield f"SLURM_TF_ROLE and SLURM_TF_INDEX are {record.role} {record.index}"
    if record.address not in (trial.cluster.address[record.node], "127.0.0.1"):
        yield f"{record.address} is not an address of {record.node}"
    if record.task_pid != record.pid:
        yield f"SLURM_TASK_PID is {record.task_pid}, its process {record.pid}"


def dictionary(trial):
    """Every program that started had the same complete dictionary, and its own place in it."""
    seen = set()
    for record in trial.lives.values():
        try:
            for text in check_config(trial, record):
                yield f"{record}: {text}"
            cluster = json.loads(record.config)["cluster"]
            cluster.pop("evaluator", None)
            seen.add(json.dumps(cluster))
        except (ValueError, LookupError, TypeError) as error:
            yield f"{record}: {error!r}: {record.config}"
    if len(seen) > 1 + len(nodes.replacements(trial)):
        yield f"programs have different dictionaries: {seen}"


def programs(trial):
    """If nothing can have disturbed the step, every program has run, and its output is complete."""
    possible = any(e.codes or e.loses_output for e in effects(trial))
    if disturbed(trial) or trial.early or possible:
        return
    roles, text = trial.plan.roles, clusters.read(trial.output)
    for rank, role in enumerate(roles):
        if rank not in trial.records and role != "spare":
            yield f"program {rank} has never started"
        if trial.plan.logs:
            text = clusters.read(f"{trial.logs}/{beside.name(role)}{roles[:rank].count(role)}.log")
        if text.count(f"program {rank} has started\n") < sum(
                record.rank == rank for record in trial.lives.values()):
            yield f"the output of program {rank} is lost: {text}"


# The end of the step

def effects(trial):
    return [fault.effect() for fault in trial.faults()]


def disturbed(trial):
    """srun did not end as it would have without the faults."""
    return trial.cancelled or trial.code not in codes(trial)


def codes(trial):
    """
    What srun may exit with without the faults. A fault may be the reason that a life which was to
    be followed by another one is a task's last one.
    """
    if trial.plan.restarts and lives.is_disturbed(trial):
        return trial.plan.codes() | trial.plan.planned_codes() | {0}
    # Tasks that wait for the one that hangs end with it, and not as they would have.
    if hangs.verdicts(trial):
        return trial.plan.codes() | trial.plan.planned_codes()
    return trial.plan.codes()


def end(trial):
    """srun ended in time."""
    yield from trial.wrong
    if trial.cancelled and not any(e.goes_on for e in effects(trial)) \
            and not faults.unnoticed(trial.faults()):
        yield f"srun has not ended within {trial.bound():.0f} s"


def code(trial):
    """srun's exit code tells what happened."""
    allowed = codes(trial).union(*(e.codes for e in effects(trial)))
    if trial.cancelled:
        allowed |= {137, 143}
    # Of a batch job whose end has killed the script, it is not known.
    unknown = trial.code is None and any(e.ends is None for e in effects(trial))
    if trial.code not in allowed and not unknown:
        yield f"srun's exit code is {trial.code}, not of {sorted(allowed)}"


def cause(trial):
    """
    If srun's exit code is due to a fault, or the step did not end because of it, a line names the
    fault. A killed srun cannot print.
    """
    possible = [e.cause for e in effects(trial)
                if e.cause and (trial.code in e.codes or trial.cancelled and e.goes_on)]
    lines = clusters.read(trial.output).splitlines()
    # Of several faults another one may be the reason, as a want of memory that has killed srun.
    if any(not e.cause and trial.code in e.codes for e in effects(trial)):
        return
    if disturbed(trial) and possible and trial.code and trial.code > 0 \
            and not any(re.search(c, line) for c in possible for line in lines):
        yield f"no line names the cause: {possible}"


def lines(trial):
    """The plugin prints nothing unexpected."""
    expected = [c for e in effects(trial) for c in (e.cause, e.also) if c]
    for line in clusters.read(trial.output).splitlines():
        found = re.search(r"spank_tf: (.*)", line)
        if found and not re.match(USUAL, found[1]) and not re.match(CANCELLED, found[1]) \
                and not (trial.plan.restarts and re.match(restarts.LINES, found[1])) \
                and not any(re.search(c, line) for c in expected):
            yield f"an unexpected line: {line}"


def table(trial):
    """With --tf-show and --tf-log-dir, how the tasks ended is printed, and it is true."""
    paths = [trial.output] * ("--tf-show" in trial.plan.options)
    paths += [trial.logs + "/master.log"] * trial.plan.logs
    any_end = trial.cancelled or any(e.ends is None for e in effects(trial))
    may_be_missing = any_end or any(e.codes or e.loses_output for e in effects(trial))
    further = frozenset().union(*(e.ends or () for e in effects(trial)))
    if trial.plan.restarts and lives.is_disturbed(trial):
        # For a restart of all that has become impossible.
        further |= {"stopped"}
    roles = trial.plan.roles
    for path in paths:
        # The lines of master.log have dates.
        text = re.sub(r"^\d{4}-\d\d-\d\dT\S+ ", "", clusters.read(path), flags=re.M)
        text = text.partition("how its tasks ended\n")[2]
        rows = re.findall(r"^ +(\d+)  (\+?\w+) (\d+) +(\S+) +(?:\d+-)?\d\d:\d\d:\d\d  "
                          r"(exit \d+|signal \d+|stopped|killed after \d+ s|hung)(?: \((?:out of memory|its program was not .*)\))?"
                          r"(?: \(restarted \d+ times?\))?$", text, re.M)
        if len(rows) < trial.plan.tasks and not may_be_missing:
            yield f"how the tasks ended is not in {path}"
        for rank, role, index, node, how in rows:
            rank, index = int(rank), int(index)
            if (role, index) != (roles[rank], roles[:rank].count(roles[rank])) and "spare" not in roles:
                yield f"the table has rank {rank} as {role} {index}"
            if rank in trial.records and node != trial.records[rank].node:
                yield f"the table has rank {rank} on {node}"
            # A busy machine: the grace of a second is over before a program has ended.
            how = "stopped" if how.startswith("killed after") else how
            if not any_end and how not in trial.plan.ends(rank) | further:
                yield f"the table says of rank {rank}: {how}"


# Afterwards

def next_step(trial):
    """The next step is correct: in the same allocation, if there is one."""
    c, where = trial.cluster, [f"-N{len(trial.cluster.nodes)}"]
    if trial.job in c.jobs() and not any(fault.spoils_job for fault in trial.faults()):
        where = [f"--jobid={trial.job}", f"-N{trial.plan.nodes}"]
    tasks = max(2, int(where[-1][2:]))
    check = os.environ["SPANK_TF_PROGRAMS"] + "/task-check"
    status, out, err = c.run("srun", "-Q", *where, f"-n{tasks}", "-O", "--tf-tasks=ps,worker:rest",
                             "--tf-timeout=20", check,
                             "--roles=ps" + ",worker" * (tasks - 1), "--loopback-ok")
    digests = re.findall(r"ok digest=(\w+)", out)
    if status != 0 or len(digests) != tasks or len(set(digests)) != 1:
        yield f"the next step ({' '.join(where)}) ends with {status}:\n{out}{err}"


def zombies(trial):
    """Zombies whose parent lives on a host. init reaps the others in its own time."""
    shown = trial.cluster.root("ps", "-u", trial.cluster.user.pw_name, "-o", "stat=,ppid=,args=")
    rows = [line.split(None, 2) for line in shown.splitlines()]
    return [row for row in rows if row[0].startswith("Z") and trial.cluster.has(row[1])]


def nothing_left(trial):
    """No process, job or file is left, and every node is idle."""
    c = trial.cluster
    if trial.job:
        c.run("scancel", "--quiet", trial.job)
    if any(fault.loses_job for fault in trial.faults()):
        c.run("scancel", "--quiet", *c.jobs())
    if any(fault.orphans for fault in trial.faults()):
        # slurmd ends the others, unless it was killed, too.
        slurmd = any(isinstance(fault, faults.SlurmdSignal) for fault in trial.faults())
        c.kill(None if slurmd else plans.CHILD)
        c.kill(lives.PROGRAM)
    if trial.daemons_may_stay():
        c.kill(lives.PROGRAM)
        # Nor one that is forked in the moment in which it looks: the launch was given up (doc/design/supervision.md, Two guards).
        if re.search("Task launch .* failed", clusters.read(trial.output)):
            c.kill("program")
    deadline = time.monotonic() + (nodes.LEFT_SECONDS if trial.plan.no_kill else LEFT_SECONDS)
    for what, find in (("a job", c.jobs), ("a process", c.processes),
                       ("a process", lambda: c.processes(c.other_user)),
                       ("a zombie", lambda: zombies(trial)), ("a slurmstepd", c.stepds),
                       ("a node that is not idle", c.busy_nodes)):
        if not clusters.eventually(deadline - time.monotonic(), lambda: not find()):
            yield f"{what} is left: {find()}\n{trial.picture()}"
    for path in c.files() - trial.files - {trial.dir}:
        yield f"a file is left: {path}"
    for path in glob.glob(trial.dir + "/core*"):
        yield f"a program has dumped core: {path}"


RULES = [dictionary, programs, end, code, cause, lines, table, *lives.RULES, *beside.RULES, *prologs.RULES,
         *hangs.RULES, *nodes.RULES, next_step, nothing_left]


def broken(trial):
    """(rule, text) of everything that does not hold."""
    found = []
    for rule in RULES:
        try:
            found += [(rule.__name__, text) for text in rule(trial)]
        except Exception:
            found.append((rule.__name__, traceback.format_exc()))
    return found


class Growth:
    """slurmd's descriptors and memory do not grow from step to step."""

    # Trials until a new slurmd has opened and allocated what it keeps; and those to be compared.
    WARM_UP, WINDOW = 10, 10
    MORE_FILES, MORE_KIB = 2, 2048

    def __init__(self, cluster):
        self.cluster = cluster
        self.sizes = {}             # by process id: those after each trial

    def check(self):
        """Call this after each trial."""
        for node in self.cluster.nodes:
            daemon = self.cluster.slurmd(node)
            if not daemon:
                continue
            sizes = self.sizes.setdefault(daemon.pid, [])
            sizes.append(self.cluster.size_of_slurmd(daemon.pid))
            if len(sizes) >= self.WARM_UP + 2 * self.WINDOW:
                first = sizes[self.WARM_UP:][:self.WINDOW]
                yield from self.compare(node, first, sizes[-self.WINDOW:])

    def compare(self, node, first, last):
        for what, unit, more in ((0, "descriptors", self.MORE_FILES), (1, "KiB", self.MORE_KIB)):
            before, now = (min(size[what] for size in sizes) for sizes in (first, last))
            if now > before + more:
                yield f"slurmd of {node} has grown from {before} to {now} {unit}"
