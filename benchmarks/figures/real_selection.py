"""Figure 8: how often each variable of Rover and MOPTA08 is selected, and whether the frequent ones matter more."""

from pathlib import Path

from matplotlib.axes import Axes

from benchmarks.errors import BenchError
from benchmarks.figures.page import page
from benchmarks.figures.recorded import REAL, every, load, measured_said, missing_said, seeds_said
from benchmarks.figures.sampled import Sampled, sampled
from benchmarks.figures.selections import COUNTED_SAID, MARKED, SELECTING, bars, frequency, ranked, selecting
from benchmarks.records import Array, Run

NAME = "real-selection"
#: Variables in each set, and points at which they are sampled (paper, appendix D).
CHOSEN, POINTS = 5, 800_000
#: Of the least often selected variables' values.
LEAST = "#1F5F8B"


def draw(results: Path, output: Path) -> list[Path]:
    """Writes real-selection.png; the sampled distributions are kept beside the results."""
    runs = selecting(load(results, NAME, REAL, SELECTING), NAME)
    # The paper's method if it was run on any of them, else the default.
    method = next(name for name in SELECTING if any(name in by_method for by_method in runs.values()))
    runs = {problem: {method: by_method[method]} for problem, by_method in runs.items() if method in by_method}
    everything = load(results, NAME, REAL)
    caption = (
        f"Left: {COUNTED_SAID[0].lower()}{COUNTED_SAID[1:]} Dark: the {CHOSEN} most often selected ones. Right: "
        f"distribution of the value when these {CHOSEN}, or the {CHOSEN} least often selected ones, are sampled by a "
        f"scrambled Sobol sequence of {POINTS:,} points, the others staying at the best point of all recorded runs "
        f"(dotted: its value). Among equally frequent variables the lot decides. "
        f"{seeds_said(runs)}{missing_said(runs, REAL)}"
    )
    file = output / f"{NAME}.png"
    with page(file, len(runs), 2, caption, measured_said(every(runs)), 2.4, ratios=(1.3, 1)) as sheet:
        for row, (problem, by_method) in enumerate(runs.items()):
            share, total = frequency(by_method[method])
            order = ranked(share)
            most, least = sorted(order[:CHOSEN]), sorted(order[-CHOSEN:])
            axes = sheet.panel(row, 0)
            bars(axes, share, most)
            axes.set_title(f"{problem}, {method}: {total} evaluations", loc="left")
            axes.set_ylabel("selected (%)")
            axes.set_xlabel("variable (counted from 0)")
            at, value = best_point([run for own in everything[problem].values() for run in own])
            _distributions(sheet.panel(row, 1), results, problem, {"most": most, "least": least}, at, value)
    return [file]


def best_point(runs: list[Run]) -> tuple[Array, float]:
    """The best point (D,) of all runs, in the unit cube, and its value."""
    found = [(run.best_point, float(run.best[-1])) for run in runs if run.best_point is not None]
    return max(found, key=lambda pair: pair[1])


def _distributions(
    axes: Axes, results: Path, problem: str, sets: dict[str, list[int]], at: Array, value: float
) -> None:
    axes.set_title(f"{problem}: value when {CHOSEN} variables are sampled", loc="left")
    axes.set_xlabel("value (maximized)")
    axes.set_ylabel("probability density")
    try:
        found = {which: sampled(results, problem, which, variables, at, POINTS) for which, variables in sets.items()}
    except BenchError as missing:  # MOPTA08 is not part of the repository; its recorded results are
        axes.text(0.5, 0.5, f"not sampled:\n{missing}", transform=axes.transAxes, ha="center", va="center", wrap=True)
        return
    axes.set_yscale("log")
    for which, colour, style in (("most", MARKED, "-"), ("least", LEAST, "--")):
        _outline(axes, found[which], colour, style, f"{which} often: {', '.join(map(str, sets[which]))}")
    axes.axvline(value, color="#444444", linewidth=0.8, linestyle=(0, (1, 2)))
    low, high = axes.get_ylim()
    axes.set_ylim(low, high * (high / low) ** 0.6)  # room for the legend
    axes.legend(loc="upper left")


def _outline(axes: Axes, histogram: Sampled, colour: str, style: str, label: str) -> None:
    text = f"{label}\n(deviation {histogram.deviation:.3g})"
    axes.stairs(histogram.density, histogram.edges, color=colour, linestyle=style, linewidth=1.2, label=text)
    axes.stairs(histogram.density, histogram.edges, color=colour, fill=True, alpha=0.15)
