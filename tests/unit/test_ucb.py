"""Algorithms 6 and 7 as configurations: what is fixed stays fixed, what is known is not fitted, and regret falls."""

import numpy as np
import pytest

from vsbo import Config, KnownKernel, Optimizer, Smoothness, Space
from vsbo.acquisition import regret_bound, theorem_beta
from vsbo.models import beta
from vsbo.state import Fitted, Selected

KERNEL = KnownKernel((0.3, 0.3, 3.0, 3.0), outputscale=1.0, noise=1e-4)


def sample_path(seed, features=400):
    """A sample path of the kernel, by random features of the squared exponential: cheap and smooth."""
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(features, 4)) / np.array(KERNEL.lengthscale)
    b, a = rng.uniform(0, 2 * np.pi, features), rng.normal(size=features)
    return lambda x: float(np.sqrt(2 / features) * a @ np.cos(W @ x + b))


def play(config, f, n=35, seed=0):
    optimizer = Optimizer(Space.box(4), direction="maximize", seed=seed, config=config)
    for _ in range(n):
        trial = optimizer.ask()
        optimizer.tell(trial, f(trial.x))
    return optimizer


def test_vs_gp_ucb_moves_only_its_variables():
    config = Config.vs_gp_ucb(KERNEL, (0, 1), fixed_value=(0.0, 0.0, 0.25, 0.75), kernel="squared_exponential")
    optimizer = play(config, sample_path(0))
    X = np.array([trial.x for trial in optimizer.trials])
    np.testing.assert_array_equal(X[:, 2:], np.tile([0.25, 0.75], (35, 1)))
    assert (X[:, :2].std(axis=0) > 0.05).all()


def test_the_known_kernel_is_used_and_nothing_is_selected():
    optimizer = play(Config.vs_gp_ucb(KERNEL, (1, 3)), sample_path(0), n=6)
    fitted = [event for event in optimizer.state.log if isinstance(event, Fitted)]
    assert {event.start for event in fitted} == {"known"}
    np.testing.assert_array_equal(fitted[-1].theta.lengthscales, [0.3, 3.0])
    assert not [event for event in optimizer.state.log if isinstance(event, Selected)]


def test_beta_is_the_theorems_for_the_coming_evaluation():
    smoothness = Smoothness(delta=0.2, alpha=0.05)
    optimizer = play(Config.vs_gp_ucb(KERNEL, (0, 1), smoothness=smoothness), sample_path(0), n=7)
    assert beta(optimizer.state) == theorem_beta(8, 4, 2, smoothness)
    assert beta(play(Config.gp_ucb(KERNEL, beta=3.0), sample_path(0), n=2).state) == 3.0


@pytest.mark.parametrize("config", [Config.gp_ucb(KERNEL, beta=4.0), Config.vs_gp_ucb(KERNEL, (0, 1), beta=4.0)])
def test_the_regret_of_late_points_is_below_that_of_early_ones(config):
    """Three sample paths: the mean of the last ten values exceeds that of the first ten on each."""
    for seed in range(3):
        y = [trial.y for trial in play(config, sample_path(seed)).trials]
        assert np.mean(y[-10:]) > np.mean(y[:10]) + 0.3


def test_average_regret_is_within_the_bound():
    """The bound is loose; that it holds with the information gain of the points themselves is the sanity check."""
    f = sample_path(1)
    grid = np.random.default_rng(0).random((20_000, 4))
    best = max(f(x) for x in grid)
    smoothness = Smoothness(a=1.0, b=2 / 0.3, alpha=0.1)
    optimizer = play(Config.vs_gp_ucb(KERNEL, (0, 1), smoothness=smoothness), f)
    X = np.array([trial.x for trial in optimizer.trials]) / KERNEL.lengthscale
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(-1))
    gain = 0.5 * np.linalg.slogdet(np.eye(len(X)) + K / KERNEL.noise)[1]
    regret = best - np.mean([trial.y for trial in optimizer.trials])
    assert regret < regret_bound(len(X), 4, 2, smoothness, gain, KERNEL.noise)
