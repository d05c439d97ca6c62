"""Which search proposes the next point, and where."""

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import norm

from vsbo import Config, Integer, KnownKernel, Optimizer, Space, State, gp
from vsbo.acquisition import Lattice, double_leaps, expected_improvement, log_expected_improvement
from vsbo.data import standardize
from vsbo.errors import NumericalError
from vsbo.models import foretold, posterior_of
from vsbo.propose import fit_one
from vsbo.state import Added, Asked, Failed, Fitted, LastFit, Told, extend
from vsbo.turns import (
    BARE_UNTIL,
    FADING,
    FIRST_SIDE,
    FIRST_SIDE_SQUEEZED,
    LEAP_EVERY,
    LEAP_EVERY_SQUEEZED,
    LEAPS_FROM,
    LEAST_SIDE,
    MOST_SIDE,
    TELLING,
    ahead,
    as_seen_by,
    model_of,
    models_of,
    next_search,
    side_of_box,
    successes,
)


def searched(outcomes, config=None, seed=0):
    """A state after five bad points and then these trials: (origin, value or None for a failure)."""
    rng = np.random.default_rng(1)
    state = State.new(Space.box(3), "maximize", seed, config or Config())
    state = extend(state, [Added(i, rng.random(3), float(i)) for i in range(5)])
    for origin, y in outcomes:
        number = state.next_number
        result = Failed(number, "made to") if y is None else Told(number, y)
        state = extend(state, [Asked(number, rng.random(3), origin), result])
    theta = Optimizer(Space.box(3), config=Config(), seed=0)
    for _ in range(6):
        theta.tell(theta.ask(), float(rng.random()))
    return extend(state, [Fitted(theta.state.theta, 0.0, "warm", 1)])


def test_successes_are_noticeable_improvements_of_the_searches_alone():
    state = searched(
        [("model", 10.0), ("plain", 9.0), ("near", None), ("near", 10.001), ("design", 11.0), ("plain", 20.0)]
    )
    origins, success = successes(state)
    assert origins.tolist() == ["model", "plain", "near", "near", "plain"]  # neither those added nor the design's
    assert success.tolist() == [True, False, False, False, True]  # 0.001 is below a thousandth of 20 - median


def test_turns_go_by_success_as_thompson_sampling_says():
    outcomes = [("near", 10.0 + i) if i % 3 == 0 else (("plain", "model")[i % 2], 0.0) for i in range(30)]
    drawn = Counter(next_search(searched(outcomes, seed=seed)) for seed in range(300))
    ages = np.arange(30)[::-1]
    kinds = np.array([origin for origin, _ in outcomes])
    rng = np.random.default_rng(0)
    sampled = []
    for search in Config().searches:
        used = np.sum(FADING ** ages[kinds == search])
        won = used if search == "near" else 0.0
        sampled.append(rng.beta(1 + won, 1 + used - won, 20_000))
    expected = np.bincount(np.argmax(sampled, axis=0), minlength=3) / 20_000
    found = np.array([drawn[search] for search in Config().searches]) / 300
    np.testing.assert_allclose(found, expected, atol=0.07)
    assert drawn["near"] > 200


def test_all_searches_have_turns_while_nothing_is_known():
    drawn = Counter(next_search(searched([], seed=seed)) for seed in range(300))
    assert min(drawn[search] for search in Config().searches) > 70


def test_one_search_is_always_the_model():
    outcomes = [("model", 1.0), ("model", 2.0)]
    assert {next_search(searched(outcomes, Config(searches=("model",)), seed)) for seed in range(20)} == {"model"}


def test_the_plain_search_sits_out_while_the_model_is_of_squeezed_values():
    assert Counter(drawn(9, False, seed) for seed in range(60))["plain"] > 40
    assert {drawn(9, True, seed) for seed in range(60)} == {"model", "near"}


