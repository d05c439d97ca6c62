"""One policy for factorizations and for threads; everything else calls BLAS and LAPACK where it needs them.

`L` is lower triangular, Fortran-ordered, and its upper triangle holds zeros.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache

import numpy as np
from scipy.linalg import blas, lapack
from threadpoolctl import ThreadpoolController

from vsbo.arrays import Array
from vsbo.errors import NumericalError

#: Fractions of the mean diagonal that are added, in this order, until the matrix factorizes.
#: 1e-10 mends rounding, 1e-8 and 1e-6 near-duplicates; 1e-4 is the noise floor of a standardized fit: beyond it
#: the matrix is not a covariance with rounding errors but a mistake.
JITTERS = (0.0, 1e-10, 1e-8, 1e-6, 1e-4)
#: Rows up to which a triangular matrix is inverted by LAPACK: 32 to 64 take the same time.
LEAF = 64


def cholesky(K: Array, *, again: Callable[[], Array] | None = None) -> tuple[Array, float]:
    """`L` with L L' = K + jitter I, and the jitter that was needed (0.0 nearly always).

    K (n, n) symmetric; only its lower triangle is read. Raises NumericalError beyond the ladder.
    With `again`, which makes K anew, K is Fortran-ordered both times, L takes its place, and what is above L's diagonal
    means nothing: that saves a third of the time at n = 200, which is spent on fresh pages and zeros.
    """
    diagonal = np.diagonal(K).copy()
    scale = float(np.mean(diagonal))
    if not np.isfinite(scale):
        raise NumericalError("cholesky: the matrix is not finite")
    for fraction in JITTERS:
        jitter = fraction * scale
        if fraction:
            K = K.copy(order="F") if again is None else again()
            np.fill_diagonal(K, diagonal + jitter)
        L, info = lapack.dpotrf(K, lower=1, clean=again is None, overwrite_a=again is not None)
        if info == 0:
            return L, jitter
    raise NumericalError(f"cholesky: not positive definite even with {JITTERS[-1]:g} of its diagonal added")


def solve_lower(L: Array, B: Array, *, transposed: bool = False) -> Array:
    """L^-1 B, or L^-T B; B (n, m)."""
    trsm = blas.strsm if L.dtype == np.float32 else blas.dtrsm
    solution: Array = trsm(1.0, L, B, lower=1, trans_a=int(transposed))
    return solution


def solve_cholesky(L: Array, b: Array) -> Array:
    """(L L')^-1 b; b (n,) or (n, m)."""
    solution: Array = lapack.dpotrs(L, b, lower=1)[0]
    return solution


def inverse(L: Array) -> Array:
    """(L L')^-1, its lower triangle; it takes the place of L (n, n), Fortran-ordered, and what is above the diagonal
    means nothing.
    """
    solution: Array = lapack.dlauum(_inverse_lower(L), lower=1, overwrite_c=1)[0]
    return solution


def _inverse_lower(L: Array) -> Array:
    """L^-1 in the place of L, by halves: (A 0; B C)^-1 = (A^-1 0; -C^-1 B A^-1 C^-1).

    LAPACK's takes twice as long at n = 200 (OpenBLAS, one thread).
    """
    n = len(L)
    if n <= LEAF:
        whole: Array = lapack.dtrtri(L, lower=1, overwrite_c=1)[0]
        return whole
    h = n // 2
    A, C = _inverse_lower(L[:h, :h].copy("F")), _inverse_lower(L[h:, h:].copy("F"))
    B = blas.dtrmm(-1.0, C, L[h:, :h].copy("F"), lower=1, overwrite_b=1)
    L[:h, :h], L[h:, h:] = A, C
    L[h:, :h] = blas.dtrmm(1.0, A, B, side=1, lower=1, overwrite_b=1)
    return L


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def single_thread() -> AbstractContextManager[object]:
    """Inside, BLAS uses one thread: matrices of a few hundred rows only lose by more, and workers do not fight."""
    limited: AbstractContextManager[object] = _controller().limit(limits=1)
    return limited
