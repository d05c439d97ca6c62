"""The one-call functions, and what they must withstand."""

import json

import numpy as np
import pytest
from scipy.optimize import Bounds, OptimizeResult

import vsbo
from vsbo import Config, InputError, ObjectiveError, Real, Space, State
from vsbo.state import Fell, Fitted

SMALL = Config.paper(n_initial=4, select_every=6, n_importance=200, n_raw=64, n_restarts=2)
BOX = [(-1.0, 2.0)] * 5


def sphere(x):
    return float(np.sum((x - 0.3) ** 2))


def test_the_result_is_scipys_and_more():
    result = vsbo.minimize(sphere, BOX, budget=25, rng=0, config=SMALL)
    assert isinstance(result, OptimizeResult)
    assert result.success
    assert result.nfev == 25
    assert result.n_failed == 0
    assert result.fun == sphere(result.x) == result.y.min()
    assert result.X.shape == (25, 5)
    assert result.importance.shares.shape == (5,)
    assert result["importance"] is result.importance
    assert set(result.selected) <= set(range(5))
    assert "25" in result.message
    assert result.optimizer.ask().number == 25  # it can go on


def test_it_finds_minimum_and_maximum():
    result = vsbo.minimize(sphere, BOX, budget=60, rng=0, config=SMALL)
    assert result.fun < 0.02
    other = vsbo.maximize(lambda x: -sphere(x), BOX, budget=60, rng=0, config=SMALL)
    assert other.fun == -result.fun


@pytest.mark.parametrize("bounds", [np.array(BOX), Bounds([-1] * 5, [2] * 5), Space.box(5, -1, 2)])
def test_bounds_in_all_forms_are_the_same_problem(bounds):
    expected = vsbo.minimize(sphere, BOX, budget=8, rng=0, config=SMALL)
    np.testing.assert_array_equal(vsbo.minimize(sphere, bounds, budget=8, rng=0, config=SMALL).X, expected.X)


def test_named_variables_give_a_dict():
    space = {"lr": Real(1e-4, 1, log=True), "b": Real(0, 1)}
    result = vsbo.minimize(lambda p: (np.log10(p["lr"]) + 2) ** 2 + p["b"], space, budget=12, rng=0)
    assert set(result.params) == {"lr", "b"}
    assert {one.name for one in result.importance} == {"lr", "b"}
    assert isinstance(result.params["lr"], float)


def test_rng_forms_and_repetition():
    for make in (lambda: 7, lambda: np.random.default_rng(7), lambda: np.random.SeedSequence(7)):
        one, two = (vsbo.minimize(sphere, BOX, budget=7, rng=make(), config=SMALL).X for _ in range(2))
        np.testing.assert_array_equal(one, two)


def test_the_callback_sees_each_evaluation_and_may_stop():
    seen = []

    def callback(intermediate_result):
        seen.append(intermediate_result.fun)
        return len(seen) == 6

    result = vsbo.minimize(sphere, BOX, budget=20, rng=0, config=SMALL, callback=callback)
    assert len(seen) == result.nfev == 6
    assert seen == sorted(seen, reverse=True)
    assert "callback" in result.message

    def stop(intermediate_result):
        raise StopIteration

    assert vsbo.minimize(sphere, BOX, budget=20, rng=0, config=SMALL, callback=stop).nfev == 1


def test_x0_is_evaluated_first_and_known_values_cost_nothing():
    x0 = np.full(5, 0.3)
    result = vsbo.minimize(sphere, BOX, budget=6, rng=0, config=SMALL, x0=x0)
    np.testing.assert_allclose(result.X[0], x0)
    assert result.fun == pytest.approx(0.0, abs=1e-20)

    X = np.random.default_rng(0).uniform(-1, 2, (9, 5))
    calls = []
    result = vsbo.minimize(
        lambda x: calls.append(x) or sphere(x), BOX, budget=5, rng=0, config=SMALL, x0=X, y0=[sphere(x) for x in X]
    )
    assert len(calls) == result.nfev == 5
    assert len(result.optimizer.trials) == 14
    assert result.fun <= min(sphere(x) for x in X)
    assert {trial.origin for trial in result.optimizer.trials[9:]} == {"model"}


