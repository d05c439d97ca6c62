"""`import vsbo` against `import scipy.optimize`, which it needs anyway: each in a fresh interpreter, in turn."""

import subprocess
import sys
from statistics import median

from benchmarks.speed.report import Row, table

PART = "import"
MOST = 1.5
OURS, OTHER = "vsbo", "scipy.optimize"
_PROGRAM = "import time; began = time.perf_counter(); import {}; print(time.perf_counter() - began)"


def measure(quick: bool) -> list[Row]:
    """One row. The interpreter's own start is not counted."""
    spent: dict[str, list[float]] = {OURS: [], OTHER: []}
    for repetition in range(1 + (7 if quick else 25)):
        for module, seconds in spent.items():
            run = [sys.executable, "-c", _PROGRAM.format(module)]
            told = subprocess.run(run, check=True, capture_output=True, text=True).stdout
            if repetition:  # the first turn fills the disk cache
                seconds.append(float(told))
    taken = {module: median(seconds) for module, seconds in spent.items()}
    ratio = taken[OURS] / taken[OTHER]
    lines = [(f"import {module}", f"{1e3 * seconds:.0f}") for module, seconds in taken.items()]
    return [
        Row(
            PART,
            "import vsbo over import scipy.optimize",
            f"<= {MOST:g} times",
            f"{ratio:.2f} times ({1e3 * taken[OURS]:.0f} ms)",
            ratio <= MOST,
            table(("what", "ms, wall"), lines),
            {"milliseconds": {module: [1e3 * s for s in seconds] for module, seconds in spent.items()}, "ratio": ratio},
        )
    ]
