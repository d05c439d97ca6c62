"""The Lasso problems against LassoBench's check values and the conditions that a lasso's solution fulfils."""

import numpy as np
import pytest

from benchmarks.problems import lasso
from benchmarks.problems.weighted_lasso import fitted, regression

SIZES = ((60, 3), (100, 5), (300, 15))


@pytest.mark.parametrize(
    ("d", "k", "expected"),
    [(60, 3, [4.6574, 4.1769, 109.0933]), (100, 5, [4.6169, 1.6640, 108.6074]), (300, 15, [5.3818, 3.1552, 94.2424])],
)
def test_check_values(d, k, expected):
    """To 1e-2: the values are those of a looser solver at -1 in 60 dimensions."""
    X = np.outer([0.0, -1.0, 1.0], np.ones(d))
    np.testing.assert_allclose(-lasso(d, k).values(X), expected, rtol=1e-2)


@pytest.mark.parametrize(("d", "k"), SIZES)
def test_the_active_variables(d, k):
    p = lasso(d, k)
    assert p.important == set(range(0, d, d // k))
    assert len(p.important) == k
    assert p.minimized


def test_the_regression():
    """AR(1) rows of variance 1, and exactly the signal-to-noise ratio; at most five deviations off."""
    A, b, w = regression(300, 15)
    assert A.shape == (150, 300)
    assert np.std(A) == pytest.approx(1, abs=0.03)
    for lag in (1, 2, 3):
        assert np.mean(A[:, lag:] * A[:, :-lag]) == pytest.approx(0.6**lag, abs=0.05)
    assert np.linalg.norm(A @ w) == pytest.approx(10 * np.linalg.norm(b - A @ w), rel=1e-12)


def test_the_fit_is_the_lassos_minimum():
    """Stationary: |A_j'(b - A c)| / n is at most alpha_j, and equals it, with c_j's sign, where c_j is not 0."""
    A, b, _ = regression(60, 3)
    alpha = np.exp(np.random.default_rng(0).uniform(-4, 0, 60))
    c = fitted(A, b, alpha)
    slope = A.T @ (b - A @ c) / len(b)
    on = c != 0
    assert 3 < on.sum() < 30
    np.testing.assert_allclose(slope[on], (alpha * np.sign(c))[on], rtol=1e-3)
    assert np.all(np.abs(slope[~on]) <= alpha[~on] * (1 + 1e-3))


def test_a_large_penalty_takes_a_variable_out():
    """Among other things, -1 is the small penalty: at +1 everywhere nothing is left in, but for the folds' chance."""
    A, b, _ = regression(60, 3)
    alpha_max = np.abs(A.T @ b).max() / len(b)
    assert not np.any(fitted(A, b, np.full(60, alpha_max * (1 + 1e-9))))
    assert np.count_nonzero(fitted(A, b, np.full(60, alpha_max / 100))) > 20
