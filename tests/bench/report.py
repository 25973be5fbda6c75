# SPDX-License-Identifier: GPL-2.0-or-later
"""
The statistics of tests/bench/launch, and its rows of figures.

Launches are compared round by round: a round has one launch of each kind, so a disturbance of
the machine that lasts longer than a round affects all kinds alike.
"""
import math
import statistics
from typing import NamedTuple

# With fewer rounds the interval is only the range of all rounds.
MIN_ROUNDS = 10

HEAD = f"""\
  {'':30}{'wall time':>11}  {'ratio to plain srun':44}{'CPU time per task, us':>24}
  {'':30}{'median':>11}  {'95 % interval':>19}  {'target':23}{'nodes':>8}{'srun':>8}{'sum':>8}"""

PLAIN_BEGINS = "plain srun begins"
FROM_FAILURE = "again, from the failure"
FROM_LAST_END = "again, from the last end of a life"


class Point(NamedTuple):
    """A median of a table, and its interval. The fields of results.tsv, which tests/bench/plot.py reads."""
    table: int
    nodes: int
    tasks: int
    kind: str
    measure: str                # "ms", or "ratio" to plain srun
    median: float
    low: float
    high: float


def append(file, table, nodes, tasks, points):
    """Add points, each a tuple of the last five fields, to a file; the first line names the fields."""
    with open(file, "a", encoding="utf-8") as f:
        if not f.tell():
            print(*Point._fields, sep="\t", file=f)
        for kind, measure, *values in points:
            print(table, nodes, tasks, kind, measure, *(f"{value:.3f}" for value in values), sep="\t", file=f)


def read(file):
    """The points of a file."""
    convert = Point.__annotations__.values()
    with open(file, encoding="utf-8") as f:
        rows = [line.rstrip("\n").split("\t") for line in f]
    return [Point(*(to(text) for to, text in zip(convert, row))) for row in rows[1:]]


def interval(values):
    """
    The 95 % confidence interval of the median, from the binomial distribution of ranks: nothing
    is assumed about how the values are distributed.
    """
    width = 0.98 * math.sqrt(len(values))
    middle = (len(values) - 1) / 2
    ordered = sorted(values)
    return (ordered[max(0, math.floor(middle - width))],
            ordered[min(len(values) - 1, math.ceil(middle + width))])


def _medians_ratio(values, base):
    return statistics.median(values) / statistics.median(base)


def _medians_difference(values, base):
    return statistics.median(values) - statistics.median(base)


def _against_target(low, high, target, rounds):
    if target is None:
        return ""
    if rounds < MIN_ROUNDS:
        return "too few rounds"
    if low <= target < high:
        return f"{target} is in the interval"
    return f"{'within' if high <= target else 'ABOVE'} {target}"


def _against_rival(ours, rival):
    """The verdict on a rival of --tf-tasks, which has no target of its own."""
    low, high = interval([a / b for a, b in zip(rival, ours)])
    if len(ours) < MIN_ROUNDS:
        return "too few rounds"
    if low <= 1 <= high:
        return "as fast as --tf-tasks"
    return f"{'slower' if low > 1 else 'FASTER'} than --tf-tasks"


def _ratio(values, base):
    """The ratio of two medians, and its interval."""
    return _medians_ratio(values, base), *interval([a / b for a, b in zip(values, base)])


def _wall(ratio, low, high, verdict):
    return f"{ratio:5.3f} [{low:.3f} {high:.3f}]  {verdict(low, high):22}"


def _per_task(launches, part, tasks):
    """One part of the CPU time of each launch, or the sum for None, per task."""
    return [(each.cpu[part] if part is not None else sum(each.cpu)) / tasks for each in launches]


def _cpu_of_slurm(launches, tasks):
    sizes = [statistics.median(_per_task(launches, part, tasks)) for part in (0, 1, None)]
    return "".join(f"{size:8.0f}" for size in sizes)


