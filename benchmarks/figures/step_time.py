"""Figure 4: what fitting, maximizing the acquisition and selecting take by evaluation, VS-BO against vanilla BO."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from benchmarks.figures import curves
from benchmarks.figures.page import page
from benchmarks.figures.recorded import SYNTHETIC, every, load, measured_said, missing_said, seeds_said
from benchmarks.figures.style import look
from benchmarks.records import Array, Run

NAME = "step-time"
METHODS = ("vsbo-paper", "vanilla-paper", "vanilla-cold")
#: Evaluations over which a run's seconds are averaged: one selection, and with it about one fit with cold starts.
WINDOW = 20


def phase(name: str) -> Callable[[Run], Array]:
    """The seconds (n,) of a run in one phase."""
    return lambda run: run.phases.get(name, np.zeros(len(run.y)))


ROWS: dict[str, Callable[[Run], Array]] = {
    "fit\nwall time (s)": phase("fit"),
    "acquisition\nwall time (s)": phase("acquisition"),
    "selection\nwall time (s)": phase("selection"),
    "whole suggestion\nCPU time (s)": lambda run: run.cpu,
}


def draw(results: Path, output: Path) -> list[Path]:
    """Writes step-time.png."""
    runs = load(results, NAME, SYNTHETIC, METHODS)
    caption = (
        "Seconds the optimizer spends for one evaluation, by step; a whole suggestion is ask and tell together. VS-BO "
        "works on all variables until its first selection, then on the selected ones; it selects every 20 evaluations "
        "(squares), with fits that count as selection. Vanilla BO selects nothing; vanilla-cold begins every fit anew, "
        "as the authors' program does, the others where the last one ended. Thin: mean over runs (peaks are fits in "
        f"which cold starts compete, when the data have grown by 15 %); thick: running mean over {WINDOW} evaluations, "
        "with the bootstrap 95 % interval of the mean over runs. The initial points are not counted on the axis. "
        f"{seeds_said(runs)}{missing_said(runs, SYNTHETIC)}"
    )
    file = output / f"{NAME}.png"
    with page(file, len(ROWS), len(runs), caption, measured_said(every(runs)), 1.75) as sheet:
        for row, (label, seconds) in enumerate(ROWS.items()):
            panels = [sheet.panel(row, column) for column in range(len(runs))]
            for axes, by_method in zip(panels, runs.values(), strict=True):
                axes.set_yscale("log")
                for method in METHODS:
                    if method in by_method:
                        steps(axes, method, by_method[method], seconds)
                axes.set_xlim(0, max(run.evaluations for own in by_method.values() for run in own))
            panels[0].set_ylabel(label)
            low, high = min(axes.get_ylim()[0] for axes in panels), max(axes.get_ylim()[1] for axes in panels)
            for axes in panels:
                axes.set_ylim(low, high)
                curves.plain_logs(axes.yaxis)
        for column, problem in enumerate(runs):
            sheet.panel(0, column).set_title(problem, loc="left")
            sheet.panel(len(ROWS) - 1, column).set_xlabel("evaluations after the initial ones")
        drawn = [sheet.panel(0, column).get_legend_handles_labels() for column in range(len(runs))]
        named = {label: handle for handles, labels in drawn for handle, label in zip(handles, labels, strict=True)}
        sheet.figure.legend(list(named.values()), list(named), loc="outside upper right", ncols=len(named))
    return [file]


def steps(axes: Axes, method: str, runs: Sequence[Run], seconds: Callable[[Run], Array]) -> None:
    """One method's seconds by evaluation; of a step that does not always run, the times when it did."""
    n = min(run.evaluations for run in runs)
    taken = np.array([seconds(run)[run.initial : run.initial + n] for run in runs])
    style, at = look(method), np.arange(1.0, n + 1)
    there = (taken > 0).all(axis=0)
    if there.mean() > 0.5:
        x, smooth = running(at, taken, WINDOW)
        axes.plot(at, taken.mean(axis=0), color=style.colour, linewidth=0.5, alpha=0.5)
        curve, points = curves.averaged(x, smooth), {}
    elif there.any():
        curve, points = curves.averaged(at[there], taken[:, there]), style.points()
    else:
        return
    curves.band(axes, curve, style.colour, 0.2)
    axes.plot(curve.x, curve.mean, **style.line(), **points, label=method)


def running(x: Array, values: Array, window: int) -> tuple[Array, Array]:
    """Means of values (runs, n) over the last `window` of them, and the x (n,) at their end."""
    window = min(window, values.shape[1])
    total = np.cumsum(np.hstack([np.zeros((len(values), 1)), values]), axis=1)
    return x[window - 1 :], (total[:, window:] - total[:, :-window]) / window
