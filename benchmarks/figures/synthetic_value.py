"""Figure 1: the best value by evaluation on the three synthetic functions."""

from pathlib import Path

from benchmarks.figures import comparison, curves
from benchmarks.figures.recorded import SYNTHETIC, load


def draw(results: Path, output: Path) -> list[Path]:
    """Writes synthetic-value.png."""
    return value_by_evaluation(results, output, "synthetic-value", SYNTHETIC)


def value_by_evaluation(results: Path, output: Path, name: str, problems: tuple[str, ...]) -> list[Path]:
    """The same for other problems."""
    runs = load(results, name, problems)
    said = (
        "Best value found, maximized; dotted: the optimum, or the best value known. "
        f"{comparison.initial_value_said(runs)} {curves.INTERVAL_SAID} "
        "A curve ends where the shortest run of its method ended."
    )
    label = "evaluations after the initial ones"
    return [comparison.compare(output / f"{name}.png", runs, problems, curves.by_evaluation, label, said)]
