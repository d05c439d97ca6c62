"""Figure 11: how the cost of a step grows with evaluations and variables, against Proposition 4.1."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from benchmarks.errors import NoResultsError
from benchmarks.figures.comparison import AROUND, ROW
from benchmarks.figures.curves import Beside, Curve, averaged, band, label_ends, plain_logs
from benchmarks.figures.page import page
from benchmarks.figures.recorded import SYNTHETIC, Runs, every, load, measured_said, seeds_said
from benchmarks.figures.step_time import METHODS, WINDOW, running
from benchmarks.figures.style import look
from benchmarks.records import Array, Run
from benchmarks.speed import growth, report
from benchmarks.speed.timing import exponents

NAME = "growth"
SPEED = report.RESULTS / "speed.json"
#: The measured steps: title of the row in speed.json, what it is, and the exponent of n that the proposition allows.
STEPS = {
    "growth of likelihood and gradient, one evaluation": ("likelihood and gradient", "fit", 3),
    "growth of acquisition and gradient, one point": ("acquisition and gradient", "acquisition", 2),
}
#: Light to dark: a sequence, not methods.
SHADES = ("#B8CDE0", "#86A9C9", "#5585AE", "#2F6391", "#0F3D66", "#06223B")


def draw(results: Path, output: Path) -> list[Path]:
    """Writes growth.png; the recorded runs are drawn if there are any."""
    steps = _steps()
    try:
        runs = load(results, NAME, SYNTHETIC, METHODS)
    except NoResultsError:
        runs = {}
    recorded_said = (
        "Last row: the same two steps as a whole (all quasi-Newton steps of a fit, or of the maximization) in recorded "
        f"runs, wall time, mean over the runs on {', '.join(runs)} and over {WINDOW} evaluations, with the bootstrap "
        f"95 % interval of the mean over runs; the initial points are among the n observations. {seeds_said(runs)}"
        if runs
        else f"No runs of {' or '.join(METHODS)} are recorded; `python -m benchmarks run paper-synthetic` makes them."
    )
    caption = (
        "CPU time of what one quasi-Newton step evaluates, by the number of observations n and of variables p it works "
        "on; medians of 15, one process (benchmarks.speed, fixed data, no interval). Dotted: the powers that "
        "Proposition 4.1 allows, O(p^2 + p n^2 + n^3) for the fit and O(p^2 + p n + n^2) for the acquisition. "
        f"Exponents, at the right, are fitted to n >= {growth.LARGE_N} and p >= {growth.LARGE_P}. {recorded_said}"
    )
    where = ", ".join(f"{name} {value}" for name, value in steps[next(iter(STEPS))].environment.items())
    small = f"Steps: {where}." + (f"\nRuns: {measured_said(every(runs))}" if runs else "")
    file = output / f"{NAME}.png"
    with page(file, len(STEPS) + bool(runs), 2, caption, small, ROW) as sheet:
        for row, (title, (what, phase, power)) in enumerate(STEPS.items()):
            seconds = sizes(steps[title].numbers["seconds"])
            by_size(sheet.panel(row, 0), seconds, 0, power, f"{what}: by n")
            by_size(sheet.panel(row, 1), seconds, 1, 1, f"{what}: by p")
            if runs:
                in_runs(sheet.panel(len(STEPS), row), runs, phase, power)
    return [file]


def _steps() -> dict[str, report.Row]:
    rows = {row.title: row for row in report.saved(SPEED)}
    missing = [title for title in STEPS if title not in rows]
    if missing:
        raise NoResultsError(
            f"figure {NAME} needs {', '.join(missing)} in benchmarks/speed/results/{SPEED.name}; "
            f"`python -m benchmarks.speed --only {growth.PART}` makes them"
        )
    return rows


def sizes(named: Mapping[str, float]) -> dict[tuple[int, int], float]:
    """{"n=50, p=10": s} as {(50, 10): s}."""
    numbers = {tuple(map(int, re.findall(r"\d+", name))): seconds for name, seconds in named.items()}
    return {(n, p): seconds for (n, p), seconds in numbers.items()}


def by_size(axes: Axes, seconds: Mapping[tuple[int, int], float], which: int, power: int, title: str) -> None:
    """Lines along n (which = 0) or p (which = 1), one for each size of the other."""
    letter, other_letter = "np"[which], "np"[1 - which]
    least = (growth.LARGE_N, growth.LARGE_P)[which]
    _log(axes, title, ("n, observations", "p, variables")[which], "CPU time (s)")
    others = sorted({size[1 - which] for size in seconds})
    beside = []
    for turn, other in enumerate(others):
        line = sorted((size[which], s) for size, s in seconds.items() if size[1 - which] == other)
        x, y = np.array(line).T
        grown = exponents([(size,) for size in x[x >= least]], y[x >= least].tolist())[0]
        colour = SHADES[turn * (len(SHADES) - 1) // max(len(others) - 1, 1)]
        style: dict[str, Any] = {"color": colour, "marker": "os^DvP"[turn], "markersize": 3.0, "linewidth": 1.1}
        axes.plot(x, y, **style)
        beside.append(Beside(f"{other_letter} = {other}: {letter}^{grown:.2f}", x[-1], y[-1], style))
    allowed(axes, x, y[-1], power)
    _ticks(axes)
    label_ends(axes, beside, ROW - AROUND)


def in_runs(axes: Axes, runs: Runs, phase: str, power: int) -> None:
    """The whole step by the number of observations, averaged over all runs of a method."""
    _log(axes, f"{phase} in recorded runs", "n, observations", "wall time (s)")
    beside = []
    for method in METHODS:
        own = [run for by_method in runs.values() for run in by_method.get(method, [])]
        if own:
            curve, style = averaged_phase(own, phase), look(method)
            band(axes, curve, style.colour, 0.2)
            axes.plot(curve.x, curve.mean, **style.line())
            beside.append(Beside(method, curve.x[-1], curve.mean[-1], style.line()))
    allowed(axes, curve.x, float(curve.mean[-1]), power)
    _ticks(axes)
    label_ends(axes, beside, ROW - AROUND)


def averaged_phase(runs: Sequence[Run], phase: str) -> Curve:
    """Mean seconds by n: a suggestion made with n observations."""
    n, first = min(len(run.y) for run in runs), max(run.initial for run in runs)
    taken = np.array([run.phases[phase][first:n] for run in runs])
    return averaged(*running(np.arange(first, n, dtype=np.float64), taken, WINDOW))


def allowed(axes: Axes, x: Array, end: float, power: int) -> None:
    """The slope the proposition allows, through the last point; only as low as the measured times go."""
    low = axes.get_ylim()[0]
    line = end * (x / x[-1]) ** power
    shown = line > low
    axes.plot(x[shown], line[shown], color="#444444", linewidth=0.9, linestyle=(0, (1, 2)))
    axes.set_ylim(bottom=low)


def _log(axes: Axes, title: str, x: str, y: str) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_title(title, loc="left")
    axes.set_xlabel(x)
    axes.set_ylabel(y)


def _ticks(axes: Axes) -> None:
    plain_logs(axes.xaxis)
    plain_logs(axes.yaxis)
