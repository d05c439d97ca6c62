"""The story of the default, which selects nothing: which variables had main effects, counted again from the log."""

import json
from collections import Counter

import numpy as np
import pytest

import vsbo
from vsbo import Config, Optimizer, Space, State
from vsbo.explain import choices_of
from vsbo.models import main_effects
from vsbo.state import Fitted, extend

SMALL = Config(n_initial=4, select_every=8, n_raw=64, n_restarts=2, main_effects=3)


def f(x):
    return (x[0] - 0.3) ** 2 + 0.5 * np.sin(6 * x[1]) if x[4] < 0.9 else np.nan


@pytest.fixture(scope="module")
def optimizer():
    return vsbo.minimize(f, [(0, 1)] * 10, budget=42, rng=0, config=SMALL).optimizer


@pytest.fixture(scope="module")
def replayed(optimizer):
    """The states before and after each fit that has main effects."""
    state, found = State.new(optimizer.space, "minimize", optimizer.state.seed, SMALL), []
    for event in optimizer.state.log:
        before, state = state, extend(state, [event])
        if isinstance(event, Fitted) and event.theta.main:
            found.append((before, state))
    return found


def reasons_of(replayed):
    """The length-scales by which the main effects of each fit were chosen: they change with the cold starts."""
    found = []
    for before, after in replayed:
        cold = after.cold_at == len(before.finished)
        found.append(before.theta.lengthscales if cold or not found else found[-1])
    return found


def names_of(optimizer, variables):
    return tuple(optimizer.space.names[j] for j in variables)


def test_choices_are_the_main_effects_of_each_fit(optimizer, replayed):
    choices = choices_of(optimizer.state)
    fits = [event for event in optimizer.state.log if isinstance(event, Fitted) and event.of == "model"]
    assert len(choices) == len(replayed) == len(fits) - 1  # the first has no length-scales to choose by
    changed = 0
    for choice, (before, after) in zip(choices, replayed, strict=True):
        assert choice.n == len(before.finished)
        assert choice.variables == main_effects(before) == after.selected
        # The reason: no other variable had a shorter length-scale.
        others = np.setdiff1d(np.arange(10), choice.variables)
        assert max(choice.scales[list(choice.variables)]) <= min(choice.scales[others])
        if choice.event.cold_at:
            np.testing.assert_array_equal(choice.scales, before.theta.lengthscales)
            changed += 1
        else:
            assert choice.variables == before.theta.main
    assert changed >= 5


def test_what_each_search_brought(optimizer):
    history, trials = optimizer.history(), [optimizer.trials[number] for number in optimizer.state.finished]
    best = np.inf
    points, improved = Counter(), Counter()
    for trial in trials:
        points[trial.origin] += 1
        if trial.status == "done" and trial.y < best:
            best, improved[trial.origin] = trial.y, improved[trial.origin] + 1
    assert {one.name: (one.points, one.improvements) for one in history.searches} == {
        name: (points[name], improved[name]) for name in ("model", "plain", "near", "bare", "leap") if points[name]
    }
    assert sum(one.points for one in history.searches) == 38
    said = next(sentence for sentence in history.sentences if sentence.startswith("Proposed were"))
    assert f"{points['near']} points by the search near the best" in said
    alone = vsbo.minimize(f, [(0, 1)] * 5, budget=8, rng=0, config=Config.vanilla(n_raw=32)).optimizer
    assert alone.history().searches == ()


def test_how_often_and_when_each_was_chosen(optimizer, replayed):
    importance = optimizer.importance()
    assert importance.selections == len(replayed)
    for one in importance.variables:
        assert one.selected_at == tuple(len(b.finished) for b, after in replayed if one.index in after.selected)
        assert one.times_selected == len(one.selected_at)
        assert one.selected == (one.index in optimizer.state.selected)
    assert sum(one.times_selected for one in importance.variables) == 3 * len(replayed)


