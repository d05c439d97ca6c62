"""Correlations as functions of the squared scaled distance q = sum_j (x_j - z_j)^2 / l_j^2.

Everything the rest needs is k and h = -2 dk/dq, because, with u = x / l and v = z / l,
    dk / d log l_j =  h (u_j - v_j)^2
    dk / d x_j     = -h (u_j - v_j) / l_j
"""

import math
from collections.abc import Callable

import numpy as np

from vsbo.arrays import Array
from vsbo.config import KernelName

#: Writes k and h for q into the second and third argument; q is overwritten. None for the third: h is not wanted. The
#: fourth is the root of q, or None where it is not known. All of one shape.
Kernel = Callable[[Array, Array, Array | None, Array | None], None]

#: Numbers in an array that is worked on: below the 128 kB from which the C library takes fresh, unmapped pages for
#: every array. At n = 200 and 512 points that halves the time.
BATCH = 16_000
#: Not NumPy's: its scalars would make double precision of single.
ROOT_5 = math.sqrt(5.0)


def matern52(q: Array, k: Array, h: Array | None, root: Array | None) -> None:
    """k = (1 + r + r^2/3) exp(-r), h = 5/3 (1 + r) exp(-r), with r = sqrt(5 q)  (paper, appendix B)."""
    if root is None:
        root = np.sqrt(q, out=k)
    np.multiply(root, -ROOT_5, out=k)  # -r; np.negative errs where it reads every eighth number (NumPy 2.4.6)
    q *= 5.0 / 3.0
    if h is None:
        q -= k
        q += 1.0
        np.exp(k, out=k)
    else:
        np.subtract(1.0, k, out=h)
        q += h
        np.exp(k, out=k)
        h *= k
        h *= 5.0 / 3.0
    k *= q


def squared_exponential(q: Array, k: Array, h: Array | None, root: Array | None) -> None:
    """k = h = exp(-q/2)  (paper, section 3.1)."""
    np.multiply(q, -0.5, out=k)
    np.exp(k, out=k)
    if h is not None:
        np.copyto(h, k)


KERNELS: dict[KernelName, Kernel] = {"matern52": matern52, "squared_exponential": squared_exponential}

#: The same for pairs of points that are apart (first argument) along one variable, at 1 / l (second): adds k to the
#: third and writes h q = dk / d log l into the fourth; the last two are overwritten. All of one shape.
Along = Callable[[Array, float, Array, Array, Array, Array], None]


def matern52_along(apart: Array, inverse_l: float, total: Array, hq: Array, e: Array, c: Array) -> None:
    """k = (1 + r) exp(-r) + c exp(-r), h q = (1 + r) exp(-r) c, with r = sqrt(5 q) and c = r^2/3."""
    np.multiply(apart, -ROOT_5 * inverse_l, out=c)  # -r
    np.exp(c, out=e)
    np.subtract(1.0, c, out=hq)
    hq *= e
    total += hq
    c *= c
    c *= 1.0 / 3.0
    hq *= c
    c *= e
    total += c


def squared_exponential_along(apart: Array, inverse_l: float, total: Array, hq: Array, e: Array, c: Array) -> None:
    """k = exp(-q/2), h q = q exp(-q/2)."""
    np.multiply(apart, inverse_l, out=c)
    c *= c
    np.multiply(c, -0.5, out=e)
    np.exp(e, out=e)
    total += e
    np.multiply(c, e, out=hq)


ALONG: dict[KernelName, Along] = {"matern52": matern52_along, "squared_exponential": squared_exponential_along}


def augmented(V: Array) -> Array:
    """(-2 v, 1, |v|^2) for each row of V (m, d), transposed: (d + 2, m). The right factor of `evaluate`."""
    m, d = V.shape
    right = np.empty((d + 2, m), V.dtype)
    np.multiply(V.T, -2.0, out=right[:d])
    right[d] = 1.0
    right[d + 1] = np.vecdot(V, V)
    return right


def evaluate(kernel: KernelName, U: Array, right: Array, h: Array | None = None) -> Array:
    """k (n, m) between the scaled points U (n, d) and V (m, d), where right = augmented(V); h (n, m) too, written into
    an array for it.

    |u - v|^2 = |u|^2 + |v|^2 - 2 u.v is one matrix product of (u, |u|^2, 1) and (-2 v, 1, |v|^2).
    """
    n, d = U.shape
    left = np.empty((n, d + 2), U.dtype)
    left[:, :d] = U
    left[:, d] = np.vecdot(U, U)
    left[:, d + 1] = 1.0
    q = left @ right
    np.maximum(q, 0.0, out=q)
    k = np.empty_like(q)
    KERNELS[kernel](q, k, h, None)
    return k


def main_effects(
    kernel: KernelName, V: Array, U: Array, slopes: Array | None = None, apart: Array | None = None
) -> Array:
    """sum_j K_j (k, n) between the scaled coordinates V (m, k) and U (m, n); each dK_j / dv_j (m, k, n) too, written
    into an array for them. apart (m,): how far all values of a choice are apart, scaled, 0 where it is none; instead of
    its slope, which is along the columns of its corners, a choice has h.

    As many variables at a time as stay in the cache: all for the few points of a polish, one for those of a ranking.
    """
    shape = (V.shape[1], U.shape[1])
    total = np.zeros(shape, V.dtype)
    size = max(BATCH // max(total.size, 1), 1)
    for first in range(0, len(U), size):
        some = slice(first, first + size)
        u, v = U[some, None, :], V[some, :, None]
        drift = np.subtract(u, v, out=np.empty((len(u), *shape), V.dtype))  # by itself in an order of its own
        if apart is not None:
            choice = apart[some, None, None] > 0.0
            drift = np.where(choice, (drift != 0.0) * apart[some, None, None], drift)
        k, h = np.empty_like(drift), None if slopes is None else slopes[some]
        KERNELS[kernel](drift * drift, k, h, np.abs(drift))
        total += k[0] if len(k) == 1 else k.sum(axis=0)
        if h is not None:
            h *= drift if apart is None else np.where(choice, 1.0, drift)
    return total