def drawn(points, squeezed, seed=0, config=None):
    """Which search comes after five points and so many successes of the plain one."""
    state = searched([("plain", 10.0 + i) for i in range(points)], config, seed)
    return next_search(replace(state, theta=replace(state.theta, squeezed=squeezed)))


def test_every_tenth_point_is_by_the_values_as_they_are_while_the_model_is_of_squeezed_ones():
    numbers = range(5, 45)
    assert [number for number in numbers if drawn(number - 5, True) == "bare"] == [10, 20, 30, 40]
    assert not any(drawn(number - 5, False) == "bare" for number in numbers)
    assert drawn(5, True, config=Config(searches=("model",))) == "model"


def test_every_tenth_point_is_a_leap_from_sixty_on_where_variables_have_main_effects():
    def due(number, config=None, main=(1,)):
        state = searched([("plain", 10.0 + i) for i in range(number - 5)], config)
        return next_search(replace(state, theta=replace(state.theta, main=main, mainscale=0.1))) == "leap"

    assert [number for number in range(5, 5 + LEAPS_FROM + 2 * LEAP_EVERY) if due(number)] == [69, 79]
    assert not due(69, main=())
    assert not due(69, Config(leaps=False))
    assert not due(69, Config(searches=("model",)))
    assert not due(69, Config(variables=(0, 1)))  # the others are not the best point's then


def test_while_values_are_squeezed_every_fifth_point_is_a_leap():
    def due(number):
        state = searched([("plain", 10.0 + i) for i in range(number - 5)])
        theta = replace(state.theta, main=(1,), mainscale=0.1, squeezed=True)
        return next_search(replace(state, theta=theta)) == "leap"

    first = range(5, 5 + LEAPS_FROM + 4 * LEAP_EVERY_SQUEEZED)
    assert [number for number in first if due(number)] == [64, 69, 74, 79, 84]


def test_a_leap_is_the_best_point_with_one_variable_of_those_with_main_effects_far_away():
    optimizer = Optimizer(Space.box(7), direction="maximize", seed=4, config=Config(n_raw=64, main_effects=3))
    leaps = 0
    while optimizer.state.next_number < 85:
        before = optimizer.state
        trial = optimizer.ask()
        if trial.origin == "leap":
            leaps += 1
            theta = optimizer.state.theta
            best = before.data.incumbent
            moved = np.flatnonzero(trial.x != best)
            assert len(moved) == 1
            assert moved[0] in theta.main
            assert abs(trial.x[moved[0]] - best[moved[0]]) >= 0.2
            others = np.array(
                [
                    np.where(np.arange(7) == j, place, best)
                    for j in theta.main
                    for place in np.linspace(0.0, 1.0, 23)
                    if abs(place - best[j]) >= 0.2
                ]
            )
            posterior = posterior_of(before, before.data, theta)
            mu, sigma = posterior.predict(np.vstack([trial.x, others]))
            gain = expected_improvement(mu, 3.0 * sigma, float(np.max(posterior.y)))[0]
            assert gain[0] >= 0.95 * np.max(gain[1:])  # it looks at other places than these
        optimizer.tell(trial, float(np.sum(np.sin(11.0 * trial.x[:3] + np.arange(3)))))
    assert leaps == 2
    assert [one.points for one in optimizer.history().searches if one.name == "leap"] == [2]


def stretched_valley(x):
    """Values that span thousands where units decide, along four of nine variables: they are squeezed."""
    return -float(np.exp(6.0 * np.abs(x[0] - 0.2)) + np.exp(6.0 * np.abs(x[1] - x[0] * x[2])) + 5.0 * x[3])


def squeezed_leaps(double):
    """The states before the leaps of a search whose model is of squeezed values then, and the points."""
    config = Config(n_raw=64, main_effects=4, double_leaps=double)
    optimizer = Optimizer(Space.box(9), direction="maximize", seed=1, config=config)
    found = []
    while optimizer.state.next_number < 95:
        before = optimizer.state
        trial = optimizer.ask()
        if trial.origin == "leap" and before.theta.squeezed:
            found.append((before, optimizer.state, trial.x))
        optimizer.tell(trial, stretched_valley(trial.x))
    assert len(found) >= 2
    return found


