"""What `importance` says of functions whose importance is known, and of data that say little."""

import json
import sys

import numpy as np
import pytest

import vsbo
from benchmarks.importance.coverage import cells, measure, summary
from benchmarks.importance.functions import draw
from benchmarks.importance.ranking import average_precision
from vsbo import Choice, Config, InputError, Integer, Optimizer, Real, Space
from vsbo.explain import importance_of


def told(f, D=30, n=120, seed=0, direction="minimize", noise=0.0):
    optimizer = Optimizer(Space.box(D), direction=direction, seed=1)
    rng = np.random.default_rng(seed)
    for x in rng.random((n, D)):
        optimizer.add(x, f(x) + noise * rng.standard_normal())
    return optimizer


def several(x):
    return 3 * x[0] - 2 * x[1] + 6 * (x[2] - 0.5) ** 2 + 4 * (x[0] - 0.5) * (x[3] - 0.5)


@pytest.fixture(scope="module")
def importance():
    return told(several, noise=0.2).importance()


def test_shares_intervals_and_calls(importance):
    # Variances of the effects, and of the product, which is x0's and x3's.
    product = 16 / 144
    variances = np.array([9 / 12 + product, 4 / 12, 36 / 180, product])
    truth = variances / (variances.sum() - product)
    for j in range(4):
        assert importance[j].low <= truth[j] <= importance[j].high
    assert [one.index for one in importance.important][:4] == [0, 1, 2, 3]
    assert len(importance.important) <= 5  # one of the other 26 may be called: how often is counted below
    assert all(0 <= one.low <= one.share <= one.high <= 1 for one in importance)
    assert all(0 <= one.local_low <= one.local_share <= one.local_high <= 1 for one in importance)


def test_directions_are_those_of_the_users_value(importance):
    assert [importance[j].direction for j in range(3)] == ["rises", "falls", "bends"]
    turned = told(lambda x: -several(x), noise=0.2, direction="maximize").importance()
    assert [turned[j].direction for j in range(3)] == ["falls", "rises", "bends"]


def test_effects_are_the_main_effects(importance):
    effects = {effect.variable: effect for effect in importance.effects}
    np.testing.assert_allclose(effects[0].mean, 3 * (effects[0].unit - 0.5), atol=0.3)
    np.testing.assert_allclose(effects[2].mean, 6 * (effects[2].unit - 0.5) ** 2 - 0.5, atol=0.45)
    assert ((effects[0].low <= effects[0].mean) & (effects[0].mean <= effects[0].high)).all()


def test_the_top_k(importance):
    np.testing.assert_allclose(importance.top(1)[0], 1.0, atol=0.02)
    top = importance.top(3)
    assert (top[:3] > 0.9).all()
    assert top.sum() <= 3 + 1e-9
    with pytest.raises(InputError, match="k must be a whole number in 1..30; got 31"):
        importance.top(31)


def test_an_interaction_alone_is_seen():
    importance = told(lambda x: 2 * x[0] + 8 * (x[0] - 0.5) * (x[1] - 0.5), D=20, n=120).importance()
    assert importance["x1"].important
    assert importance["x1"].direction == "interacts"
    # 64 / 144 of 4 / 12 + 64 / 144
    assert importance["x1"].low <= 4 / 7 <= importance["x1"].high


def test_near_the_best_other_variables_may_matter():
    # x0 decides, but near its minimum it is flat, and x1 is a line.
    optimizer = told(lambda x: 20 * (x[0] - 0.5) ** 2 + x[1], D=10, n=150)
    importance = optimizer.importance()
    assert importance[0].share > 0.9
    best = optimizer.best.x
    low, high = np.maximum(best - 0.1, 0.0), np.minimum(best + 0.1, 1.0)
    near = np.linspace(low[:2], high[:2], 1001)
    variances = np.var(20 * (near[:, 0] - 0.5) ** 2), np.var(near[:, 1])
    assert importance[1].local_share == pytest.approx(variances[1] / sum(variances), abs=0.03)
    assert importance[1].local_share > 1.5 * importance[1].share


def test_by_name_and_as_records(importance):
    assert importance["x3"] is importance[3]
    assert [one.rank for one in importance] == list(range(1, 31))
    records = json.loads(json.dumps(importance.records()))
    assert records[0]["variable"] == importance.ranked[0].name
    with pytest.raises(InputError, match="there is no variable 'z'"):
        importance["z"]
    pandas = pytest.importorskip("pandas")
    assert isinstance(importance.to_dataframe(), pandas.DataFrame)


def test_without_pandas_the_error_says_what_does_work(importance, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)  # what an import finds where it is not installed
    with pytest.raises(InputError, match="needs pandas"):
        importance.to_dataframe()


