"""Figure 6: the best value by evaluation on Rover and MOPTA08."""

from pathlib import Path

from benchmarks.figures.recorded import REAL
from benchmarks.figures.synthetic_value import value_by_evaluation


def draw(results: Path, output: Path) -> list[Path]:
    """Writes real-value.png."""
    return value_by_evaluation(results, output, "real-value", REAL)
