"""Correlations as functions of the squared scaled distance q = sum_j (x_j - z_j)^2 / l_j^2.

Everything the rest needs is k and h = -2 dk/dq, because, with u = x / l and v = z / l,
    dk / d log l_j =  h (u_j - v_j)^2
    dk / d x_j     = -h (u_j - v_j) / l_j
"""

from collections.abc import Callable

import numpy as np

from vsbo.arrays import Array
from vsbo.config import KernelName

#: Writes k and h for q into the second and third argument; q is overwritten. The fourth is its root, or None where it
#: is not known. All of one shape.
Kernel = Callable[[Array, Array, Array, Array | None], None]


def matern52(q: Array, k: Array, h: Array, root: Array | None) -> None:
    """k = (1 + r + r^2/3) exp(-r), h = 5/3 (1 + r) exp(-r), with r = sqrt(5 q)  (paper, appendix B)."""
    q *= 5.0
    if root is None:
        np.sqrt(q, out=h)  # a third of the time
    else:
        np.multiply(root, np.sqrt(5.0), out=h)
    np.multiply(h, -1.0, out=k)  # np.negative errs where it reads every eighth number (NumPy 2.4.6)
    np.exp(k, out=k)
    h += 1.0
    q /= 3.0
    q += h
    h *= k
    h *= 5.0 / 3.0
    k *= q


def squared_exponential(q: Array, k: Array, h: Array, root: Array | None) -> None:
    """k = h = exp(-q/2)  (paper, section 3.1)."""
    np.multiply(q, -0.5, out=k)
    np.exp(k, out=k)
    np.copyto(h, k)


KERNELS: dict[KernelName, Kernel] = {"matern52": matern52, "squared_exponential": squared_exponential}


def augmented(V: Array) -> Array:
    """(-2 v, 1, |v|^2) for each row of V (m, d), transposed: (d + 2, m). The right factor of `evaluate`."""
    m, d = V.shape
    right = np.empty((d + 2, m), V.dtype)
    np.multiply(V.T, -2.0, out=right[:d])
    right[d] = 1.0
    right[d + 1] = np.vecdot(V, V)
    return right


def evaluate(kernel: KernelName, U: Array, right: Array) -> tuple[Array, Array]:
    """k and h, each (n, m), between the scaled points U (n, d) and V (m, d), where right = augmented(V).

    |u - v|^2 = |u|^2 + |v|^2 - 2 u.v is one matrix product of (u, |u|^2, 1) and (-2 v, 1, |v|^2).
    """
    n, d = U.shape
    left = np.empty((n, d + 2), U.dtype)
    left[:, :d] = U
    left[:, d] = np.vecdot(U, U)
    left[:, d + 1] = 1.0
    q = left @ right
    np.maximum(q, 0.0, out=q)
    k, h = np.empty_like(q), np.empty_like(q)
    KERNELS[kernel](q, k, h, None)
    return k, h


def main_effects(kernel: KernelName, V: Array, U: Array, slopes: bool = True) -> tuple[Array, Array]:
    """sum_j K_j (k, n) between the scaled coordinates V (k, m) and U (n, m), and each dK_j / dv_j (m, k, n), or (0, k,
    n) where no slopes are wanted.

    A variable at a time, so that all arrays but the slopes stay in the cache: 0.6 ms instead of 2.7 for 80 points at
    n = 200 and m = 8.
    """
    (rows, m), n = V.shape, len(U)
    own, k, h = np.zeros((rows, n), V.dtype), np.empty((rows, n), V.dtype), np.empty((rows, n), V.dtype)
    each = np.empty((m if slopes else 0, rows, n), V.dtype)
    for j in range(m):
        drift = U[:, j] - V[:, j, None]
        KERNELS[kernel](drift**2, k, h, np.abs(drift))
        own += k
        if slopes:
            np.multiply(h, drift, out=each[j])
    return own, each
