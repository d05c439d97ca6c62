"""Methods against each other: a row for each problem, the paper's methods on the left, the others on the right."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes

from benchmarks.figures import curves
from benchmarks.figures.curves import Curve
from benchmarks.figures.page import page
from benchmarks.figures.recorded import Runs, every, initial_said, measured_said, missing_said, seeds_said
from benchmarks.figures.style import EVERYWHERE, PAPER
from benchmarks.records import Run

ROW = 2.75
#: What of a row's height is not the panel: title, labels.
AROUND = 0.62
#: A logarithmic axis spans no more than this: random search is done before others have begun.
MOST_TIMES = 1e5


def columns(runs: Runs) -> dict[str, list[str]]:
    """Titles and methods of the columns; a column that would only repeat VS-BO and random search is left out."""
    there = sorted({method for by_method in runs.values() for method in by_method})
    common = [method for method in EVERYWHERE if method in there]
    left = [method for method in PAPER if method in there]
    right = [method for method in there if method not in (*PAPER, *EVERYWHERE)]
    chosen = {"the methods the paper compares": left, "other methods": right}
    named = {title: common + own for title, own in chosen.items() if own}
    return named or {"": common}


def compare(
    file: Path,
    runs: Runs,
    problems: Sequence[str],
    curve: Callable[[Sequence[Run]], Curve],
    x_label: str,
    said: str,
    log: bool = False,
) -> Path:
    """Draw and write the page. `curve` averages the runs of one method on one problem."""
    methods = columns(runs)
    caption = f"{said} {seeds_said(runs)}{missing_said(runs, problems)}"
    with page(file, len(runs), len(methods), caption, measured_said(every(runs)), ROW) as sheet:
        for row, (problem, by_method) in enumerate(runs.items()):
            averaged = {method: curve(own) for method, own in by_method.items()}
            optimum = float(next(iter(by_method.values()))[0].header["optimum"])
            for column, (title, names) in enumerate(methods.items()):
                axes = sheet.panel(row, column)
                here = {name: averaged[name] for name in names if name in averaged}
                axes.set_title(f"{problem}: {title}" if title else problem, loc="left")
                panel(axes, here, averaged, optimum, log)
                if row == len(runs) - 1:
                    axes.set_xlabel(x_label)
                if column == 0:
                    axes.set_ylabel("best value so far")
    return file


def panel(axes: Axes, here: Mapping[str, Curve], averaged: Mapping[str, Curve], optimum: float, log: bool) -> None:
    """One panel; `averaged` has the curves of the whole row, so that its panels have the same limits."""
    if log:
        axes.set_xscale("log")
    curves.draw(axes, here)
    curves.frame(axes, averaged, optimum)
    first, last = min(curve.x[0] for curve in averaged.values()), max(curve.x[-1] for curve in averaged.values())
    axes.set_xlim(max(first, last / MOST_TIMES) if log else first, last)
    if log:
        curves.keep_ends(axes, here, last)
        curves.plain_logs(axes.xaxis)
    curves.name_ends(axes, here, ROW - AROUND)


def initial_value_said(runs: Runs) -> str:
    """What is at evaluation 0."""
    return f"{initial_said(every(runs))} value is the one at 0."
