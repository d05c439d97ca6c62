"""Figure 9: VS-BO against VSBO-mix, which differs in how the unimportant variables are chosen only."""

from pathlib import Path

from benchmarks.figures import comparison, curves
from benchmarks.figures.page import page
from benchmarks.figures.recorded import SYNTHETIC, every, load, measured_said, missing_said, seeds_said

NAME = "mix"
METHODS = ("vsbo-paper", "vsbo-mix")


def draw(results: Path, output: Path) -> list[Path]:
    """Writes mix.png."""
    runs = load(results, NAME, SYNTHETIC, METHODS)
    caption = (
        "VS-BO as in the paper (vsbo-paper: unimportant variables from the evolution strategy) against VSBO-mix "
        "(uniform or the best point's, with probability 1/2 each). Best value found, maximized; dotted: the optimum. "
        f"{comparison.initial_value_said(runs)} {curves.INTERVAL_SAID} {seeds_said(runs)}"
        f"{missing_said(runs, SYNTHETIC)}"
    )
    file = output / f"{NAME}.png"
    with page(file, 1, len(runs), caption, measured_said(every(runs)), comparison.ROW) as sheet:
        for column, (problem, by_method) in enumerate(runs.items()):
            axes = sheet.panel(0, column)
            averaged = {method: curves.by_evaluation(by_method[method]) for method in METHODS if method in by_method}
            optimum = float(next(iter(by_method.values()))[0].header["optimum"])
            axes.set_title(problem, loc="left")
            comparison.panel(axes, averaged, averaged, optimum, log=False)
            axes.set_xlabel("evaluations after the initial ones")
            if column == 0:
                axes.set_ylabel("best value so far")
    return [file]
