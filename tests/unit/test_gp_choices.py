"""Choices without order: the model pair by pair, the slow way, against what the engine makes of corners."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from tests.unit.test_gp_likelihood import differences
from vsbo.gp import Hyperparameters, condition, fit
from vsbo.gp.choices import APART, corners, gather, owners, spread
from vsbo.gp.likelihood import Likelihood
from vsbo.selection import kl_importance

LEVELS = (0, 4, 0, 3)  # real, a choice of four, real, a choice of three
MAINS = [(), (1,), (0, 1), (0, 1, 2, 3)]


def points(n, seed=0, levels=LEVELS):
    rng = np.random.default_rng(seed)
    X = rng.random((n, len(levels)))
    for j, k in enumerate(levels):
        if k:
            X[:, j] = (rng.integers(k, size=n) + 0.5) / k
    return X


def theta_with(main, seed=1):
    log_theta = np.r_[np.random.default_rng(seed).normal(-0.5, 0.4, len(LEVELS)), 0.2, -2.0, [0.3] * bool(main)]
    return log_theta, Hyperparameters.from_log(log_theta, main)


def slow_kernel(X, Z, theta, kernel):
    """Two values of a choice are APART if they differ, whichever they are."""

    def profile(square):
        r = np.sqrt(5 * square)
        return np.exp(-0.5 * square) if kernel == "squared_exponential" else (1 + r + r**2 / 3) * np.exp(-r)

    def entry(x, z):
        apart = [APART * (a != b) if k else a - b for a, b, k in zip(x, z, LEVELS, strict=True)]
        squares = (np.array(apart) / theta.lengthscales) ** 2
        return theta.outputscale * profile(squares.sum()) + theta.mainscale * sum(
            profile(squares[j]) for j in theta.main
        )

    return np.array([[entry(x, z) for z in Z] for x in X])


@pytest.mark.parametrize("main", MAINS)
@pytest.mark.parametrize("kernel", ["matern52", "squared_exponential"])
def test_likelihood_is_scipys_and_its_gradient_that_of_differences(main, kernel):
    X, y = points(20), np.random.default_rng(2).normal(size=20)
    log_theta, theta = theta_with(main)
    M = slow_kernel(X, X, theta, kernel) + theta.noise * np.eye(20)
    likelihood = Likelihood(X, y, kernel, "zero", None, main, LEVELS)
    expected = -multivariate_normal(np.zeros(20), M).logpdf(y)
    assert likelihood(log_theta)[0] == pytest.approx(expected, rel=1e-10)
    np.testing.assert_allclose(likelihood(log_theta)[1], differences(likelihood, log_theta), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("main", MAINS)
@pytest.mark.parametrize("kernel", ["matern52", "squared_exponential"])
def test_posterior_is_the_slow_one(main, kernel):
    X, y, Z = points(20), np.random.default_rng(2).normal(size=20), points(9, seed=3)
    theta = theta_with(main)[1]
    posterior = condition(X, y, theta, kernel, "zero", LEVELS)
    M, k = slow_kernel(X, X, theta, kernel) + theta.noise * np.eye(20), slow_kernel(Z, X, theta, kernel)
    mu, sigma = posterior.predict(Z)
    np.testing.assert_allclose(mu, k @ np.linalg.solve(M, y), atol=1e-12)
    variance = theta.variance - np.einsum("ij,ji->i", k, np.linalg.solve(M, k.T))
    np.testing.assert_allclose(sigma, np.sqrt(variance), atol=1e-12)
    for rough, exact in zip(posterior.rough().predict(Z), (mu, sigma), strict=True):
        np.testing.assert_allclose(rough, exact, atol=1e-4)
    # A row appended is a fit with one more observation: values of choices are compared, and rounding must not tell
    # equal ones apart.
    grown = posterior.extend(Z[0], 0.7)
    whole = condition(np.vstack([X, Z[:1]]), np.r_[y, 0.7], theta, kernel, "zero", LEVELS)
    for one, other in zip(grown.predict(Z), whole.predict(Z), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-10)


@pytest.mark.parametrize("main", MAINS)
def test_slopes_along_the_other_variables_are_those_of_differences(main):
    X, y, Z = points(20), np.random.default_rng(2).normal(size=20), points(5, seed=3)
    posterior = condition(X, y, theta_with(main)[1], "matern52", "constant", LEVELS)
    _, _, slope_mu, slope_sigma = posterior.gradients(Z)
    h = 1e-6
    for j in (0, 2):
        step = h * np.eye(len(LEVELS))[j]
        after, before = posterior.predict(Z + step), posterior.predict(Z - step)
        for slope, a, b in zip((slope_mu, slope_sigma), after, before, strict=True):
            np.testing.assert_allclose(slope[:, j], (a - b) / (2 * h), rtol=1e-4, atol=1e-6)
    assert (posterior.slope(X)[:, [1, 3]] >= 0).all()  # of a choice: how steep, not where to


def test_the_names_of_the_values_do_not_matter():
    """Numbering a choice otherwise is the same data: the same likelihood, predictions, slopes and scores."""
    X, Z = points(30), points(6, seed=3)
    y = np.array([1.0, -2.0, 0.5, 3.0])[(X[:, 1] * 4).astype(int)] + np.sin(4 * X[:, 0])
    order = np.array([2, 0, 3, 1])

    def renamed(X):
        X = X.copy()
        X[:, 1] = (order[(X[:, 1] * 4).astype(int)] + 0.5) / 4
        return X

    theta = theta_with((0, 1))[1]
    one = condition(X, y, theta, "matern52", "constant", LEVELS).predict(Z)
    other = condition(renamed(X), y, theta, "matern52", "constant", LEVELS).predict(renamed(Z))
    np.testing.assert_allclose(one, other, atol=1e-10)
    by_rounding = condition(renamed(X), y, theta, "matern52").predict(renamed(Z))
    assert np.abs(by_rounding[0] - condition(X, y, theta, "matern52").predict(Z)[0]).max() > 0.1
    slopes = [condition(P, y, theta, "matern52", "constant", LEVELS).slope(P) for P in (X, renamed(X))]
    np.testing.assert_allclose(*slopes, atol=1e-10)
    log_theta = theta_with((0, 1))[0]
    losses = [Likelihood(P, y, "matern52", "constant", None, (0, 1), LEVELS)(log_theta)[0] for P in (X, renamed(X))]
    assert losses[0] == pytest.approx(losses[1])
    scores = [kl_importance(condition(P, y, theta, "matern52", "constant", LEVELS)) for P in (X, renamed(X))]
    np.testing.assert_allclose(*scores, rtol=1e-6)
    assert np.argmax(scores[0]) == 1


def test_a_choice_is_as_steep_as_its_corners_say():
    """The length of the gradient along its corners, each by differences of the slow kernel's formula."""
    X, y = points(20), np.random.default_rng(2).normal(size=20)
    theta = theta_with((1,))[1]
    posterior = condition(X, y, theta, "matern52", "constant", LEVELS)
    z, h = X[0], 1e-6

    def mean_at(corner):  # the mean at z with its choice 1 at any place of the simplex's space
        V = spread(z[None], LEVELS)[0]
        V[corners(LEVELS)[1]] = corner
        U = spread(X, LEVELS)
        scale = theta.lengthscales[owners(LEVELS)]
        squares = ((V - U) / scale) ** 2

        def profile(q):
            r = np.sqrt(5 * q)
            return (1 + r + r**2 / 3) * np.exp(-r)

        own = squares[:, corners(LEVELS)[1]].sum(axis=1)
        k = theta.outputscale * profile(squares.sum(axis=1)) + theta.mainscale * profile(own)
        return posterior.m + k @ posterior.alpha

    at = spread(z[None], LEVELS)[0, corners(LEVELS)[1]]
    gradient = [(mean_at(at + h * e) - mean_at(at - h * e)) / (2 * h) for e in np.eye(4)]
    assert posterior.slope(z[None])[0, 1] == pytest.approx(np.linalg.norm(gradient), rel=1e-4)


