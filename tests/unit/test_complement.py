"""CMA-ES against the `cmaes` package, the conditional against the precision form, truncation against moments."""

import numpy as np
import pytest
from cmaes import CMA
from scipy.stats import kstest, truncnorm

from vsbo.complement import Cma, cma_from_design, cma_update, conditional, mix, sample_in_box
from vsbo.complement import truncated as truncated_module
from vsbo.complement.cma import rates


@pytest.mark.parametrize(("D", "population"), [(2, 6), (5, 8), (10, 20), (30, 20)])
def test_fifty_generations_are_those_of_the_cmaes_package(D, population):
    rng = np.random.default_rng(D)
    mean = rng.random(D)
    theirs = CMA(mean=mean.copy(), sigma=0.2, population_size=population, seed=0)
    ours = Cma(mean, 0.2, np.eye(D), np.zeros(D), np.zeros(D), 0)
    scales = np.logspace(0, 2, D)
    for _ in range(50):
        points = [theirs.ask() for _ in range(population)]
        values = [float(np.sum(scales * (x - 0.3) ** 2)) for x in points]
        theirs.tell(list(zip(points, values, strict=True)))
        ours = cma_update(ours, np.array(points), -np.array(values), foreign=False)
        np.testing.assert_allclose(ours.mean, theirs._mean, rtol=1e-6, atol=1e-10)
        assert ours.sigma == pytest.approx(theirs._sigma, rel=1e-6)
        np.testing.assert_allclose(ours.C, theirs._C, rtol=1e-5, atol=1e-8)
        np.testing.assert_allclose(ours.path_sigma, theirs._p_sigma, rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(ours.path_c, theirs._pc, rtol=1e-5, atol=1e-7)
    assert ours.generation == 50
    assert np.sum(scales * (ours.mean - 0.3) ** 2) < 0.2 * np.sum(scales * (mean - 0.3) ** 2)  # and it optimizes


def test_an_update_leaves_its_argument_as_it_was():
    state = cma_from_design(np.random.default_rng(0).random((5, 4)), np.arange(5.0), 0.2)
    before = (state.mean.copy(), state.C.copy())
    cma_update(state, np.random.default_rng(1).random((8, 4)), np.arange(8.0))
    np.testing.assert_array_equal(state.mean, before[0])
    np.testing.assert_array_equal(state.C, before[1])
    with pytest.raises(ValueError, match="read-only"):
        state.mean[0] = 1.0


def test_foreign_points_are_clipped_to_the_length_that_own_samples_rarely_exceed():
    D, population = 6, 10
    state = Cma(np.full(D, 0.5), 0.01, np.eye(D), np.zeros(D), np.zeros(D), 0)
    longest = np.sqrt(D) + 2 * D / (D + 2)
    X = 0.5 + 0.01 * longest * np.eye(population, D)  # just at the limit: nothing is changed
    y = -np.arange(float(population))
    np.testing.assert_allclose(cma_update(state, X, y).mean, cma_update(state, X, y, foreign=False).mean, rtol=1e-12)
    far = 0.5 + 1.0 * np.eye(population, D)  # a hundred deviations: the same step as at the limit
    np.testing.assert_allclose(cma_update(state, far, y).mean, cma_update(state, X, y).mean, rtol=1e-12)


def test_the_design_gives_the_weighted_mean_of_its_better_half():
    X = np.arange(10.0).reshape(5, 2) / 10
    state = cma_from_design(X, np.array([3.0, 9.0, 1.0, 7.0, 5.0]), 0.2)
    weights = np.log(3.5) - np.log([1, 2, 3])
    np.testing.assert_allclose(state.mean, weights @ X[[1, 3, 4]] / weights.sum())
    np.testing.assert_allclose(state.covariance, 0.04 * np.eye(2), rtol=1e-15)


def test_values_matter_by_rank_only():
    state = cma_from_design(np.random.default_rng(0).random((5, 3)), np.arange(5.0), 0.2)
    X, y = np.random.default_rng(1).random((8, 3)), np.random.default_rng(2).normal(size=8)
    one, two = cma_update(state, X, y), cma_update(state, X, np.exp(3 * y) - 100)
    np.testing.assert_array_equal(one.C, two.C)


def test_learning_rate_at_fifty_variables_is_tiny():
    """c1 + c_mu is about 0.004 at D = 50 with a population of 20."""
    r = rates(50, 20)
    assert 0.003 < r.c1 + r.c_mu < 0.006


# --------------------------------------------------------------------------------- conditional


def test_conditional_is_that_of_the_precision_matrix():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(7, 7))
    mean, covariance = rng.normal(size=7), A @ A.T + 0.1 * np.eye(7)
    given, values = (5, 1, 3), rng.normal(size=3)
    others = [0, 2, 4, 6]
    P = np.linalg.inv(covariance)
    expected_covariance = np.linalg.inv(P[np.ix_(others, others)])
    expected_mean = mean[others] - expected_covariance @ P[np.ix_(others, given)] @ (values - mean[list(given)])
    ours_mean, ours_covariance = conditional(mean, covariance, given, values)
    np.testing.assert_allclose(ours_mean, expected_mean, rtol=1e-8)
    np.testing.assert_allclose(ours_covariance, expected_covariance, rtol=1e-7)


