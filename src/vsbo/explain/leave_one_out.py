"""How well a model predicts a value from all the others, in closed form."""

import numpy as np

from vsbo.arrays import Array
from vsbo.gp import Posterior
from vsbo.linalg import solve_cholesky


def leave_one_out(posterior: Posterior) -> tuple[Array, Array]:
    """Mean and deviation (n,) of each observation given all the others, under the same hyper-parameters.

    With P = M^-1, less M^-1 1 1' M^-1 / (1' M^-1 1) where the constant mean is learned (each time from the others):
    mu_-i = y_i - (P y)_i / P_ii, and 1 / P_ii is the variance (Rasmussen and Williams, eq. 5.12).
    """
    n = len(posterior.y)
    P = solve_cholesky(posterior.L, np.eye(n))
    if posterior.mean_name == "constant":
        ones = P.sum(axis=1)
        P = P - np.outer(ones, ones) / ones.sum()
    diagonal = np.diagonal(P)
    return posterior.y - (P @ posterior.y) / diagonal, 1.0 / np.sqrt(diagonal)
