"""The sparse model against SciPy, against itself with and without a group, and against Monte Carlo."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from vsbo import Choice, Integer, Real, Space
from vsbo.data import standardize
from vsbo.explain.chain import walk
from vsbo.explain.features import DEGREE, bases_of, feature_matrix
from vsbo.explain.sparse import FIRST, NOISES, PAIR, SPREAD, Groups, Model, log_factors, rotate

N, D, R = 50, 7, 6


@pytest.fixture(scope="module")
def made():
    rng = np.random.default_rng(0)
    X = rng.random((N, D))
    y = standardize(2 * X[:, 0] + np.sin(6 * X[:, 1]) + 0.3 * rng.standard_normal(N))
    bases = bases_of(Space.box(D), X)
    features = feature_matrix(bases, X)[:, :, :R]
    groups = Groups(rotate(features, y), features, np.ones(D, dtype=bool), range(D))
    groups.set_pairs([(0, 1), (1, 3)])
    return features, y, groups


ON = {(0,): 1, (1,): 4, (0, 1): 2}


def covariance(features, groups, on, noise, spread):
    """Of y, written down as the model says it."""
    total = NOISES[noise] * np.eye(N)
    weights = np.array(SPREAD) / D * groups.rotation.unseen(noise, spread)
    for m, weight in enumerate(weights):
        total += weight * features[:, :, m] @ features[:, :, m].T
    for key, g in on.items():
        lambdas = groups.roots[groups.index[key], g] ** 2
        if len(key) == 1:
            Phi = features[:, key[0]]
        else:
            Phi = np.column_stack([features[:, key[0], a] * features[:, key[1], b] for a, b in PAIR[:R]])
        total += (Phi * lambdas) @ Phi.T
    return total


@pytest.mark.parametrize(("noise", "spread"), [(9, 1), (4, 3)])
def test_the_evidence_is_scipys_density_of_contrasts(made, noise, spread):
    features, y, groups = made
    H = np.linalg.qr(np.column_stack([np.ones(N), np.eye(N)[:, 1:]]))[0][:, 1:]  # orthogonal to the constant
    ours, theirs = [], []
    for on in ({}, {(0,): 1}, ON):
        ours.append(Model(groups, on, noise, spread).evidences([(noise, spread)])[0])
        theirs.append(
            multivariate_normal.logpdf(H.T @ y, cov=H.T @ covariance(features, groups, on, noise, spread) @ H)
        )
    np.testing.assert_allclose(np.diff(ours), np.diff(theirs), rtol=1e-7, atol=1e-7)
    other = Model(groups, ON, noise, spread).evidences([(noise, spread), (7, 2)])
    theirs = [
        multivariate_normal.logpdf(H.T @ y, cov=H.T @ covariance(features, groups, ON, *one) @ H)
        for one in ((noise, spread), (7, 2))
    ]
    np.testing.assert_allclose(np.diff(other), np.diff(theirs), rtol=1e-7)


@pytest.mark.parametrize(("noise", "spread"), [(9, 1), (4, 3)])
def test_factors_are_differences_of_evidences(made, noise, spread):
    _, _, groups = made
    model = Model(groups, ON, noise, spread)
    A, b = model.moments()
    factors = log_factors(A, b, groups.roots, groups.outer)
    for key in [(2,), (1, 3), (0,), (1,), (0, 1)]:
        without = {one: g for one, g in ON.items() if one != key}
        for g in (0, 4):
            ends = [
                Model(groups, on, noise, spread).evidences([(noise, spread)])[0]
                for on in (without, {**without, key: g})
            ]
            assert factors[groups.index[key], g] == pytest.approx(ends[1] - ends[0], rel=1e-6, abs=1e-6)


def test_factors_of_new_pairs_without_anything_unseen(made):
    _, _, groups = made
    model = Model(groups, {(0,): 1}, 9, 0)  # v is almost nothing
    factors = model.pairs(np.zeros(D, dtype=int), np.arange(D))[3]
    A, b = model.moments()
    known = log_factors(A, b, groups.roots, groups.outer)
    np.testing.assert_allclose(factors[1], known[groups.index[(0, 1)]], rtol=0.05, atol=0.05)
    assert np.isneginf(factors[0]).all()


def test_the_screening_finds_the_likeliest_pairs(made):
    features, y, _ = made
    product = features[:, 0, 0] * features[:, 4, 0]
    tried = Groups(rotate(features, standardize(y + 0.7 * product)), features, np.ones(D, dtype=bool), range(D))
    model = Model(tried, {(0,): 1, (1,): 4}, 9, 0)
    every = np.arange(D)
    exact = np.stack([model.pairs(np.full(D, j), every)[3].max(axis=1) for j in (0, 1)])
    about = model.screened_pairs([0, 1])
    assert exact[0].argmax() == about[0].argmax() == 4
    assert np.isneginf(about[[0, 1], [0, 1]]).all()
    off = np.isfinite(exact)
    assert np.corrcoef(exact[off], about[off])[0, 1] > 0.95


@pytest.mark.parametrize(("noise", "error"), [(0, 1e-6), (4, 1e-6), (9, 1e-8)])
def test_moments_carried_from_model_to_model_are_those_made_from_the_start(made, noise, error):
    """In what they say of the evidence: log BF."""
    _, _, groups = made
    rng, model, most = np.random.default_rng(2), Model(groups, ON, noise, 2), 0
    for _ in range(40):  # more than are carried on
        key = groups.keys[rng.integers(len(groups.keys))]
        model = model.changed(key, None if key in model.on and rng.random() < 0.5 else int(rng.integers(6)))
        ours, fresh = (
            log_factors(*one.moments(), groups.roots, groups.outer)
            for one in (model, Model(groups, model.on, noise, 2))
        )
        np.testing.assert_allclose(ours, fresh, rtol=1e-9, atol=error)
        most = max(most, model.steps)
    assert most >= 3


def test_the_walk_visits_models_as_long_as_they_are_probable():
    """Three variables without pairs: the time in each subset is its posterior probability, all of them enumerated."""
    rng = np.random.default_rng(3)
    X = rng.random((30, 3))
    y = standardize(X[:, 0] + 0.6 * X[:, 1] + 0.5 * rng.standard_normal(30))
    features = feature_matrix(bases_of(Space.box(3), X), X)[:, :, :2]
    groups = Groups(rotate(features, y), features, np.ones(3, dtype=bool), range(3))
    groups.set_pairs = lambda keys: None  # nor do they become known
    visits, _ = walk(groups, 50, 6000, rng)
    time = np.zeros(8)
    for visit in visits:
        time[sum(2 ** key[0] for key in visit.model.on)] += visit.weight
    exact = np.zeros(8)
    for subset in range(8):
        inside = [j for j in range(3) if subset >> j & 1]
        p = len(inside)
        # Beta-binomial with FEW = 2 and 1 + 3 / 5, up to a constant.
        from scipy.special import betaln

        prior = np.exp(betaln(p + 2.0, 3 - p + 1.6))
        for lambdas in np.ndindex(*(6,) * p):
            model = Model(groups, {(j,): g for j, g in zip(inside, lambdas, strict=True)}, 0, 0)
            exact[subset] += prior / 6**p * np.exp(model.evidences(ALL)).sum()
    np.testing.assert_allclose(time / time.sum(), exact / exact.sum(), atol=0.04)


ALL = [(s, v) for s in range(len(NOISES)) for v in range(4)]


def test_functions_are_orthonormal_over_what_each_variable_may_be():
    space = Space(
        {
            "x": Real(0, 1),
            "layers": Integer(1, 5),
            "width": Integer(1, 100, log=True),
            "steps": Integer(1, 9, log=True),
            "kind": Choice(["a", "b", "c", "d"]),
            "on": Choice([True, False]),
        }
    )
    u = np.random.default_rng(0).random((200_000, space.D))
    features = feature_matrix(bases_of(space, u[:100]), space.snap(u))
    for j, basis in enumerate(bases_of(space, u[:100])):
        values = features[:, j, : basis.size]
        np.testing.assert_allclose(values.mean(axis=0), 0.0, atol=0.03)
        np.testing.assert_allclose(np.cov(values.T).reshape(basis.size, -1), np.eye(basis.size), atol=0.06)
        assert not features[:, j, basis.size :].any()
    assert [basis.size for basis in bases_of(space, u[:100])] == [16, 4, 16, 8, 3, 1]


@pytest.mark.parametrize(("low", "high"), [(0.0, 0.2), (0.35, 0.55)])
def test_moments_in_a_box_are_those_of_sampling(low, high):
    basis = bases_of(Space.box(1), np.zeros((1, 1)))[0]
    mean, covariance = basis.moments(low, high)
    values = basis.at(np.linspace(low, high, 20_001))
    np.testing.assert_allclose(mean, values.mean(axis=0), atol=1e-3)
    np.testing.assert_allclose(covariance, np.cov(values.T), atol=5e-3)


def test_shares_are_those_of_pick_and_freeze():
    """Total indices by sums of squares, over the cube and in a box, against Jansen's estimator of the same function."""
    from vsbo.explain.shares import Draws, _in_box, _pair_in_box

    rng = np.random.default_rng(5)
    bases = bases_of(Space.box(3), np.zeros((1, 3)))
    beta, own = rng.standard_normal((3, 4)) * [1, 0.5, 0.2, 0.1], rng.standard_normal(len(PAIR)) * 0.4
    B = np.zeros((FIRST, FIRST))
    B[tuple(np.array(PAIR).T)] = own

    def f(X):
        Phi = feature_matrix(bases, X)
        mains = sum(Phi[:, j, :4] @ beta[j] for j in range(3))
        return mains + np.einsum("na,ab,nb->n", Phi[:, 0, :FIRST], B, Phi[:, 1, :FIRST])

    for low, high in ((np.zeros(3), np.ones(3)), (np.array([0.0, 0.3, 0.5]), np.array([0.2, 0.5, 0.7]))):
        moments = [basis.moments(low[j], high[j]) for j, basis in enumerate(bases)]
        means, covariances = np.stack([one[0] for one in moments]), np.stack([one[1] for one in moments])
        coefficients = np.zeros((1, 3, DEGREE))
        coefficients[0, :, :4] = beta
        coefficients[0, 0, :FIRST] += B @ means[1, :FIRST]
        coefficients[0, 1, :FIRST] += means[0, :FIRST] @ B
        pair = _pair_in_box(B[None], covariances[0], covariances[1])
        main = _in_box(coefficients, covariances)
        zero = np.zeros((1, 3))
        draws = Draws(main, zero, np.array([[pair[0], pair[0], 0.0]]), pair, zero)
        shares = draws.shares(np.ones((1, 3), dtype=bool), doubting=False)[0][0]
        X = low + (high - low) * rng.random((200_000, 3))
        y = f(X)
        for j in range(3):
            Z = X.copy()
            Z[:, j] = low[j] + (high[j] - low[j]) * rng.random(len(X))
            assert shares[j] == pytest.approx(0.5 * np.mean((y - f(Z)) ** 2) / y.var(), abs=0.01)
