"""The BBOB suite of COCO (Hansen et al. 2009, 2021) in 40 variables: 24 functions of which nearly all variables matter.

Others wrote them, most are rotated, and no choice of `Config()` was made by the instance taken here. They come from
the package `coco-experiment`. Values are the distance from the minimum, as COCO reports them.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.errors import BenchError
from benchmarks.problems.problem import Array, Problem

D = 40
#: Instance 1 had a part in a screening (docs/experiments.md).
INSTANCE = 2
#: COCO's own groups, by the numbers of their functions.
GROUPS = {
    "separable": range(1, 6),
    "moderate": range(6, 10),
    "ill-conditioned": range(10, 15),
    "many modes": range(15, 20),
    "many modes, weak structure": range(20, 25),
}


def bbob_name(function: int) -> str:
    """Of the function with this number, 1 to 24."""
    return f"BBOB{function:02}-{D}"


def bbob(function: int, instance: int = INSTANCE) -> Problem:
    """Function 1 to 24 of the suite, in the box [-5, 5]^40."""
    try:
        from cocoex import BareProblem
    except ImportError as missing:
        raise BenchError(f"{bbob_name(function)} needs coco-experiment: pip install '.[bench]'") from missing
    suite = BareProblem("bbob", function, D, instance)
    least = suite.best_value()

    def values(X: Array) -> Array:
        return np.array([least - suite(x) for x in np.asarray(X, dtype=np.float64)])

    return Problem(
        bbob_name(function),
        values,
        np.tile([-5.0, 5.0], (D, 1)),
        0.0,
        frozenset(range(D)),
        minimized=True,
        argmax=np.array(suite.best_parameter()),
    )


BBOB: dict[str, Callable[[], Problem]] = {bbob_name(i): partial(bbob, i) for each in GROUPS.values() for i in each}
