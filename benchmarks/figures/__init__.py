"""The figures by name, each drawn from recorded results: FIGURES[name](results, output) writes PNG files.

Matplotlib is imported when the first one is drawn.
"""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from benchmarks.errors import BenchError

#: Draws from the folder of recorded results into the output folder, and tells what it wrote.
Draw = Callable[[Path, Path], list[Path]]

NAMES = (
    "synthetic-value",
    "synthetic-time",
    "synthetic-selection",
    "step-time",
    "rotated",
    "real-value",
    "real-time",
    "real-selection",
    "mix",
    "regret",
    "growth",
)


def _of(name: str) -> Draw:
    def draw(results: Path, output: Path) -> list[Path]:
        module = import_module(f"benchmarks.figures.{name.replace('-', '_')}")
        output.mkdir(parents=True, exist_ok=True)
        written: list[Path] = module.draw(results, output)
        return written

    return draw


FIGURES: dict[str, Draw] = {name: _of(name) for name in NAMES}


def figure(name: str) -> Draw:
    """The figure of that name; a BenchError lists the names there are."""
    if name not in FIGURES:
        raise BenchError(f"there is no figure {name!r}; known are {', '.join(FIGURES)}")
    return FIGURES[name]