def test_periods_have_those_that_had_main_effects_most_of_the_time(optimizer, replayed):
    history = optimizer.history()
    assert history.periods[0].case == "design"
    assert [number for period in history.periods for number in period.trials] == list(optimizer.state.finished)
    starts = [0]
    for before, _ in replayed:
        if len(starts) == 1 or len(before.finished) - starts[-1] >= 8:
            starts.append(len(before.finished))
    assert [period.n for period in history.periods] == starts
    ends = dict(zip(starts, [*starts[1:], 42], strict=True))
    last, medians, reasons = (), {}, reasons_of(replayed)
    for period in history.periods[1:]:
        within = [(b, a) for b, a in replayed if period.n <= len(b.finished) < ends[period.n]]
        begins = replayed.index(within[0])
        scales = reasons[begins : begins + len(within)]
        counts = Counter(j for _, after in within for j in after.selected)
        chosen = tuple(sorted(j for j in counts if counts[j] > len(within) / 2))
        assert period.case == "main effects"
        assert period.active == names_of(optimizer, chosen)
        assert set(period.came_in) == set(period.active) - set(last)
        assert set(period.went_out) == set(last) - set(period.active)
        assert set(period.scales) == set(period.active) | set(last)
        for name, (before, now) in period.scales.items():
            j = optimizer.space.names.index(name)
            assert now == pytest.approx(np.median([one[j] for one in scales]))
            assert before == (pytest.approx(medians[j]) if medians else None)
        medians = {j: np.median([one[j] for one in scales]) for j in range(10)}
        last = period.active
        assert period.loss == [e for e in within[-1][1].log if isinstance(e, Fitted)][-1].loss
        assert period.accurate is None
        assert not period.steps
        assert not period.gains
    fits = sum(event.seconds for event in optimizer.state.log if isinstance(event, Fitted))
    assert history.seconds.fit == pytest.approx(fits)


def test_its_sentences_say_what_changed_and_why(optimizer):
    history = optimizer.history()
    assert {"x0", "x1"} <= set(history.periods[-1].active)  # the two that matter
    for period in history.periods[1:]:
        assert f"From evaluation {period.n + 1} on" in period.sentence
        for name in (*period.came_in, *period.went_out):
            before, now = period.scales[name]
            assert f"{name} ({now:.2g})" in period.sentence or f"{name} ({before:.2g} to {now:.2g})" in period.sentence
        if not period.came_in and not period.went_out:
            assert "the same as before" in period.sentence
    improved = [period for period in history.periods[1:] if period.gained > 0.0]
    assert improved
    assert all(f"to {period.best_after:.4g}" in period.sentence for period in improved)
    assert json.loads(json.dumps(history.records(), allow_nan=False))


def test_equal_values_choose_nothing():
    optimizer = Optimizer(Space.box(12), seed=0, config=SMALL)
    for _ in range(12):
        optimizer.tell(optimizer.ask(), 1.0)
    assert any(isinstance(event, Fitted) and event.theta.main for event in optimizer.state.log)
    assert choices_of(optimizer.state) == ()
    assert len(optimizer.history().periods) == 1


def test_a_method_that_treats_all_alike_chooses_nothing():
    config = Config.vanilla(n_initial=4, n_raw=64, n_restarts=2)
    optimizer = vsbo.minimize(f, [(0, 1)] * 6, budget=12, rng=0, config=config).optimizer
    assert choices_of(optimizer.state) == ()
    (period,) = optimizer.history().periods
    assert len(period.trials) == 12
    assert len(period.active) == 6


def test_given_variables_keep_their_names():
    config = Config(n_initial=4, n_raw=64, n_restarts=2, main_effects=1, variables=(2, 5, 7), complement="fixed")
    optimizer = vsbo.minimize(
        lambda x: float((x[5] - 0.3) ** 2), [(0, 1)] * 9, budget=16, rng=0, config=config
    ).optimizer
    assert choices_of(optimizer.state)[-1].variables == (5,)
    assert optimizer.history().periods[-1].active == ("x5",)
