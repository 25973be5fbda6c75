#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
The results of tests/bench/launch as pictures.

    tests/bench/plot.py RESULTS DIR             write DIR/bench-launch.svg and DIR/bench-restart.svg
    tests/bench/plot.py --check RESULTS DIR     every point of RESULTS, and its interval, is in these
                                                pictures, at its place on the axis, and its ratio in
                                                DIR/tables, which the launch has printed

RESULTS is what `tests/bench/launch --results=RESULTS` has written. The same RESULTS give the same
bytes with the same matplotlib. Tables 1, 2 and 5 are launches, table 6 is restarts; the others have
no picture.
"""
import math
import os
import re
import sys
import xml.etree.ElementTree

sys.dont_write_bytecode = True

import report

SVG = "{http://www.w3.org/2000/svg}"
LAUNCHES = (1, 2, 5)
RESTARTS = 6
# These can be read on white and on black.
TEXT = "#767676"
COLOURS = ("#767676", "#2f81d6", "#2a9d4e", "#cf6a12", "#a45fd0", "#d9485f")
MARKERS = "osD^vP"
SETTINGS = {
    "svg.fonttype": "none", "svg.hashsalt": "spank-tf", "font.family": ["DejaVu Sans", "sans-serif"],
    "font.size": 10, "text.color": TEXT, "axes.labelcolor": TEXT, "axes.edgecolor": TEXT, "xtick.color": TEXT,
    "ytick.color": TEXT, "axes.spines.top": False, "axes.spines.right": False, "axes.titlesize": 10,
    "grid.color": TEXT, "grid.alpha": 0.3, "legend.frameon": False, "lines.markersize": 4.5, "axes.axisbelow": True,
}
# Of a row of table 6: what the picture calls it.
RESTART_ROWS = {
    report.PLAIN_BEGINS: "plain srun:\nfrom its start",
    report.FROM_LAST_END: "restart: from the last\nend of a life",
    report.FROM_FAILURE: "restart: from the\nfailure",
}


def count(number, noun):
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def step_name(nodes, tasks):
    return f"{count(nodes, 'node')}\n{count(tasks, 'task')}"


def place(point):
    """The id of a point in its picture."""
    kind = re.sub("[^a-z0-9]+", "-", point.kind.lower()).strip("-")
    return f"{point.measure}-{point.nodes}-{point.tasks}-{kind}"


def steps_of(points):
    return list(dict.fromkeys((point.nodes, point.tasks) for point in points))


def shown(points):
    """The points of each picture, by its name."""
    return {"bench-launch.svg": [point for point in points if point.table in LAUNCHES],
            "bench-restart.svg": [point for point in points if point.table == RESTARTS and point.measure == "ms"]}


# Drawing

def plain_log_axis(axis, values):
    """A logarithmic axis with a few round numbers."""
    from matplotlib import ticker

    steps = (1, 1.25, 1.5, 2, 3, 5) if max(values) < 10 * min(values) else (1, 2, 5)
    axis.set_major_locator(ticker.FixedLocator(
        [step * 10 ** power for power in range(-1, 6) for step in steps
         if min(values) * 0.8 <= step * 10 ** power <= max(values) * 1.25]))
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_locator(ticker.NullLocator())


def draw_launches(figure, points):
    """Wall times, and below them the ratios to plain srun; side by side, the kinds of each step."""
    steps = steps_of(points)
    kinds = list(dict.fromkeys(point.kind for point in points))
    panels = figure.subplots(2, 1, sharex=True)
    for panel, measure, title in zip(panels, ("ms", "ratio"), ("wall time of srun, ms", "ratio to plain srun")):
        mine = [point for point in points if point.measure == measure]
        panel.set_yscale("log")
        panel.set_title(title, loc="left")
        for point in mine:
            index = kinds.index(point.kind)
            x = steps.index((point.nodes, point.tasks)) + 0.13 * (index - (len(kinds) - 1) / 2)
            look = {"color": COLOURS[index]}
            panel.plot([x, x], [point.low, point.high], linewidth=2, solid_capstyle="butt",
                       gid=f"interval-{place(point)}", **look)
            panel.plot([x], [point.median], MARKERS[index], gid=f"median-{place(point)}", **look)
        plain_log_axis(panel.yaxis, [value for point in mine for value in (point.low, point.high)])
        panel.grid(axis="y")
        panel.tick_params(axis="both", length=0)
    panels[1].axhline(1, color=TEXT, linewidth=1)
    panels[1].set_xticks(range(len(steps)), [step_name(*step) for step in steps])
    for index, kind in enumerate(kinds):
        panels[0].plot([], [], MARKERS[index], color=COLOURS[index], label=kind)
    panels[0].legend(loc="lower left", bbox_to_anchor=(0, 1.12), ncols=3, borderaxespad=0)


def draw_restarts(figure, points):
    """For each step a bar from 0 for each row, because the steps differ in their scale."""
    steps = steps_of(points)
    for panel, step in zip(figure.subplots(1, len(steps), sharey=True, squeeze=False)[0], steps):
        mine = [point for point in points if (point.nodes, point.tasks) == step]
        names = list(RESTART_ROWS)
        for point in mine:
            y = names.index(point.kind)
            panel.barh(y, point.median, height=0.5, color=COLOURS[y], alpha=0.5, gid=f"median-{place(point)}")
            panel.plot([point.low, point.high], [y, y], color=COLOURS[y], linewidth=3, solid_capstyle="butt",
                       gid=f"interval-{place(point)}")
            panel.annotate(f"{point.median:.0f} ms", (max(point.high, point.median), y), (6, 0), va="center",
                           textcoords="offset points")
        panel.set_title(step_name(*step).replace("\n", ", "), loc="left")
        panel.set_xlim(0, 1.25 * max(point.high for point in mine))
        panel.set_yticks(range(len(names)), RESTART_ROWS.values())
        panel.grid(axis="x")
        panel.tick_params(axis="both", length=0)
    panel.invert_yaxis()
    figure.supxlabel("until the last task has begun, ms, beyond the pause; line: 95 % interval of the median",
                     fontsize=10)


def write(points, directory):
    """All pictures."""
    import matplotlib
    from matplotlib import figure

    matplotlib.rcParams.update(SETTINGS)
    pictures = shown(points)
    for name, draw, size, title in (("bench-launch.svg", draw_launches, (9.2, 6.5), "What a launch costs"),
                                    ("bench-restart.svg", draw_restarts, (9.2, 2.6), "What a restart costs")):
        if pictures[name]:
            page = figure.Figure(size, layout="constrained")
            draw(page, pictures[name])
            page.savefig(os.path.join(directory, name), transparent=True,
                         metadata={"Title": title, "Date": None, "Creator": None,
                                   "Rights": "SPDX-License-Identifier: GPL-2.0-or-later"})


# Checking

def coordinates(element, axis):
    """Where the lines and markers of an element begin and end: 0 is x, 1 is y."""
    found = [float(use.get("xy"[axis])) for use in element.iter(SVG + "use")]
    for path in element.iter(SVG + "path"):
        if path.get("id") is None:
            numbers = [float(text) for text in re.findall(r"-?\d+(?:\.\d+)?", path.get("d"))]
            found += numbers[axis::2]
    return found


def drawn(picture, point, axis):
    """Coordinates with the values that they stand for."""
    interval = coordinates(picture[f"interval-{place(point)}"], axis)
    median = coordinates(picture[f"median-{place(point)}"], axis)
    # A bar begins at 0, and ends at its median.
    return [(point.low, interval[0]), (point.high, interval[-1]),
            (point.median, max(median) if axis == 0 else median[0])]


def check_panel(picture, points, axis, scale):
    """All coordinates of a panel are on one straight line over the scaled values."""
    places = sorted((scale(value), at) for point in points for value, at in drawn(picture, point, axis))
    (x0, y0), (x1, y1) = places[0], places[-1]
    for x, y in places:
        at = y0 + (y1 - y0) * (x - x0) / (x1 - x0)
        if abs(at - y) > 0.5:
            sys.exit(f"plot.py: a value is at {y:.1f}, its place is {at:.1f}: {points[0].measure} of "
                     f"{step_name(points[0].nodes, points[0].tasks)}")


def check_tables(points, file):
    with open(file, encoding="utf-8") as f:
        text = f.read()
    for point in points:
        row = f"{point.median:.3f} [{point.low:.3f} {point.high:.3f}]"
        if point.measure == "ratio" and row not in text:
            sys.exit(f"plot.py: {file} lacks {row}, which is {place(point)}")


def check(points, directory):
    check_tables(points, os.path.join(directory, "tables"))
    for name, mine in shown(points).items():
        root = xml.etree.ElementTree.parse(os.path.join(directory, name)).getroot()
        picture = {element.get("id"): element for element in root.iter() if element.get("id")}
        missing = [f"{part}-{place(point)}" for point in mine for part in ("interval", "median")
                   if f"{part}-{place(point)}" not in picture]
        if missing or not mine:
            sys.exit(f"plot.py: {name} lacks {', '.join(missing) or 'everything'}")
        if name == "bench-restart.svg":
            for step in steps_of(mine):
                check_panel(picture, [point for point in mine if (point.nodes, point.tasks) == step], 0, float)
        else:
            for measure in ("ms", "ratio"):
                check_panel(picture, [point for point in mine if point.measure == measure], 1, math.log)


def main():
    arguments = sys.argv[1:]
    act = check if arguments[:1] == ["--check"] and arguments.pop(0) else write
    if len(arguments) != 2:
        sys.exit(__doc__.strip())
    act(report.read(arguments[0]), arguments[1])


if __name__ == "__main__":
    main()
