"""Figure 2: the best value by the optimizer's wall clock and CPU time on the three synthetic functions."""

from functools import partial
from pathlib import Path

from benchmarks.figures import comparison, curves
from benchmarks.figures.curves import Clock
from benchmarks.figures.recorded import SYNTHETIC, load

CLOCKS: dict[Clock, str] = {"wall": "wall clock", "cpu": "CPU"}


def draw(results: Path, output: Path) -> list[Path]:
    """Writes synthetic-time-wall.png and synthetic-time-cpu.png."""
    return value_by_time(results, output, "synthetic-time", SYNTHETIC)


def value_by_time(results: Path, output: Path, name: str, problems: tuple[str, ...]) -> list[Path]:
    """The same for other problems."""
    runs = load(results, name, problems)
    written = []
    for clock, what in CLOCKS.items():
        said = (
            f"Best value found by {what} time of the optimizer alone: evaluating the function is not counted. Each run "
            "is a step function of its own clock; a run that has ended keeps its best value (thin lines). Dotted: the "
            "optimum, or the best value known. The initial points, the same for all methods, are included: their best "
            f"value is where a run starts. {curves.INTERVAL_SAID}"
        )
        label = f"{what} time of the optimizer (s)"
        file = output / f"{name}-{clock}.png"
        averaged = partial(curves.by_time, clock=clock)
        written.append(comparison.compare(file, runs, problems, averaged, label, said, log=True))
    return written
