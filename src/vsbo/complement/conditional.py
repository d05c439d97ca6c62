"""The conditional of a Gaussian: p(x_nipt | x_ipt) (paper, section 3.3)."""

from collections.abc import Sequence

import numpy as np

from vsbo.arrays import Array
from vsbo.linalg import cholesky, solve_lower


def conditional(mean: Array, covariance: Array, given: Sequence[int], values: Array) -> tuple[Array, Array]:
    """Mean (D - p,) and covariance (D - p, D - p) of the other variables, where variables `given` have `values` (p,).

    mean_o + S_og S_gg^-1 (values - mean_g),  S_oo - S_og S_gg^-1 S_go.
    """
    others = np.setdiff1d(np.arange(len(mean)), given)
    at = np.asarray(given)
    L, _ = cholesky(covariance[np.ix_(at, at)])
    half = solve_lower(L, covariance[np.ix_(at, others)])  # L^-1 S_go
    shift = solve_lower(L, (values - mean[at])[:, None])[:, 0]
    return mean[others] + half.T @ shift, covariance[np.ix_(others, others)] - half.T @ half
