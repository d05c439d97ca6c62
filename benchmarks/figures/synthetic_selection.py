"""Figure 3: how often each variable is selected on the three synthetic functions."""

from pathlib import Path

from benchmarks.figures.page import page
from benchmarks.figures.recorded import SYNTHETIC, every, load, measured_said, missing_said, seeds_said
from benchmarks.figures.selections import COUNTED_SAID, SELECTING, bars, frequency, leading, selecting
from benchmarks.problems import problem as find

NAME = "synthetic-selection"


def draw(results: Path, output: Path) -> list[Path]:
    """Writes synthetic-selection.png."""
    runs = selecting(load(results, NAME, SYNTHETIC, SELECTING), NAME)
    methods = [method for method in SELECTING if any(method in by_method for by_method in runs.values())]
    caption = (
        f"{COUNTED_SAID} Dark: the variables that are important by the function's definition (weight 1); the next "
        "block has weight 0.1, the one after that 0.01, all others 0. The titles say how many of the m "
        "important variables lead, that is, are among the m most often selected ones; a tie with another variable does "
        "not count. Variables in the problem's own order: each run had them permuted. "
        f"{seeds_said(runs)}{missing_said(runs, SYNTHETIC)}"
    )
    file = output / f"{NAME}.png"
    with page(file, len(runs), len(methods), caption, measured_said(every(runs)), 1.9) as sheet:
        for row, (name, by_method) in enumerate(runs.items()):
            important = find(name).important
            for column, method in enumerate(methods):
                axes = sheet.panel(row, column)
                if method not in by_method:
                    axes.set_axis_off()
                    continue
                share, total = frequency(by_method[method])
                bars(axes, share, important)
                found = f"{len(leading(share, important))} of {len(important)} lead"
                axes.set_title(f"{name}, {method}: {found}; {total} evaluations", loc="left")
                if column == 0:
                    axes.set_ylabel("selected (%)")
                if row == len(runs) - 1:
                    axes.set_xlabel("variable (counted from 0)")
    return [file]