def _cpu_added(launches, base, tasks):
    added = [_medians_difference(_per_task(launches, part, tasks), _per_task(base, part, tasks))
             for part in (0, 1, None)]
    low, high = interval([a - b for a, b in zip(_per_task(launches, None, tasks),
                                                _per_task(base, None, tasks))])
    return "".join(f"{size:+8.0f}" for size in added) + f"  [{low:+.0f} {high:+.0f}]"


def _verdict(kind, launches, ms):
    """How to judge the interval of a kind's ratio."""
    if kind.rival_of:
        return lambda low, high: _against_rival([each.ms for each in launches[kind.rival_of]], ms)
    return lambda low, high: _against_target(low, high, kind.target, len(ms))


def print_step(tasks, kinds, launches):
    """
    One row for each kind. LAUNCHES has, for each kind's name, its launches in the order of the
    rounds; each has `ms`, and `cpu`: microseconds on the nodes and of srun, or None.
    Returns the points.
    """
    points = []
    for kind in kinds:
        mine = launches[kind.name]
        ms = [each.ms for each in mine]
        points.append((kind.name, "ms", statistics.median(ms), *interval(ms)))
        row = f"  {kind.name:30}{statistics.median(ms):8.1f} ms"
        if kind.base:
            base = launches[kind.base]
            ratio = _ratio(ms, [each.ms for each in base])
            points.append((kind.name, "ratio", *ratio))
            row += "  " + _wall(*ratio, _verdict(kind, launches, ms))
        else:
            row += " " * 46
        if mine[0].cpu:
            row += _cpu_added(mine, base, tasks) if kind.base else _cpu_of_slurm(mine, tasks)
        print(row.rstrip(), flush=True)
    return points


def print_end(stopped, plain, ours, target, memory):
    """The end of a job, in milliseconds; memory is a list of (RSS, PSS, private pages) in KiB."""
    added = _medians_difference(ours, plain)
    low, high = interval([a - b for a, b in zip(ours, plain)])
    verdict = _against_target(low, high, target, len(ours))
    print(f"  {'all tasks end by themselves':30}{statistics.median(plain):8.1f} ms\n"
          f"  {f'{stopped} tasks are stopped':30}{statistics.median(ours):8.1f} ms  "
          f"{added:+.0f} ms [{low:+.0f} {high:+.0f}]  {verdict}")
    if memory:
        rss, pss, private = (statistics.median(sizes) for sizes in zip(*memory))
        print(f"  memory of one tf-supervise: RSS {rss:.0f} KiB; PSS {pss:.0f} KiB, which counts "
              f"a page shared\n  by N processes as 1/N of a page; {private:.0f} KiB that only it has", flush=True)


def print_restarts(tasks, plain, failed, ended, target):
    """
    Until the last task has begun, in milliseconds: plain launches, and restarts beyond their pause,
    from the failure and from the last end of a former life. Returns the points.
    """
    what = "1 task" if tasks == 1 else f"{tasks} tasks"
    points = [(PLAIN_BEGINS, "ms", statistics.median(plain), *interval(plain))]
    print(f"  {f'{PLAIN_BEGINS} {what}':44}{statistics.median(plain):8.1f} ms")
    for name, values, limit in ((FROM_FAILURE, failed, None), (FROM_LAST_END, ended, target)):
        low, high = interval(values)
        ratio = _ratio(values, plain)
        points += [(name, "ms", statistics.median(values), low, high), (name, "ratio", *ratio)]
        print(f"  {f'{what} {name}':44}{statistics.median(values):8.1f} ms  [{low:.1f} {high:.1f}]  "
              f"{ratio[0]:.3f} [{ratio[1]:.3f} {ratio[2]:.3f}]  "
              f"{_against_target(low, high, limit, len(values))}".rstrip(), flush=True)
    return points


def print_watch(rate, used, targets):
    """The part of a core that the busiest process of each program has used, while tasks sent so many messages."""
    parts = [f"{name} {100 * used[name]:.4f} %" + (" ABOVE" if used[name] > target else "") + f" (at most {100 * target:g} %)"
             for name, target in targets.items()]
    print(f"  {f'{rate} messages in a second':44}{', '.join(parts)}", flush=True)
