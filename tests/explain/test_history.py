"""The story of searches with selections (without: test_choices.py): everything in it can be counted in the log, and
leave-one-out is what it says.
"""

import json
import sys

import numpy as np
import pytest
from scipy.stats import spearmanr

import vsbo
from vsbo import Config, Optimizer, Space, State
from vsbo.explain.leave_one_out import leave_one_out
from vsbo.gp import Hyperparameters, condition
from vsbo.models import posterior_of
from vsbo.state import Fell, Selected

# Of the values as they are: what is said of squeezed ones has a test of its own.
SMALL = Config(
    selection="momentum", n_initial=4, select_every=8, n_importance=200, n_raw=64, n_restarts=2, squeeze=False
)


def f(x):
    return (x[0] - 0.3) ** 2 + 0.5 * np.sin(6 * x[1])


@pytest.fixture(scope="module")
def optimizer():
    def sometimes(x):
        return f(x) if x[4] < 0.9 else np.nan

    return vsbo.minimize(sometimes, [(0, 1)] * 6, budget=40, rng=0, config=SMALL).optimizer


def test_periods_are_the_selections(optimizer):
    history, state = optimizer.history(), optimizer.state
    events = state.selections
    assert len(history.periods) == len(events) + 1
    assert history.periods[0].case == "design"
    assert [number for period in history.periods for number in period.trials] == list(state.finished)
    active: set[str] = set()
    for period, event in zip(history.periods[1:], events, strict=True):
        names = {state.space.names[j] for j in event.active}
        assert (period.n, period.case, set(period.active)) == (event.n, event.case, names)
        assert set(period.came_in) == names - active
        assert set(period.went_out) == active - names
        assert period.accurate == {"accurate": True, "inaccurate": False}.get(event.case)
        assert len(period.steps) == len(event.steps)
        active = names


def test_what_improved_afterwards(optimizer):
    history = optimizer.history()
    values = [trial.y for trial in (optimizer.trial(number) for number in optimizer.state.finished)]
    for period in history.periods:
        before = np.fmin.reduce(values[: period.n], initial=np.inf)
        after = np.fmin.reduce(values[: period.n + len(period.trials)], initial=np.inf)
        assert period.best_after == after
        if period.number:
            assert period.best_before == before
            assert period.gained == pytest.approx(before - after)
            assert (period.improvements > 0) == (after < before)
    best = [one[2] for one in history.convergence]
    np.testing.assert_allclose(best, np.fmin.accumulate(values))
    assert history.periods[-1].best_after == optimizer.best.y


def test_seconds_and_gains_are_the_logs(optimizer):
    history, log = optimizer.history(), optimizer.state.log
    for phase, kind in (("selection", "Selected"), ("fit", "Fitted"), ("acquisition", "Asked")):
        logged = sum(event.seconds for event in log if type(event).__name__ == kind)
        assert getattr(history.seconds, phase) == pytest.approx(logged)
    assert history.seconds.evaluation is None
    for period in history.periods[1:]:
        for step in period.steps:
            if step.gain is not None and step.action == "add":
                assert period.gains[step.variable] == pytest.approx(step.gain)


def test_fallbacks_are_told_where_they_happened():
    optimizer = Optimizer(Space.box(4), seed=0, config=SMALL)
    for _ in range(30):
        optimizer.tell(optimizer.ask(), 1.0)  # all equal: no selection can be made
    history = optimizer.history()
    fell = [event for event in optimizer.state.log if isinstance(event, Fell)]
    assert len(history.fallbacks) == len(fell) > 0
    kept = [period for period in history.periods if period.case == "kept"]
    assert kept
    assert all(any(one.stage == "selection" for one in period.fallbacks) for period in kept)
    assert all(len(period.active) == 4 for period in kept)
    assert any("fallback" in sentence for sentence in history.sentences)


@pytest.mark.parametrize("mean", ["constant", "zero"])
def test_leave_one_out_is_leaving_one_out(mean):
    rng = np.random.default_rng(0)
    X, y = rng.random((15, 3)), rng.standard_normal(15)
    theta = Hyperparameters(np.array([0.4, 0.7, 2.0]), 1.3, 0.05)
    mu, deviation = leave_one_out(condition(X, y, theta, "matern52", mean))
    for i in range(15):
        others = np.arange(15) != i
        posterior = condition(X[others], y[others], theta, "matern52", mean)
        alone, sigma = posterior.predict(X[i : i + 1])
        assert mu[i] == pytest.approx(alone[0])
        variance = sigma[0] ** 2 + theta.noise
        if mean == "zero":
            assert deviation[i] ** 2 == pytest.approx(variance)
        else:  # and the uncertainty of the mean, which is learned from the others
            assert deviation[i] ** 2 > variance