def test_fit_explains_a_choice_better_than_its_numbers_do():
    from vsbo import Config

    X = points(40, levels=(0, 6))
    y = np.array([0.0, 5.0, -4.0, 4.0, -5.0, 1.0])[(X[:, 1] * 6).astype(int)] + X[:, 0]
    y = (y - y.mean()) / y.std()
    config = Config.vanilla()
    assert fit(X, y, config, levels=(0, 6)).loss < fit(X, y, config).loss - 5.0


def test_columns():
    X = points(7)
    columns = spread(X, LEVELS)
    assert columns.shape == (7, 4 + 4 + 3)
    np.testing.assert_array_equal(owners(LEVELS), [0, 1, 2, 3, 1, 1, 1, 1, 3, 3, 3])
    assert corners(LEVELS) == {1: slice(4, 8), 3: slice(8, 11)}
    np.testing.assert_array_equal(columns[:, [0, 2]], X[:, [0, 2]])
    squares = ((columns[:, None, 4:8] - columns[None, :, 4:8]) ** 2).sum(axis=-1)
    np.testing.assert_allclose(squares, APART**2 * (X[:, None, 1] != X[None, :, 1]), atol=1e-15)
    assert spread(X, ()) is X
    slopes = gather(np.ones((2, 11)), LEVELS)
    np.testing.assert_allclose(slopes, [[1, 2, 1, np.sqrt(3)]] * 2)