# --------------------------------------------------------------------------------- truncation


@pytest.mark.parametrize("mean", [0.0, 0.3, 1.0, 1.7, -3.0])
def test_independent_variables_are_truncated_normals(mean):
    samples = sample_in_box(np.full(3, mean), 0.09 * np.eye(3), 4000, np.random.default_rng(0))
    exact = truncnorm((0 - mean) / 0.3, (1 - mean) / 0.3, loc=mean, scale=0.3)
    for column in samples.T:
        assert kstest(column, exact.cdf).pvalue > 1e-4  # false alarms: 15 tests at 1e-4 each


def moments_by_rejection(mean, covariance, n=400_000, seed=1):
    x = np.random.default_rng(seed).multivariate_normal(mean, covariance, size=n)
    x = x[((x >= 0) & (x <= 1)).all(axis=1)]
    return x, len(x)


@pytest.mark.parametrize("correlation", [-0.3, 0.2, 0.6, 0.95])
def test_moments_of_correlated_variables_are_those_of_rejection(correlation):
    mean = np.array([0.1, 0.8, 0.5, 0.95])
    deviations = np.array([0.3, 0.2, 0.5, 0.4])
    covariance = np.outer(deviations, deviations) * (correlation + (1 - correlation) * np.eye(4))
    exact, n = moments_by_rejection(mean, covariance)
    ours = sample_in_box(mean, covariance, 20_000, np.random.default_rng(0))
    assert ((ours >= 0) & (ours <= 1)).all()
    error = exact.std(0) * np.sqrt(1 / n + 1 / len(ours))
    assert (np.abs(ours.mean(0) - exact.mean(0)) < 4.5 * error).all()  # false alarm below 1e-4 for all of it
    np.testing.assert_allclose(np.cov(ours.T), np.cov(exact.T), atol=0.002)


def test_gibbs_sampling_has_the_same_moments(monkeypatch):
    monkeypatch.setattr(truncated_module, "_saddle", lambda *a: None)
    mean, covariance = np.array([0.1, 0.9]), np.array([[0.09, 0.05], [0.05, 0.04]])
    exact, n = moments_by_rejection(mean, covariance)
    ours = sample_in_box(mean, covariance, 4000, np.random.default_rng(0))
    assert (np.abs(ours.mean(0) - exact.mean(0)) < 4.5 * exact.std(0) * np.sqrt(1 / n + 1 / len(ours))).all()
    np.testing.assert_allclose(np.cov(ours.T), np.cov(exact.T), atol=0.004)


@pytest.mark.parametrize("d", [44, 118])
def test_many_variables_are_accepted_at_once(d):
    """Where plain rejection would accept nothing: acceptance stays high, so that one or two batches do."""
    rng = np.random.default_rng(d)
    A = rng.normal(size=(d, 20))
    C = np.eye(d) + 0.005 * A @ A.T  # some generations of a rank-20 update
    mean = rng.random(d)
    L = np.linalg.cholesky(0.04 * C)
    scale = np.diagonal(L)
    T = np.tril(L, -1) / scale[:, None]
    mu, top = truncated_module._saddle(T, -mean / scale, (1 - mean) / scale)
    _, psi = truncated_module._propose(T, -mean / scale, (1 - mean) / scale, mu, 3000, rng)
    assert (psi <= top + 1e-9).all()  # exactness: the bound is a bound
    assert np.exp(psi - top).mean() > 0.5


def test_a_distribution_far_outside_lies_on_the_face():
    samples = sample_in_box(np.array([-8.0, 0.5]), 0.04 * np.eye(2), 50, np.random.default_rng(0))
    assert (samples[:, 0] < 0.05).all()
    assert np.isfinite(samples).all()


# --------------------------------------------------------------------------------- mix


def test_mix_is_half_uniform_and_half_the_incumbents():
    incumbent = np.array([0.2, 0.7])
    draws = [mix(incumbent, 0.5, np.random.default_rng(seed)) for seed in range(400)]
    same = sum(np.array_equal(draw, incumbent) for draw in draws)
    assert 150 < same < 250  # binomial(400, 1/2): false alarm 6e-7
    assert not np.array_equal(mix(incumbent, 1.0, np.random.default_rng(0)), incumbent)
    np.testing.assert_array_equal(mix(incumbent, 0.0, np.random.default_rng(0)), incumbent)
