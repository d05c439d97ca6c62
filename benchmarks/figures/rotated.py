"""Figure 5: the best value by evaluation on rotated Hartmann6 in 100 variables, where no variable matters alone."""

from pathlib import Path

from benchmarks.figures.recorded import ROTATED
from benchmarks.figures.synthetic_value import value_by_evaluation


def draw(results: Path, output: Path) -> list[Path]:
    """Writes rotated.png."""
    return value_by_evaluation(results, output, "rotated", ROTATED)
