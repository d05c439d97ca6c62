"""BO on the variables that matter for reaching good values, by the Hilbert-Schmidt independence criterion.

Spagnol, Le Riche and Da Veiga 2019: w_i = 1 if y_i is among the best, 0 otherwise; the sensitivity of a variable is the
criterion between it and w, as a share of the sum over all variables. At every iteration the variables with a large
share are modelled and searched, the others follow the "mix" rule (half uniform, half the best point's values).

n points, D variables, K^j (n, n) the kernel of variable j, H = I - 11'/n.
"""

import numpy as np

from benchmarks.methods.method import Array
from benchmarks.methods.subspace import Subspace, ordered

#: Part of the points that count as good. The publication's own value was not to be found.
GOOD = 0.2
#: Shares above this many times the even share, 1 / D, are selected. Nor was its threshold; this one needs no scale: a
#: variable is kept if it tells more of the good points than the average one.
THRESHOLD = 1.0
MIX = 0.5
#: Numbers in the largest array: some variables are worked on at a time.
BATCH = 200_000


def good_points(y: Array) -> Array:
    """w (n,): 1 where y (n,) is among the best fifth (ties included), otherwise 0."""
    w: Array = (y >= np.quantile(y, 1.0 - GOOD)).astype(np.float64)
    return w


def hsic(X: Array, w: Array) -> Array:
    """tr(K^j H L H) / n^2 (D,) for all columns of X (n, D), with L = w w': a quadratic form in Hw, w (n,) centred.

    K^j is Gaussian; its width is the deviation of the column.
    """
    n, D = X.shape
    width = X.std(axis=0)
    U = (X / np.where(width > 0.0, width, 1.0)).T
    centred = w - w.mean()
    values = np.empty(D)
    size = max(BATCH // n**2, 1)
    for first in range(0, D, size):
        rows = slice(first, first + size)
        K = np.exp(-0.5 * (U[rows, :, None] - U[rows, None, :]) ** 2)
        values[rows] = (K @ centred) @ centred
    values /= n**2
    return values


def influential(X: Array, y: Array) -> tuple[int, ...]:
    """The variables with a share above the threshold; all of them where nothing tells good points from others."""
    D = X.shape[1]
    values = hsic(X, good_points(y))
    if not values.sum() > 0.0:
        return tuple(range(D))
    chosen = np.flatnonzero(values / values.sum() > THRESHOLD / D)
    return ordered(chosen) if len(chosen) else tuple(range(D))


def hsic_selection(*, D: int, seed: int, budget: int) -> Subspace:
    """HSIC selection with the deterministic rule and the "mix" strategy."""
    return Subspace(influential, MIX, D=D, seed=seed)
