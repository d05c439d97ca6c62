"""Lasso with a penalty for each coefficient, as LassoBench has it (Sehic et al. 2022): 60, 100, 300 variables.

Notation: A (n, d) the regressors and b (n,) the answers, n = d / 2. A row of A is an AR(1) process of correlation 0.6;
b = A w + noise with |A w| = 10 |noise|; w is 1, -1, 1, ... at k evenly spaced places, the active variables, and else 0.
15 % of the rows are set aside (LassoBench's test set) and used for nothing here. x (d,) in [-1, 1] sets the penalties
alpha (d,) from alpha_max / 100 to alpha_max = max|A'b| / n, logarithmically. The value is the mean squared error,
in 5-fold cross-validation, of
    c = argmin |b - A c|^2 / (2 n) + sum_j alpha_j |c_j|,
divided by that of w itself. LassoBench minimizes it; here it is negated.
"""

from dataclasses import dataclass

import numpy as np
from scipy.signal import lfilter

from benchmarks.errors import BenchError
from benchmarks.problems.best_points import best_point
from benchmarks.problems.problem import Array, Problem

SEED = 42
CORRELATION, SIGNAL_TO_NOISE = 0.6, 10.0
HELD_OUT, FOLDS = 0.15, 5
RANGE = np.log(100.0)
# Of the duality gap, in units of |b|^2: values are right to about 1e-6. LassoBench has 1e-4: right to about 1e-3.
TOLERANCE = 1e-10
SWEEPS = 1_000_000


def regression(d: int, k: int) -> tuple[Array, Array, Array]:
    """A (n, d), b (n,) and w (d,). Random numbers in celer's order: A column by column, then the noise."""
    rng = np.random.RandomState(SEED)
    n = d // 2
    innovations = rng.standard_normal((d, n))
    # Each column of A has variance 1.
    innovations[1:] *= np.sqrt(1 - CORRELATION**2)
    A: Array = lfilter([1.0], [1.0, -CORRELATION], innovations, axis=0).T
    w = np.zeros(d)
    w[:: d // k] = (-1.0) ** np.arange(k)
    noise = rng.standard_normal(n)
    signal = A @ w
    return A, signal + noise * np.linalg.norm(signal) / (SIGNAL_TO_NOISE * np.linalg.norm(noise)), w


@dataclass(frozen=True, eq=False)
class Fold:
    """One part of the data to fit, A (n, d) and b (n,), and one to test with."""

    A: Array
    b: Array
    A_test: Array
    b_test: Array


def fitted(A: Array, b: Array, alpha: Array) -> Array:
    """The coefficients c (d,) for penalties alpha (d,).

    With c_j = z_j / alpha_j and the columns of A divided alike, it is the plain lasso in z with penalty 1.
    """
    from sklearn.linear_model import Lasso

    z = Lasso(alpha=1.0, fit_intercept=False, tol=TOLERANCE, max_iter=SWEEPS).fit(A / alpha, b).coef_
    coefficients: Array = z / alpha
    return coefficients


def lasso(d: int, k: int) -> Problem:
    """d variables, k of them active."""
    try:
        from sklearn.model_selection import KFold, train_test_split
    except ImportError as cause:
        raise BenchError(f"Lasso{d} needs scikit-learn, which is not installed") from cause

    A, b, w = regression(d, k)
    A, _, b, _ = train_test_split(A, b, test_size=HELD_OUT, random_state=SEED)
    parts = KFold(FOLDS, shuffle=True, random_state=SEED).split(A)
    folds = [Fold(np.asfortranarray(A[fit]), b[fit], A[test], b[test]) for fit, test in parts]
    oracle = np.mean((b - A @ w) ** 2)
    alpha_max = np.max(np.abs(A.T @ b)) / len(b)

    def loss(x: Array) -> float:
        alpha = alpha_max * np.exp(RANGE * (x - 1) / 2)
        errors = [np.mean((fold.b_test - fold.A_test @ fitted(fold.A, fold.b, alpha)) ** 2) for fold in folds]
        return float(np.mean(errors) / oracle)

    argmax, best = best_point(f"Lasso{d}")
    return Problem(
        f"Lasso{d}",
        lambda X: -np.array([loss(x) for x in np.asarray(X)]),
        np.tile([-1.0, 1.0], (d, 1)),
        best,
        frozenset(int(j) for j in np.flatnonzero(w)),
        minimized=True,
        argmax=argmax,
    )