def test_x0_by_name_or_in_order():
    space, x = {"a": Real(0, 1), "b": Real(0, 1)}, {"b": 0.25, "a": 0.75}
    for x0 in (x, [x], [0.75, 0.25], np.array([[0.75, 0.25]])):
        result = vsbo.minimize(lambda p: p["a"], space, budget=1, rng=0, x0=x0)
        np.testing.assert_array_equal(result.X, [[0.75, 0.25]])


def test_one_early_failure_is_no_broken_objective():
    values = iter([np.nan, *range(10)])
    config = Config.gp_ucb(vsbo.KnownKernel(0.3))
    assert vsbo.minimize(lambda x: next(values), BOX, budget=4, rng=0, config=config).n_failed == 1


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"f": 3}, "f must be callable; got int"),
        ({"budget": 0}, "budget must be a whole number >= 1; got 0"),
        ({"budget": 10.0}, "budget must be a whole number"),
        ({"bounds": [(0, 1), (3, 2)]}, "bounds of variable 1.*reversed"),
        ({"x0": [0.0] * 4}, r"x0 must have shape \(5,\) or \(k, 5\); got \(4,\)"),
        ({"x0": [9.0] * 5}, "x0: variable x0 must be in"),
        ({"y0": [1.0]}, "y0 needs x0"),
        ({"x0": [0.0] * 5, "y0": [1.0, 2.0]}, "y0 must have one value for each of the 1 points"),
        ({"rng": "a"}, "seed"),
        ({"config": "paper"}, "config must be a Config; got str"),
    ],
)
def test_wrong_arguments(change, says):
    arguments = {"f": sphere, "bounds": BOX, "budget": 5} | change
    with pytest.raises(InputError, match=says):
        vsbo.minimize(arguments.pop("f"), arguments.pop("bounds"), **arguments)


# ------------------------------------------------------------------------------- what it must withstand


def run(f, D=5, budget=26, config=SMALL, seed=0):
    result = vsbo.minimize(f, [(0.0, 1.0)] * D, budget=budget, rng=seed, config=config)
    assert result.nfev == budget
    assert ((result.X >= 0) & (result.X <= 1)).all()
    State.from_json(result.optimizer.state.to_json())  # and it can be saved, whatever came
    json.loads(result.optimizer.state.to_json(), parse_constant=lambda c: pytest.fail(f"not JSON: {c}"))
    return result


@pytest.mark.parametrize("config", [SMALL, Config(n_initial=4, select_every=6, n_importance=200, n_raw=64)])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_no_numbers_are_failures_and_avoided(bad, config):
    result = run(lambda x: bad if x[0] > 0.6 else sphere(x), config=config, budget=40)
    assert 0 < result.n_failed < 30
    assert np.isfinite(result.fun)
    late = [trial.status for trial in result.optimizer.trials[-12:]]
    assert late.count("failed") <= 4  # uniform points would fail in 40 % of cases
    assert str(bad) in next(t.reason for t in result.optimizer.trials if t.status == "failed")


def test_exceptions_are_failures_with_their_text():
    def f(x):
        if x[1] > 0.7:
            raise RuntimeError("solver diverged")
        return sphere(x)

    result = run(f)
    failed = [trial for trial in result.optimizer.trials if trial.status == "failed"]
    assert failed
    assert {trial.reason for trial in failed} == {"RuntimeError: solver diverged"}


def test_an_objective_that_always_fails_is_reported_with_its_cause():
    def broken(x):
        raise KeyError("typo")

    with pytest.raises(ObjectiveError, match=r"first 5 points.*KeyError: 'typo'") as caught:
        vsbo.minimize(broken, BOX, budget=50, rng=0, config=SMALL)
    assert isinstance(caught.value.__cause__, KeyError)
    with pytest.raises(ObjectiveError, match="the value is nan"):
        vsbo.minimize(lambda x: np.nan, BOX, budget=50, rng=0, config=SMALL)


