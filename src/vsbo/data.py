"""What the models learn from: observations, failures and pending points, on the unit cube, maximized.

n = observations, D = variables, p = pending points.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vsbo.arrays import Array

#: Values that spread less than this part of their size differ by rounding only: they count as constant.
CONSTANT = 16 * np.finfo(np.float64).eps
#: Values below this quantile are the ones that squeezing draws together. With the median Lasso300 ends a tenth worse
#: (docs/experiments.md, 133).
KNEE = 0.75
#: Where the best quarter of standardized values agrees to this, it has no scale to squeeze by.
LEAST_WIDTH = 1e-9


@dataclass(frozen=True, eq=False)
class Data:
    """Observations in the order in which they finished.

    X (n, D); y (n,), NaN where the evaluation failed; pending (p, D): asked, not yet told. levels (D,): of each
    variable how many values it has, if they have no order and a model shall know it, otherwise 0; () if none is so.
    """

    X: Array
    y: Array
    pending: Array
    levels: tuple[int, ...] = ()

    @property
    def n(self) -> int:
        """How many evaluations finished, failures included."""
        return len(self.y)

    @property
    def failed(self) -> NDArray[np.bool_]:
        """Of each evaluation whether it failed (n,)."""
        return np.isnan(self.y)

    @property
    def values(self) -> Array:
        """y (n,) for modelling: a failure counts as the worst value seen, so that the search avoids it; while all that
        were seen are equal, as less than that: otherwise nothing would tell a failure from a success, and a search with
        one success goes on failing.

        This is the one place that decides what a failure is worth. Zeros if nothing succeeded.
        """
        failed = self.failed
        if not failed.any():
            return self.y
        if failed.all():
            return np.zeros(self.n)
        worst, best = float(np.min(self.y[~failed])), float(np.max(self.y[~failed]))
        if worst == best:
            worst -= abs(best) or 1.0
        return np.where(failed, worst, self.y)

    @property
    def incumbent(self) -> Array:
        """The best point (D,); the first one if several are equal."""
        best: Array = self.X[int(np.argmax(self.values))]
        return best

    def columns(self, active: Sequence[int]) -> "Data":
        """The same observations, seen through some of the variables."""
        return Data(self.X[:, active], self.y, self.pending[:, active], levels_of(self.levels, active))

    def first(self, n: int) -> "Data":
        """The first n of the observations; failures as they counted then."""
        return replace(self, X=self.X[:n], y=self.y[:n])


def levels_of(levels: tuple[int, ...], active: Sequence[int]) -> tuple[int, ...]:
    """`Data.levels` of some of the variables."""
    some = tuple(levels[j] for j in active) if levels else ()
    return some if any(some) else ()


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


def squeeze(u: Array) -> tuple[Array, float]:
    """v (n,): u (n,) with what lies below its upper quartile q drawn together, and the sum of log dv/du.

    v = q - w log(1 + (q - u) / w) below q, w = max u - q; above q, v = u. What lies far below the best quarter then no
    longer decides what counts as a difference, and yet every value keeps its rank.
    """
    knee, width = _knee(u)
    if width == 0.0:
        return u, 0.0
    log = np.log1p(np.maximum(knee - u, 0.0) / width)
    return np.where(u < knee, knee - width * log, u), -float(log.sum())


def stretch(v: Array, u: Array) -> Array:
    """The inverse of `squeeze`, as it was for u (n,), at v (k,). Below all of u it goes on straight: nobody knows what
    is there, and an exponential makes it enormous.
    """
    knee, width = _knee(u)
    if width == 0.0:
        return v
    depth = np.maximum(knee - v, 0.0) / width
    deepest = float(np.log1p((knee - np.min(u)) / width))
    below = np.expm1(np.minimum(depth, deepest)) + np.exp(deepest) * np.maximum(depth - deepest, 0.0)
    return np.where(v < knee, knee - width * below, v)


def _knee(u: Array) -> tuple[float, float]:
    """Where squeezing begins, and its scale: the distance from there to the best, 0 where that is rounding."""
    knee = float(np.quantile(u, KNEE))
    width = float(np.max(u)) - knee
    return knee, width if width > LEAST_WIDTH else 0.0


def is_new(x: Array, others: Array, tolerance: float = 1e-9) -> bool:
    """Whether x (D,) differs from every row of others (m, D); the one place that decides what a duplicate is."""
    return not bool((np.abs(others - x) <= tolerance).all(axis=1).any())