def test_while_values_are_squeezed_a_leap_goes_by_the_bare_model_and_moves_two_variables():
    for before, after, x in squeezed_leaps(True):
        best, main = before.data.incumbent, before.theta.main
        changed = np.flatnonzero(x != best)
        assert len(changed) == 2
        assert set(changed) <= set(main)
        assert np.max(np.abs(x - best)) >= 0.2
        bare = as_seen_by("bare", after)
        posterior = posterior_of(bare, before.data, bare.theta)
        rng = np.random.default_rng(5)
        others = np.tile(best, (3000, 1))
        for row in others:
            row[rng.choice(main, 2, replace=False)] = rng.random(2)
        others = others[np.max(np.abs(others - best), axis=1) >= 0.2]
        mu, sigma = posterior.predict(np.vstack([x, others]))
        gain = log_expected_improvement(mu, sigma, float(np.max(posterior.y)))[0]
        assert gain[0] >= np.quantile(gain[1:], 0.99)  # among a hundred places a pair, not these


def test_without_double_leaps_a_leap_is_the_models_even_while_values_are_squeezed():
    for before, after, x in squeezed_leaps(False):
        assert np.sum(x != before.data.incumbent) == 1
        assert models_of("leap", before) == models_of("leap", after) == ("model",)


def test_a_leap_is_the_models_where_nobody_has_fitted_the_bare_one_yet():
    state = searched([("plain", 10.0 + i) for i in range(70)])
    squeezed = replace(state, theta=replace(state.theta, squeezed=True))
    assert squeezed.bare.theta is None
    assert models_of("leap", squeezed) == ("model",)
    ready = replace(squeezed, bare=replace(squeezed.bare, theta=state.theta))
    assert models_of("leap", ready) == ("bare",)
    assert models_of("leap", replace(ready, theta=state.theta)) == ("model",)
    assert models_of("leap", replace(ready, config=Config(bare=False))) == ("model",)


def test_a_search_saved_before_leaps_were_double_goes_on_as_it_did():
    plain = Config().to_plain()
    del plain["double_leaps"]
    assert Config.from_plain(plain) == Config(double_leaps=False)


def test_double_leaps_are_of_two_variables_one_of_them_far_and_at_places_of_the_lattice():
    rng, center = np.random.default_rng(0), np.array([0.5, 0.0, 1.0, 0.3])
    lattice = Lattice((None, np.array([0.0, 0.5, 1.0]), None, None))
    points = double_leaps(center, (0, 1, 2), rng, lattice)
    away = np.abs(points - center)
    assert np.all(np.max(away, axis=1) >= 0.2)
    assert np.all((away > 0.0).sum(axis=1) <= 2)
    assert not away[:, 3].any()
    assert set(points[:, 1]) == {0.0, 0.5, 1.0}
    pairs = {tuple(np.flatnonzero(row)) for row in away > 0.0}
    assert {(0, 1), (0, 2), (1, 2)} <= pairs
    assert double_leaps(center, (2,), rng).shape == (0, 4)


def test_where_no_leap_is_left_the_model_proposes():
    """Every variable has two values: soon all neighbours of the best point are old."""
    space = Space({f"x{j}": Integer(0, 1) for j in range(9)})
    optimizer = Optimizer(space, direction="maximize", seed=0, config=Config(n_raw=32, main_effects=3))
    instead = 0
    while optimizer.state.next_number < 130:
        before = optimizer.state
        trial = optimizer.ask()
        if trial.origin == "leap":
            assert np.sum(space.to_unit(trial.x) != before.data.incumbent) == 1
        instead += next_search(before) == "leap" != trial.origin
        optimizer.tell(trial, float(trial.x[0] + 2.0 * trial.x[1] - trial.x[2] + 0.1 * trial.x[3] * trial.x[4]))
    points = [tuple(trial.x) for trial in optimizer.trials]
    assert len(set(points)) == len(points)
    assert instead > 2


