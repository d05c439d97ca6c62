"""A page: panels above, the caption and, in small print, where it was measured beneath; saved as PNG."""

import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from benchmarks.figures.style import RC

DPI = 150
#: Inches; at 150 dpi a page is 1350 pixels wide.
WIDTH = 9.0
CAPTION, SMALL = 7.5, 6.0
#: Width of a letter and height of a line, as parts of the font's size.
LETTER, LINE = 0.55, 1.32


@dataclass(frozen=True, eq=False)
class Page:
    """panels (rows, columns) of axes on a figure."""

    figure: Figure
    panels: "np.ndarray[tuple[int, int], np.dtype[np.object_]]"

    def panel(self, row: int, column: int) -> Axes:
        """One of the panels."""
        axes: Axes = self.panels[row, column]
        return axes


@contextmanager
def page(
    file: Path,
    rows: int,
    columns: int,
    caption: str,
    small: str,
    row_height: float = 2.6,
    ratios: Sequence[float] | None = None,
) -> Iterator[Page]:
    """A page to draw on; it is written when the block ends. row_height in inches; ratios: widths of the columns."""
    texts = [(_wrapped(caption, CAPTION), CAPTION), (_wrapped(small, SMALL), SMALL)]
    below = sum(_height(lines, size) for lines, size in texts) + 0.12
    height = rows * row_height + below
    with mpl.rc_context(RC):
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        engine = figure.get_layout_engine()
        if isinstance(engine, ConstrainedLayoutEngine):
            engine.set(rect=(0, below / height, 1, 1 - below / height), h_pad=0.06, w_pad=0.06)
        panels = figure.subplots(rows, columns, squeeze=False, width_ratios=ratios)
        yield Page(figure, panels)
        top = below - 0.06
        for lines, size in texts:
            colour = "#222222" if size == CAPTION else "#666666"
            text = figure.text(0.1 / WIDTH, top / height, "\n".join(lines), size=size, color=colour, va="top")
            text.set(linespacing=1.2, in_layout=False)
            top -= _height(lines, size)
        figure.savefig(file, dpi=DPI)


def _wrapped(text: str, size: float) -> list[str]:
    letters = int((WIDTH - 0.2) * 72 / (size * LETTER))
    return [line for part in text.split("\n") for line in textwrap.wrap(part, letters, break_on_hyphens=False)]


def _height(lines: list[str], size: float) -> float:
    """Inches."""
    return len(lines) * size * LINE / 72 + 0.03
