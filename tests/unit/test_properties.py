"""What must hold whatever the numbers are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vsbo import Config, Optimizer, Space
from vsbo.acquisition import log_expected_improvement, maximize, over
from vsbo.complement import cma_from_design, cma_update, conditional
from vsbo.data import standardize
from vsbo.gp import condition, fit
from vsbo.selection import Case, NestedModels, gradient_importance, kl_importance, ranked
from vsbo.selection import select as select_variables
from vsbo.state import State, extend

PAPER = Config.paper(n_initial=4, select_every=6, n_importance=300, n_raw=64, n_restarts=2)


def made_data(seed, n=30, d=6):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    return X, standardize(np.sin(5 * X[:, 0]) + X[:, 3] ** 2 + 0.05 * rng.normal(size=n)), rng.permutation(d)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("config", [Config.paper(), Config()], ids=["paper", "default"])
def test_permuting_variables_permutes_the_model(seed, config):
    X, y, order = made_data(seed)
    plain, permuted = fit(X, y, config), fit(X[:, order], y, config)
    assert permuted.loss == pytest.approx(plain.loss, rel=1e-6)
    matters = plain.theta.lengthscales < 20  # beyond, the likelihood is flat
    np.testing.assert_allclose(
        permuted.theta.lengthscales[np.argsort(order)][matters], plain.theta.lengthscales[matters], rtol=0.02
    )
    one, two = (condition(Z, y, found.theta, "matern52") for Z, found in ((X, plain), (X[:, order], permuted)))
    np.testing.assert_allclose(kl_importance(two), kl_importance(one)[order], rtol=0.05, atol=0.02)
    scores = [gradient_importance(p, 4000, np.random.default_rng(0)) for p in (one, two)]
    np.testing.assert_allclose(scores[1], scores[0][order], rtol=0.1, atol=0.05)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("case", list(Case))
def test_permuting_variables_permutes_the_selection(seed, case):
    X, y, order = made_data(seed)
    inverse = np.argsort(order)
    scores = np.array([9.0, 3.0, 2.0, 8.0, 4.0, 1.0])

    def selected(X, scores, previous):
        models = NestedModels(X, y, Config.paper(), {})
        return select_variables(
            case, ranked(scores), previous, models.loss, lambda v: sorted(v, key=lambda j: -scores[j])
        )

    plain = selected(X, scores, (0, 2))[0]
    permuted = selected(X[:, order], scores[order], tuple(sorted(inverse[[0, 2]].tolist())))[0]
    assert set(permuted) == {int(inverse[j]) for j in plain[:]}


def test_permuting_variables_permutes_the_acquisitions_maximum():
    X, y, order = made_data(1)
    theta = fit(X, y, Config.paper()).theta
    found = []
    for columns in (np.arange(6), order):
        posterior = condition(X[:, columns], y, theta.columns(columns), "matern52")
        acquisition = over(posterior, lambda mu, sigma: log_expected_improvement(mu, sigma, float(y.max())))
        starts = np.random.default_rng(0).random((40, 6))[:, columns]
        found.append(maximize(acquisition, starts, X[:1][:, columns], 3)[0])
    np.testing.assert_allclose(found[1], found[0][order], atol=1e-4)


def test_permuting_variables_permutes_the_evolution_strategy():
    rng = np.random.default_rng(0)
    design, values, X, y, order = (
        rng.random((5, 6)),
        rng.random(5),
        rng.random((8, 6)),
        rng.random(8),
        rng.permutation(6),
    )
    one = cma_update(cma_from_design(design, values, 0.2), X, y)
    two = cma_update(cma_from_design(design[:, order], values, 0.2), X[:, order], y)
    np.testing.assert_allclose(two.mean, one.mean[order], rtol=1e-12)
    np.testing.assert_allclose(two.C, one.C[np.ix_(order, order)], atol=1e-12)
    inverse = np.argsort(order)
    given_plain, values = (1, 4), np.array([0.2, 0.7])
    at = [int(inverse[j]) for j in given_plain]
    mean, _ = conditional(one.mean, one.covariance, given_plain, values)
    permuted_mean, _ = conditional(two.mean, two.covariance, at, values)
    others, permuted_others = np.setdiff1d(range(6), given_plain), np.setdiff1d(range(6), at)
    np.testing.assert_allclose(permuted_mean[np.argsort(order[permuted_others])], mean[np.argsort(others)], rtol=1e-10)


@settings(max_examples=15)
@given(
    st.integers(1, 8), st.integers(0, 2**63), st.lists(st.floats(-1e6, 1e6) | st.just(np.nan), min_size=20, max_size=20)
)
def test_whatever_is_told_points_stay_in_the_box_and_the_log_replays(D, seed, values):
    optimizer = Optimizer(Space.box(D, -3, 7), seed=seed, config=PAPER)
    for value in values:
        trial = optimizer.ask()
        assert ((trial.x >= -3) & (trial.x <= 7)).all()
        optimizer.tell(trial, value)
    state = optimizer.state
    replayed = extend(State.new(state.space, state.direction, state.seed, state.config), state.log)
    assert replayed.active == state.active
    assert replayed.finished == state.finished
    assert State.from_json(state.to_json()).to_json() == state.to_json()


@settings(max_examples=10)
@given(
    st.lists(st.sampled_from(["ask", "tell", "fail", "add", "load"]), min_size=15, max_size=40), st.integers(0, 1000)
)
def test_any_order_of_calls_is_a_search_that_repeats_itself(calls, seed):
    def play(load):
        optimizer = Optimizer(Space.box(3), seed=seed, config=PAPER)
        rng = np.random.default_rng(seed)
        for call in calls:
            pending = [t.number for t in optimizer.trials if t.status == "pending"]
            if call == "ask" or (call in ("tell", "fail") and not pending):
                optimizer.ask()
            elif call == "tell":
                optimizer.tell(pending[int(rng.integers(len(pending)))], float(rng.normal()))
            elif call == "fail":
                optimizer.fail(pending[0], "made to fail")
            elif call == "add":
                optimizer.add(rng.random(3), float(rng.normal()))
            elif load:
                optimizer = Optimizer.from_state(State.from_json(optimizer.state.to_json()))
        return [tuple(t.x) for t in optimizer.trials]

    assert play(load=False) == play(load=True)