def test_the_bare_search_maximizes_expected_improvement_of_the_values_as_they_are():
    def steep(x):
        return -float(np.exp(7.0 * np.sum((x[:2] - 0.4) ** 2)) + np.sum((x[2:4] - 0.6) ** 2))

    optimizer = Optimizer(Space.box(6), direction="maximize", seed=0)
    seen = 0
    while optimizer.state.next_number < 45:
        before = optimizer.state
        trial = optimizer.ask()
        again = Optimizer.from_state(State.from_json(before.to_json())).ask()
        np.testing.assert_array_equal(trial.x, again.x)
        if trial.origin == "bare":
            seen += 1
            assert before.theta.squeezed
            theta = optimizer.state.bare.theta
            assert theta.main == ()
            assert not theta.squeezed
            posterior = gp.condition(before.data.X, standardize(before.data.values), theta, "matern52")
            mu, sigma = posterior.predict(np.vstack([trial.x, np.random.default_rng(seen).random((4000, 6))]))
            gain = log_expected_improvement(mu, sigma, float(np.max(posterior.y)))[0]
            assert gain[0] >= np.max(gain[1:])
        optimizer.tell(trial, steep(trial.x))
    assert seen >= 2
    assert [one.points for one in optimizer.history().searches if one.name == "bare"] == [seen]


def test_the_box_grows_with_success_and_shrinks_with_failure():
    assert side_of_box(searched([("model", 10.0), ("plain", 0.0)])) == FIRST_SIDE
    assert side_of_box(searched([("near", 0.0)] * 4)) == pytest.approx(FIRST_SIDE / 2)
    assert side_of_box(searched([("near", 0.0)] * 4 + [("near", 10.0)])) == pytest.approx(FIRST_SIDE)
    assert side_of_box(searched([("near", None)] * 200)) == LEAST_SIDE
    assert side_of_box(searched([("near", 10.0 + i) for i in range(9)])) == MOST_SIDE


def test_the_box_is_small_at_first_while_the_model_is_of_squeezed_values():
    for outcomes, factor in (([], 1.0), ([("near", 0.0)] * 4, 0.5), ([("near", 10.0)], 2.0)):
        state = searched(outcomes)
        state = replace(state, theta=replace(state.theta, squeezed=True))
        assert side_of_box(state) == pytest.approx(factor * FIRST_SIDE_SQUEEZED)


def test_points_near_the_best_are_near_it_when_nothing_is_found():
    """The values fall off from the first point on, which so stays the best."""
    optimizer = Optimizer(Space.box(5), direction="maximize", seed=0, config=Config(n_raw=64))
    optimizer.add(np.full(5, 0.5), 10.0)
    for i in range(60):
        trial = optimizer.ask()
        optimizer.tell(trial, 5.0 - 0.01 * i - float(np.sum((trial.x - 0.2) ** 2)))
    distance = {
        origin: [float(np.abs(trial.x - 0.5).max()) for trial in optimizer.trials if trial.origin == origin]
        for origin in Config().searches
    }
    assert max(distance["near"][-3:]) < 0.25
    assert max(distance["model"][-3:] + distance["plain"][-3:]) > 0.3


