"""Meaning of a fit: it finds what the data were made with, and no start is worse than it says."""

import numpy as np
import pytest

from vsbo.config import Config
from vsbo.data import standardize
from vsbo.errors import NumericalError
from vsbo.gp import COLD, Hyperparameters, condition, fit
from vsbo.gp import likelihood as likelihood_module
from vsbo.gp.fit import LENGTHSCALES, OUTPUTSCALES, cold_start
from vsbo.gp.likelihood import Likelihood


def sample_path(theta, n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, len(theta.lengthscales)))
    U = X / theta.lengthscales
    r = np.sqrt(5 * ((U[:, None] - U[None]) ** 2).sum(-1))
    K = theta.outputscale * (1 + r + r**2 / 3) * np.exp(-r) + theta.noise * np.eye(n)
    return X, np.linalg.cholesky(K) @ rng.normal(size=n)


def test_it_finds_the_hyperparameters_of_a_sample_path():
    truth = Hyperparameters(np.array([0.2, 0.6, 50.0]), 1.0, 0.01)
    X, y = sample_path(truth)
    found = fit(X, y, Config.paper())
    np.testing.assert_allclose(np.log(found.theta.lengthscales[:2]), np.log([0.2, 0.6]), atol=0.5)
    assert found.theta.lengthscales[2] > 5.0
    assert found.theta.noise == pytest.approx(0.01, rel=0.8)


def test_the_loss_is_the_likelihood_without_the_prior():
    X, y = sample_path(Hyperparameters(np.array([0.2, 0.6, 50.0]), 1.0, 0.01))
    for config in (Config.paper(), Config()):
        found = fit(X, y, config)
        bare = Likelihood(X, y, config.kernel, config.mean)(found.theta.to_log())[0]
        assert found.loss == pytest.approx(bare, rel=1e-9)


def test_the_likelihood_cannot_be_improved_nearby():
    X, y = sample_path(Hyperparameters(np.array([0.2, 0.6, 50.0]), 1.0, 0.01))
    found = fit(X, y, Config.paper())
    likelihood = Likelihood(X, y, "matern52")
    rng = np.random.default_rng(0)
    for _ in range(50):
        nearby = found.theta.to_log() + 0.05 * rng.normal(size=5)
        assert likelihood(nearby)[0] > found.loss - 1e-4


def test_more_starts_are_never_worse():
    rng = np.random.default_rng(1)
    X = rng.random((40, 10))
    y = standardize(np.sin(6 * X[:, 0]) + X[:, 1])
    losses = [fit(X, y, Config.paper(), cold=(name,)).loss for name in COLD]
    assert fit(X, y, Config.paper()).loss <= min(losses) + 1e-9


def test_a_warm_start_at_the_optimum_stays_and_costs_little():
    X, y = sample_path(Hyperparameters(np.array([0.2, 0.6, 5.0]), 1.0, 0.01))
    cold = fit(X, y, Config.paper())
    warm = fit(X, y, Config.paper(), warm=[cold.theta], cold=())
    assert warm.loss <= cold.loss + 1e-6 * abs(cold.loss)
    assert warm.start == "warm"
    assert warm.evaluations < cold.evaluations / 3


def test_priors_hold_an_unused_length_scale_where_they_say():
    """With few points and many variables the likelihood alone sends length-scales to the ends of their range."""
    rng = np.random.default_rng(2)
    X = rng.random((10, 30))
    y = standardize(X[:, 0])
    free = fit(X, y, Config.paper()).theta.lengthscales
    held = fit(X, y, Config()).theta.lengthscales
    assert np.ptp(np.log(held)) < np.ptp(np.log(free))
    assert np.exp(np.median(np.log(held))) == pytest.approx(np.exp(np.sqrt(2)) * np.sqrt(30), rel=1.5)


def test_of_a_sum_nearly_nothing_is_left_to_the_product_and_a_small_effect_is_seen():
    rng = np.random.default_rng(4)
    X, Z = rng.random((100, 6)), rng.random((200, 6))

    def values(X):
        return np.sin(7.0 * X[:, 0]) + np.cos(6.0 * X[:, 1]) + X[:, 2] ** 2, 0.005 * np.sin(5.0 * X[:, 3])

    (large, small), y = values(Z), sum(values(X))
    found = fit(X, standardize(y), Config(), main=(0, 1, 2)).theta
    assert found.outputscale < 0.001 * found.variance
    mu = y.mean() + y.std(ddof=1) * condition(X, standardize(y), found, "matern52").mean(Z)
    assert np.std(mu - large - small) < 0.6 * np.std(small)


def test_bounds_hold_and_the_noise_floor_is_the_configs():
    rng = np.random.default_rng(3)
    X = rng.random((30, 4))
    y = standardize(X @ [1.0, 2.0, 3.0, 4.0])  # noiseless and linear: scales run to their ends
    theta = fit(X, y, Config.paper(noise_floor=1e-3)).theta
    assert theta.noise >= 1e-3 * (1 - 1e-12)
    assert (theta.lengthscales >= LENGTHSCALES[0] * (1 - 1e-9)).all()
    assert (theta.lengthscales <= LENGTHSCALES[1] * (1 + 1e-9)).all()
    assert OUTPUTSCALES[0] <= theta.outputscale <= OUTPUTSCALES[1] * (1 + 1e-9)


def test_constant_values_need_no_search():
    found = fit(np.random.default_rng(0).random((5, 2)), np.zeros(5), Config.paper())
    assert found.start == "constant"
    assert found.evaluations == 0
    np.testing.assert_allclose(found.theta.to_log(), cold_start("scaled", 2))


def test_a_failing_warm_start_is_answered_with_the_cold_ones(monkeypatch):
    X, y = sample_path(Hyperparameters(np.array([0.2, 0.6, 5.0]), 1.0, 0.01), n=30)
    calls = []

    def fails_first(M, again):
        calls.append(1)
        if len(calls) == 1:
            raise NumericalError("made to fail")
        return real(M, again=again)

    real = likelihood_module.cholesky
    monkeypatch.setattr(likelihood_module, "cholesky", fails_first)
    found = fit(X, y, Config.paper(), warm=[Hyperparameters(np.ones(3), 1.0, 0.1)], cold=())
    assert found.start in COLD


def test_it_says_when_no_start_leads_anywhere(monkeypatch):
    def fails(M, again):
        raise NumericalError("made to fail")

    monkeypatch.setattr(likelihood_module, "cholesky", fails)
    with pytest.raises(NumericalError, match="no start"):
        fit(np.random.default_rng(0).random((5, 2)), np.arange(5.0), Config.paper())