@pytest.mark.parametrize("n", [0, 1, 3])
def test_too_little_is_said_kindly(n):
    importance = told(several, n=n).importance()
    assert importance.note == f"importance needs at least 4 values; there {'is' if n == 1 else 'are'} {n}"
    assert all(one.low == 0.0 and one.high == 1.0 for one in importance)
    assert importance.top(2).max() == 0.0


def test_equal_values_and_failures():
    assert "equal" in told(lambda x: 2.0).importance().note
    optimizer = Optimizer(Space.box(3), seed=0)
    for x in np.random.default_rng(0).random((6, 3)):
        optimizer.add(x, np.nan)
    assert "there are 0" in optimizer.importance().note
    # Failures are no values: with half of them the rest still speaks.
    optimizer = told(lambda x: several(x) if x[5] < 0.7 else np.nan, n=160)
    importance = optimizer.importance()
    assert importance.n < 160
    assert importance.ranked[0].index == 0


@pytest.mark.parametrize("n", [4, 6, 12])
def test_few_values_leave_much_open(n):
    importance = told(several, D=40, n=n).importance()
    assert np.isfinite([(one.share, one.low, one.high) for one in importance.variables]).all()
    assert sum(one.important for one in importance.variables) <= 3


def test_mixed_variables():
    space = Space(
        {
            "kind": Choice(["a", "b", "c"]), "layers": Integer(1, 6), "lr": Real(1e-4, 1, log=True),
            "flag": Choice([True, False]), **{f"other{j}": Real(0, 1) for j in range(15)},
        }
    )  # fmt: skip
    optimizer = Optimizer(space, seed=0)
    rng = np.random.default_rng(0)
    for _ in range(120):
        params = space.params(space.from_unit(rng.random(space.D)))
        value = {"a": 0.0, "b": 2.0, "c": 0.3}[params["kind"]] - 0.5 * params["layers"] + np.log10(params["lr"])
        optimizer.add(params, value)
    importance = optimizer.importance()
    assert {one.name for one in importance.important} == {"kind", "layers", "lr"}
    assert [importance[name].direction for name in ("kind", "layers", "lr")] == ["levels", "falls", "rises"]
    levels = next(effect for effect in importance.effects if effect.variable == 0)
    assert levels.x == ("a", "b", "c")
    np.testing.assert_allclose(levels.mean, np.array([0.0, 2.0, 0.3]) - 2.3 / 3, atol=0.25)


def test_what_was_selected_and_when():
    result = vsbo.minimize(
        several, [(0, 1)] * 12, budget=45, rng=0, config=Config(selection="momentum", n_initial=5, select_every=10)
    )
    chosen = result.optimizer.state.selections
    importance = result.importance
    assert importance.selections == len(chosen) > 0
    for one in importance.variables:
        assert one.selected_at == tuple(event.n for event in chosen if one.index in event.active)
        assert one.selected == (one.index in result.selected)


def test_scale_and_shift_of_the_values_change_nothing():
    plain = told(several).importance()
    moved = told(lambda x: 1e6 * several(x) - 7e5).importance()
    np.testing.assert_allclose(moved.shares, plain.shares, atol=1e-6)


def test_many_evaluations_are_thinned(monkeypatch):
    monkeypatch.setattr("vsbo.explain.explain.MOST", 100)
    importance = told(several, n=150).importance()
    assert importance.n == 150
    assert importance.ranked[0].index == 0


def test_the_bench_knows_its_functions():
    function = draw("interacting", 20, 3)
    rng = np.random.default_rng(0)
    estimate = function.local_shares(np.full(20, 0.5), 0.5, rng, count=200_000)
    np.testing.assert_allclose(estimate, function.shares, atol=0.02)
    X = rng.random((200_000, 20))
    assert function(X).var() == pytest.approx(1.0, abs=0.03)


def test_average_precision():
    relevant = np.array([True, False, True, False])
    assert average_precision(np.array([4.0, 3.0, 2.0, 1.0]), relevant) == pytest.approx((1 + 2 / 3) / 2)
    assert average_precision(np.zeros(4), relevant) == pytest.approx((1 / 3 + 2 / 4) / 2)  # ties gain nothing


@pytest.mark.slow
def test_intervals_cover():
    """32 functions at D = 20 and 100, about 170 variables with an effect: if a true 90 % of intervals cover, 80 % or
    less are seen with probability below 1e-3 even if only half of the variables are independent.
    """
    rows = [measure(cell, seed) for cell in cells("uniform") if cell["D"] < 500 for seed in (100, 101)]
    found = summary(rows)
    assert found["coverage"] >= 0.8
    assert found["falsely called"] < 0.05


def test_it_is_deterministic():
    state = told(several).state
    assert importance_of(state).records() == importance_of(state).records()