def test_the_plain_model_is_plain_and_survives_a_save():
    optimizer = Optimizer(Space.box(6), direction="maximize", seed=2, config=Config(n_raw=64, main_effects=2))
    for _ in range(40):
        trial = optimizer.ask()
        optimizer.tell(trial, float(np.sin(5 * trial.x[0]) + trial.x[1]))
    fits = [event for event in optimizer.state.log if isinstance(event, Fitted)]
    plain = [event for event in fits if event.of == "plain"]
    origins = Counter(trial.origin for trial in optimizer.trials)
    assert len(plain) == origins["plain"] + origins["near"]
    assert min(origins[search] for search in Config().searches) > 0
    bare = [event for event in fits if event.of == "bare"]
    assert len(bare) == len(plain) + origins["bare"]  # they compete
    assert len(fits) == origins["model"] + len(plain) + len(bare)
    assert all(event.theta.variance == 1.0 and event.theta.main == () for event in plain)
    assert all(event.theta.variance >= 1.0 and event.theta.main == () for event in bare)
    assert optimizer.state.plain.theta is plain[-1].theta
    assert optimizer.state.bare.theta is bare[-1].theta
    assert optimizer.state.ahead == bare[-1].ahead != 0.0
    assert optimizer.state.theta.main
    again = Optimizer.from_state(State.from_json(optimizer.state.to_json()))
    for _ in range(6):
        trials = optimizer.ask(), again.ask()
        np.testing.assert_array_equal(trials[0].x, trials[1].x)
        for one, trial in zip((optimizer, again), trials, strict=True):
            one.tell(trial, float(np.sin(5 * trial.x[0]) + trial.x[1]))


def test_the_search_near_the_best_goes_by_a_known_kernel_where_there_is_one():
    config = Config(known_kernel=KnownKernel(0.5), searches=("model", "near"), main_effects=0, n_raw=64)
    optimizer = Optimizer(Space.box(3), direction="maximize", seed=0, config=config)
    for _ in range(20):
        trial = optimizer.ask()
        optimizer.tell(trial, float(-np.sum((trial.x - 0.3) ** 2)))
    assert {trial.origin for trial in optimizer.trials} == {"design", "model", "near"}
    fits = [event for event in optimizer.state.log if isinstance(event, Fitted)]
    assert not any(event.of != "model" for event in fits)
    assert all(np.all(event.theta.lengthscales == 0.5) for event in fits)


def told(f, n=25, more=3, seed=4):
    """A state with a plain and a bare model of n points of f, which then has some more points."""
    rng = np.random.default_rng(seed)
    state = State.new(Space.box(6), "maximize", seed, Config(n_raw=64))
    state = extend(state, [Added(i, x, f(x)) for i, x in enumerate(rng.random((n, 6)))])
    for model in ("plain", "bare"):
        state = extend(state, fit_one(state, model))
    return extend(state, [Added(n + i, x, f(x)) for i, x in enumerate(rng.random((more, 6)))])


def kinked(x):
    """No squared exponential is like this."""
    return -abs(float(x[2]) - 0.37)


def smooth(x):
    """As smooth as one."""
    return float(np.sin(9.0 * x[2]))


def correlation(kernel, r):
    """By distance in length-scales."""
    if kernel == "squared_exponential":
        return np.exp(-0.5 * r**2)
    return (1.0 + np.sqrt(5.0) * r + 5.0 / 3.0 * r**2) * np.exp(-np.sqrt(5.0) * r)


@pytest.mark.parametrize(("model", "kernel"), [("plain", "squared_exponential"), ("bare", "matern52")])
def test_what_a_model_foretold_is_the_density_of_each_value_given_all_before_it(model, kernel):
    state = told(smooth)
    X, y = state.data.X, state.data.values
    seen = as_seen_by(model, state)
    assert seen.config.kernel == kernel
    theta, z = seen.theta, (y - y[:25].mean()) / y[:25].std(ddof=1)
    K = theta.outputscale * correlation(kernel, cdist(X / theta.lengthscales, X / theta.lengthscales))
    expected = []
    for i in range(25, 28):
        inverse = np.linalg.inv(K[:i, :i] + theta.noise * np.eye(i))
        mean = np.sum(inverse @ z[:i]) / np.sum(inverse)
        mu = mean + K[i, :i] @ inverse @ (z[:i] - mean)
        expected.append(norm.logpdf(z[i], mu, np.sqrt(K[i, i] + theta.noise - K[i, :i] @ inverse @ K[i, :i])))
    np.testing.assert_allclose(foretold(seen, 25), expected, rtol=1e-6)