def test_an_objective_that_returns_no_number_is_a_failure_too():
    with pytest.raises(ObjectiveError, match="single real number"):
        vsbo.minimize(lambda x: [1.0, 2.0], BOX, budget=50, rng=0, config=SMALL)


def test_control_c_keeps_what_was_found():
    calls = []

    def f(x):
        calls.append(x)
        if len(calls) == 9:
            raise KeyboardInterrupt
        return sphere(x)

    result = vsbo.minimize(f, BOX, budget=30, rng=0, config=SMALL)
    assert not result.success
    assert result.nfev == 8
    assert "interrupted after 8 of 30" in result.message
    assert result.optimizer.trials[8].status == "pending"  # the point is not lost: it can still be told


def test_constant_values():
    result = run(lambda x: 3.0)
    assert result.fun == 3.0
    assert not result.importance.shares.any()
    assert "equal" in result.importance.note
    assert {s.case for s in result.optimizer.state.selections} == {"kept"}
    assert result.selected == (0, 1, 2, 3, 4)


@pytest.mark.parametrize("scale", [1e300, 1e-300, 1e-320])
def test_values_at_the_ends_of_the_numbers(scale):
    result = run(lambda x: scale * sphere(x))
    assert result.fun <= scale * 0.35


def test_outliers():
    rng = np.random.default_rng(0)
    result = run(lambda x: 1e10 if rng.random() < 0.2 else sphere(x), budget=40)
    assert result.fun < 1.0


def test_duplicate_points():
    optimizer = vsbo.Optimizer(Space.box(3), seed=0, config=SMALL)
    for _ in range(6):
        optimizer.add([0.5, 0.5, 0.5], 1.0)
        optimizer.add([0.2, 0.5, 0.5], 0.5)
    for _ in range(8):
        trial = optimizer.ask()
        optimizer.tell(trial, sphere(trial.x))
    assert len({tuple(t.x) for t in optimizer.trials[12:]}) == 8


@pytest.mark.parametrize("D", [1, 2])
@pytest.mark.parametrize("config", [SMALL, Config(n_initial=4, n_raw=64)])
def test_one_and_two_variables(D, config):
    result = run(sphere, D=D, budget=30, config=config)
    assert result.fun < 1e-3
    assert len(result.optimizer.state.selections) == (0 if config.selection == "fixed" else 4)


def test_all_variables_equally_important():
    result = run(sphere, D=8, budget=45)
    assert result.fun < 0.2
    assert result.importance.shares.min() > 0.02


@pytest.mark.parametrize("budget", [1, 2, 4, 5])
def test_budgets_smaller_than_the_design(budget):
    result = run(sphere, budget=budget, config=Config.paper())
    assert result.fun == result.y.min()


def test_a_noiseless_linear_function_sends_no_warning():
    result = run(lambda x: float(x @ np.arange(1.0, 6.0)), budget=30)
    assert not [event for event in result.optimizer.state.log if isinstance(event, Fell)]


def test_a_search_that_has_converged_goes_on_with_new_points():
    """In one dimension 60 points exhaust what EI can tell apart; still no point comes twice and nothing raises."""
    result = run(lambda x: float((x[0] - 0.5) ** 2), D=1, budget=60)
    assert len(np.unique(result.X)) == 60


def test_a_discontinuous_function():
    result = run(lambda x: float(x[0] > 0.5) + float(x[1] > 0.3), budget=35)
    assert result.fun == 0.0


def test_many_variables_and_few_points():
    result = run(lambda x: float(x[7]), D=300, budget=16)
    fits = [event for event in result.optimizer.state.log if isinstance(event, Fitted)]
    assert len(fits) == 12
