"""What the models learn from: observations, failures and pending points, on the unit cube, maximized.

n = observations, D = variables, p = pending points.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vsbo.arrays import Array

#: Values that spread less than this part of their size differ by rounding only: they count as constant.
CONSTANT = 16 * np.finfo(np.float64).eps


@dataclass(frozen=True, eq=False)
class Data:
    """Observations in the order in which they finished.

    X (n, D); y (n,), NaN where the evaluation failed; pending (p, D): asked, not yet told.
    """

    X: Array
    y: Array
    pending: Array

    @property
    def n(self) -> int:
        """How many evaluations finished, failures included."""
        return len(self.y)

    @property
    def values(self) -> Array:
        """y (n,) for modelling: a failure counts as the worst value seen, so that the search avoids it.

        This is the one place that decides what a failure is worth. Zeros if nothing succeeded.
        """
        failed = np.isnan(self.y)
        if not failed.any():
            return self.y
        worst = float(np.min(self.y[~failed])) if not failed.all() else 0.0
        return np.where(failed, worst, self.y)

    @property
    def incumbent(self) -> Array:
        """The best point (D,); the first one if several are equal."""
        best: Array = self.X[int(np.argmax(self.values))]
        return best

    def columns(self, active: Sequence[int]) -> "Data":
        """The same observations, seen through some of the variables."""
        return Data(self.X[:, active], self.y, self.pending[:, active])


def standardize(y: Array) -> Array:
    """(y - mean) / deviation, with n - 1 in the deviation , as in the authors' program; zeros if y is constant.

    Works at any size of y: it is brought to [-1, 1] before anything is squared.
    """
    size = float(np.max(np.abs(y), initial=0.0))
    if size == 0.0 or len(y) < 2:
        return np.zeros(len(y))
    w = y / size
    w = w - w.mean()
    deviation = float(np.sqrt(w @ w / (len(w) - 1)))
    if deviation <= CONSTANT:
        return np.zeros(len(y))
    z: Array = w / deviation
    return z


def is_new(x: Array, others: Array, tolerance: float = 1e-9) -> bool:
    """Whether x (D,) differs from every row of others (m, D); the one place that decides what a duplicate is."""
    return not bool((np.abs(others - x) <= tolerance).all(axis=1).any())
