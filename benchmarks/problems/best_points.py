"""The best points we know of the problems whose maximum nobody can compute.

data/best_points.json holds, for each, the point x (D,) in the problem's own units and its value. docs of how they were
found: Rover60 and MOPTA08 by long CMA-ES runs, polished; Lasso by gradient descent. A test evaluates each.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.problems.problem import Array


@cache
def _all() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((Path(__file__).parent / "data" / "best_points.json").read_text())
    return found


def best_point(name: str) -> tuple[Array, float]:
    """The best point (D,) known of the problem of that name, and its value."""
    found = _all()[name]
    return np.array(found["x"]), float(found["value"])
