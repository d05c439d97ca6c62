"""Figure 7: the best value by the optimizer's wall clock and CPU time on Rover and MOPTA08."""

from pathlib import Path

from benchmarks.figures.recorded import REAL
from benchmarks.figures.synthetic_time import value_by_time


def draw(results: Path, output: Path) -> list[Path]:
    """Writes real-time-wall.png and real-time-cpu.png."""
    return value_by_time(results, output, "real-time", REAL)
