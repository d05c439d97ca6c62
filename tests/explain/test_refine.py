"""The fine draws: against closed forms, and against a chain that is nothing but them."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from vsbo import Space
from vsbo.data import standardize
from vsbo.explain.features import LENGTHS, bases_of, feature_matrix
from vsbo.explain.refine import AMPLITUDES, Chain, Columns
from vsbo.explain.sparse import rotate

N, KEYS = 40, [(0,), (1,), (0, 1)]


@pytest.fixture(scope="module")
def made():
    rng = np.random.default_rng(0)
    X = rng.random((N, 3))
    y = standardize(2 * X[:, 0] + np.sin(6 * X[:, 1]) + 0.4 * rng.standard_normal(N))
    bases = bases_of(Space.box(3), X)
    rotation = rotate(feature_matrix(bases, X, 4), y)
    values, kernels = {j: bases[j].at(X[:, j]) for j in (0, 1)}, {j: bases[j].kernels() for j in (0, 1)}
    return Columns(rotation, values, kernels, KEYS), rotation


def prior(columns, key, a, h):
    R = columns.priors[key][0][h]
    return AMPLITUDES[a] * R @ R.T


def test_draws_of_all_groups_have_the_posteriors_moments(made):
    columns, rotation = made
    chain = Chain(columns, 0.1)
    chain.turn_to(KEYS)
    rng = np.random.default_rng(1)
    chain.round(1, rng)
    chain.noise = 0.1
    combinations = {key: chain.state[key][:2] for key in KEYS}
    draws = chain.draw(1, 40_000, rng)
    W = rotation.weights(1)
    Lambda = np.zeros((draws.shape[1], draws.shape[1]))
    for key, part in zip(KEYS, chain.part, strict=True):
        Lambda[part, part] = prior(columns, key, *combinations[key])
    M = columns.U @ Lambda @ columns.U.T + np.diag(0.1 / W)
    gain = Lambda @ columns.U.T @ np.linalg.inv(M)
    spread = np.sqrt(np.diagonal(Lambda - gain @ columns.U @ Lambda))
    np.testing.assert_allclose(draws.mean(axis=0), gain @ rotation.y, atol=0.02)
    np.testing.assert_allclose(draws.std(axis=0), spread, atol=0.01)


def test_sizes_and_lengths_are_drawn_as_the_evidence_says(made):
    """One group and all combinations enumerated, s held: the parts of the time agree within Monte Carlo's error."""
    columns, rotation = made
    chain, rng = Chain(columns, 0.3), np.random.default_rng(2)
    chain.turn_to([(1,)])
    counts = np.zeros((len(AMPLITUDES), len(LENGTHS)))
    for _ in range(6000):
        chain.noise = 0.3
        chain.round(1, rng)
        counts[chain.state[(1,)][:2]] += 1
    U, W = columns.U[:, columns.part[(1,)]], rotation.weights(1)
    logs = np.array(
        [
            [
                multivariate_normal.logpdf(rotation.y, cov=U @ prior(columns, (1,), a, h) @ U.T + np.diag(0.3 / W))
                for h in range(len(LENGTHS))
            ]
            for a in range(len(AMPLITUDES))
        ]
    )
    exact = np.exp(logs - logs.max())
    # Each part has a deviation below 0.0065: 0.03 is beyond four of them.
    np.testing.assert_allclose(counts / counts.sum(), exact / exact.sum(), atol=0.03)


def test_the_noise_is_found(made):
    columns, _ = made
    chain, rng = Chain(columns, 1.0), np.random.default_rng(3)
    chain.turn_to([(0,), (1,)])
    seen = []
    for _ in range(300):
        chain.round(0, rng)
        seen.append(chain.noise)
    variance = 4 / 12 + 0.5 + 0.16  # of y before it was scaled, about
    assert 0.4 < np.median(seen[50:]) / (0.16 / variance) < 2.5


def test_kernels_are_those_of_a_process_less_its_mean():
    """Its variance at the ends and in the middle: k(u, u) - 2 int k(u, t) dt + int int k(t, t') dt dt'."""
    basis = bases_of(Space.box(1), np.zeros((1, 1)))[0]
    u, t = np.array([0.02, 0.5, 0.98]), (np.arange(2000) + 0.5) / 2000
    values = basis.at(u)
    for length, kernel in zip(LENGTHS, basis.kernels(), strict=True):

        def k(x, z, length=length):
            d = np.sqrt(5) * np.abs(x[:, None] - z) / length
            return (1 + d + d**2 / 3) * np.exp(-d)

        exact = 1.0 - 2.0 * k(u, t).mean(axis=1) + k(t, t).mean()
        np.testing.assert_allclose(np.einsum("ga,ab,gb->g", values, kernel, values), exact, rtol=0.02)