def test_predictions_and_outlook(optimizer):
    history = optimizer.history()
    found = history.predictions
    done = [
        trial for trial in (optimizer.trial(number) for number in optimizer.state.finished) if trial.status == "done"
    ]
    assert found.trials == tuple(trial.number for trial in done)
    np.testing.assert_allclose(found.observed, [trial.y for trial in done])
    errors = found.observed - found.predicted
    assert found.coverage == pytest.approx(np.mean(np.abs(errors) <= 1.6449 * found.deviation))
    assert found.r2 > 0.3
    assert found.rank > 0.3
    assert history.outlook.expected > 0
    assert history.outlook.since == len(optimizer.state.finished) - 1 - optimizer.state.finished.index(
        optimizer.best.number
    )


def test_predictions_of_squeezed_values_are_in_the_users_units():
    """A few values far off decide neither the model nor what is said of it; ranks are the same in all units."""
    optimizer = Optimizer(Space.box(6), seed=1)
    for _ in range(45):
        trial = optimizer.ask()
        optimizer.tell(trial, float(np.exp(8.0 * np.sum((trial.x[:2] - 0.4) ** 2)) + trial.x[2]))
    state = optimizer.state
    assert state.theta.squeezed
    found = optimizer.history().predictions
    posterior = posterior_of(state, state.data, state.theta)
    mean, deviation = leave_one_out(posterior)
    errors, n = posterior.y - mean, len(mean)
    assert found.r2 == pytest.approx(1.0 - np.sum(errors**2) / np.sum((posterior.y * n / (n - 1.0)) ** 2))
    assert found.coverage == np.mean(np.abs(errors) <= 1.6449 * deviation)
    assert found.rank == pytest.approx(spearmanr(mean, posterior.y).statistic, abs=1e-9)
    assert (found.deviation > 0.0).all()
    assert np.isfinite(found.predicted).all()


def test_maximizing_tells_the_same_story_in_the_other_sign(optimizer):
    state = optimizer.state
    other = State.from_json(state.to_json().replace('"direction": "minimize"', '"direction": "maximize"'))
    ours, theirs = optimizer.history(), Optimizer.from_state(other).history()
    assert [p.gained for p in ours.periods] == [p.gained for p in theirs.periods]
    assert [-p.best_after for p in ours.periods] == [p.best_after for p in theirs.periods]
    np.testing.assert_allclose(ours.predictions.predicted, -theirs.predictions.predicted)
    assert ours.outlook.expected == theirs.outlook.expected


def test_records_are_plain_and_sentences_are_sentences(optimizer):
    history = optimizer.history()
    records = json.loads(json.dumps(history.records(), allow_nan=False))
    assert [record["number"] for record in records] == list(range(len(history.periods)))
    assert all(sentence[0].isupper() or sentence[0].isdigit() for sentence in history.sentences)
    assert all(sentence.endswith(".") for sentence in history.sentences)
    pandas = pytest.importorskip("pandas")
    assert isinstance(history.to_dataframe(), pandas.DataFrame)


def test_histories_of_nearly_nothing():
    optimizer = Optimizer(Space.box(3), seed=0, config=SMALL)
    history = optimizer.history()
    assert history.note == "no evaluation has finished yet"
    assert history.predictions is None
    assert history.outlook is None
    assert history.sentences
    optimizer.tell(optimizer.ask(), 1.0)
    assert optimizer.history().note == "there is no model of the values yet"
    optimizer = Optimizer(Space.box(3), seed=0, config=SMALL)
    for _ in range(5):
        optimizer.fail(optimizer.ask(), "no")
    history = optimizer.history()
    assert history.note == "every evaluation failed"
    assert [one[1:] for one in history.convergence] == [(None, None)] * 5
    assert json.dumps(history.records())


def test_nothing_is_fitted_for_the_past(optimizer, monkeypatch):
    def never(*_, **__):
        raise AssertionError("a fit")

    monkeypatch.setattr(sys.modules["vsbo.gp.fit"], "minimize", never)  # vsbo.gp.fit is the function, too
    history = Optimizer.from_state(State.from_json(optimizer.state.to_json())).history()
    assert len(history.periods) == sum(isinstance(event, Selected) for event in optimizer.state.log) + 1