@pytest.mark.parametrize(("f", "expected"), [(kinked, "bare"), (smooth, "plain")])
def test_the_plain_and_near_searches_go_by_the_model_that_foretold_better(f, expected):
    state = told(f, more=12)
    known = ahead(state)
    assert (known > 0.0) == (expected == "bare")
    state = extend(state, fit_one(state, "bare"))
    assert state.ahead == known
    for search in ("plain", "near"):
        assert models_of(search, state) == ("plain", "bare")
        assert model_of(search, state) == expected
        without = replace(state, config=replace(state.config, bare=False))
        assert models_of(search, without) == ("plain",)
        assert model_of(search, without) == "plain"
    assert model_of("model", state) == "model"
    assert model_of("bare", state) == "bare"
    late = told(f, n=BARE_UNTIL - 1, more=1)
    assert models_of("near", late) == ("plain",)
    assert model_of("near", replace(late, ahead=9.0)) == "plain"


def test_forecasts_fade_and_one_value_tells_only_so_much():
    state = told(smooth, more=0)
    assert ahead(replace(state, ahead=7.0)) == 7.0  # nothing new
    outlier = extend(state, [Added(25, np.full(6, 0.5), 1e6)])
    assert abs(ahead(replace(outlier, ahead=7.0)) - FADING * 7.0) == pytest.approx(TELLING)
    assert ahead(replace(outlier, bare=LastFit(), ahead=7.0)) == 7.0  # one of them is not there yet


def test_nothing_is_foretold_before_values_differ_nor_after_the_contest():
    for scale in (1.0, 1e6, 1e-6):
        flat = told(lambda x: 5.0, more=0)
        flat = extend(flat, [Added(25 + i, np.full(6, 0.1 * i), scale * i) for i in range(4)])
        assert ahead(replace(flat, ahead=7.0)) == 7.0
    late = told(smooth, n=BARE_UNTIL - 1, more=1)
    assert ahead(replace(late, ahead=7.0)) == 7.0


def test_a_forecast_does_not_know_what_comes_after_it():
    rng = np.random.default_rng(5)
    points = rng.random((27, 6))

    def densities(last):
        state = State.new(Space.box(6), "maximize", 0, Config(n_raw=64))
        failed = [Added(i, x, np.nan if i == 3 else smooth(x)) for i, x in enumerate(points[:25])]
        state = extend(state, failed)
        state = extend(state, fit_one(state, "bare"))
        state = extend(state, [Added(25, points[25], smooth(points[25])), Added(26, points[26], last)])
        return foretold(as_seen_by("bare", state), 25)

    assert densities(0.0)[0] == densities(-30.0)[0]
    assert densities(0.0)[1] != densities(-30.0)[1]


def test_a_forecast_that_cannot_be_made_costs_nothing_else(monkeypatch):
    def fails(state, since):
        raise NumericalError("made to")

    monkeypatch.setattr("vsbo.turns.foretold", fails)
    state = replace(told(smooth), ahead=7.0)
    assert ahead(state) == 7.0
    assert [event.ahead for event in fit_one(state, "bare")] == [7.0]


def test_a_state_saved_when_there_were_two_models_goes_on_without_the_third():
    optimizer = Optimizer(Space.box(4), direction="maximize", seed=1, config=Config(n_raw=64, bare=False))
    for _ in range(20):
        trial = optimizer.ask()
        optimizer.tell(trial, smooth(trial.x))
    plain = json.loads(optimizer.state.to_json())
    del plain["config"]["bare"]
    fits = [event for event in plain["events"] if event["event"] == "Fitted"]
    for event in fits:
        event["plain"] = event.pop("of") == "plain"
        del event["ahead"]
    assert {event["plain"] for event in fits} == {False, True}
    again = Optimizer.from_state(State.from_json(json.dumps(plain)))
    assert again.state.config == optimizer.state.config
    np.testing.assert_array_equal(again.state.plain.theta.lengthscales, optimizer.state.plain.theta.lengthscales)
    np.testing.assert_array_equal(again.ask().x, optimizer.ask().x)
