"""The best points we know of the problems whose maximum nobody can compute.

data/best_points.json holds the point x (D,) in the problem's own units, and its value. A test evaluates each.
Rover60: a random search and CMA-ES over the 8 coefficients of the cubic path, then least squares for waypoints that
have this path. 4.3387 was known before; two CMA-ES runs on the 60 variables themselves ended at 3.93 and 3.95.
MOPTA08: linear programs in a trust region, one after the other, from five starts. -209.24 was known before.
Lasso: L-BFGS-B along the derivative of the active coefficients, from hundreds of starts near the best so far. Published
after 1000 evaluations, 100-D: -0.958 (TuRBO).
None of them is proven to be the maximum.
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
