"""How often each variable was selected, and bars that show it."""

from collections.abc import Collection, Sequence

import numpy as np
from matplotlib.axes import Axes

from benchmarks.errors import NoResultsError
from benchmarks.figures.recorded import Runs
from benchmarks.records import Array, Run

#: VS-BO as in the paper first.
SELECTING = ("vsbo-paper", "vsbo")
COUNTED_SAID = (
    "Share of the evaluations for which a variable was among the selected ones, over all runs; evaluations before a "
    "run's first selection, which work on all variables, and the initial points are not counted."
)
#: Important variables, and others: dark against light, for any eye.
MARKED, PLAIN = "#B34700", "#A9C4D6"


def selecting(runs: Runs, figure: str) -> Runs:
    """The runs that have come to a selection; the others say nothing here. A NoResultsError if there are none."""
    kept: Runs = {}
    for problem, by_method in runs.items():
        for method, own in by_method.items():
            if there := [run for run in own if after_first(run)]:
                kept.setdefault(problem, {})[method] = there
    if not kept:
        raise NoResultsError(f"figure {figure} needs runs that have come to a selection; those there are end before")
    return kept


def frequency(runs: Sequence[Run]) -> tuple[Array, int]:
    """The share (D,) of evaluations in which each variable was selected, and the number of those evaluations."""
    counts, total = np.zeros(runs[0].D), 0
    for run in runs:
        for chosen in after_first(run):
            counts[list(chosen)] += 1
            total += 1
    return counts / max(total, 1), total


def after_first(run: Run) -> list[tuple[int, ...]]:
    """The variables selected for each evaluation from the first selection on: before it, all D are worked on."""
    chosen = [selected for selected in run.selected if selected is not None]
    first = next((i for i, selected in enumerate(chosen) if len(selected) < run.D), len(chosen))
    return chosen[first:]


def bars(axes: Axes, share: Array, marked: Collection[int]) -> None:
    """The share of each variable (D,), in percent; the marked ones dark."""
    D = len(share)
    dark = [j in marked for j in range(D)]
    axes.bar(np.arange(D), 100 * share, width=0.85, color=[MARKED if one else PLAIN for one in dark])
    axes.set_xlim(-1, D)
    axes.set_ylim(0, 102)
    axes.grid(axis="x", visible=False)


def leading(share: Array, important: Collection[int]) -> set[int]:
    """The important variables that are among the most often selected ones, as many as there are; ties do not count."""
    return {j for j in important if np.sum(share >= share[j]) <= len(important)}


def ranked(share: Array) -> list[int]:
    """The variables, most often selected first; equals in an order drawn by lot, always the same.

    By number would not be fair: neighbours often belong together (the last variables of Rover are the path's end).
    """
    lot = np.random.default_rng(0).permutation(len(share))
    return [int(lot[i]) for i in np.argsort(-share[lot], kind="stable")]
