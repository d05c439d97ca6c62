"""Whole numbers, choices and fixed values: exact round trips, equal parts, clear errors, and searches over them."""

import enum
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.study.common import CONFIG, PAPER, SMALL
from vsbo import Choice, Config, Fixed, InputError, Integer, Optimizer, Real, Space, Study, minimize
from vsbo.space import LARGEST_WHOLE

# ------------------------------------------------------------------------------------------------- any variable


@st.composite
def reals(draw):
    if draw(st.booleans()):
        low = draw(st.floats(1e-8, 1e6))
        return Real(low, low * draw(st.floats(1.001, 1e6)), log=True)
    low = draw(st.floats(-1e6, 1e6))
    return Real(low, low + draw(st.floats(1e-3, 1e6)))


@st.composite
def integers(draw):
    log = draw(st.booleans())
    low = draw(st.integers(1 if log else -LARGEST_WHOLE, LARGEST_WHOLE - 1))
    return Integer(low, draw(st.integers(low + 1, LARGEST_WHOLE)), log=log)


values = st.one_of(st.text(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.none())
several = st.lists(values, min_size=2, max_size=6, unique_by=lambda value: (type(value), value))
choices = st.builds(Choice, several, st.booleans())
spaces = st.dictionaries(st.text(), st.one_of(reals(), integers(), choices), min_size=1, max_size=5).map(Space)
seeds = st.integers(0, 2**32)


def cube(seed, D, rows=20):
    """Points (rows, D) in the cube, its corners among them."""
    return np.vstack([np.zeros(D), np.ones(D), np.random.default_rng(seed).random((rows, D))])


@given(spaces, seeds)
def test_params_and_numbers_are_inverse_to_each_other(space, seed):
    for x in space.from_unit(cube(seed, space.D)):
        params = space.params(x)
        assert space.point(params).tolist() == x.tolist()
        assert space.point(x).tolist() == x.tolist()
        for name, variable in space.variables.items():
            if isinstance(variable, Choice):
                assert any(params[name] is value for value in variable.values)
            else:
                assert type(params[name]) is (int if isinstance(variable, Integer) else float)
                assert variable.low <= params[name] <= variable.high


@given(spaces, seeds)
def test_a_snapped_point_stays_where_it_is_and_is_the_same_point(space, seed):
    u = cube(seed, space.D)
    snapped = space.snap(u)
    assert space.snap(snapped).tobytes() == snapped.tobytes()
    assert space.from_unit(snapped)[:, space.whole].tolist() == space.from_unit(u)[:, space.whole].tolist()
    assert snapped[:, ~space.whole].tolist() == u[:, ~space.whole].tolist()
    assert ((snapped >= 0) & (snapped <= 1)).all()


@given(integers(), st.data())
def test_every_whole_number_comes_back(variable, data):
    """Up to 2^40, on a logarithmic axis and in a narrow range far from zero, too."""
    space = Space({"n": variable})
    number = data.draw(st.integers(variable.low, variable.high))
    u = space.to_unit(space.point({"n": number}))
    assert space.params(space.from_unit(u)) == {"n": number}
    assert space.snap(u).tobytes() == u.tobytes()


@pytest.mark.parametrize(
    "variable",
    [
        Integer(0, 1),
        Integer(7, 8, log=True),
        Integer(LARGEST_WHOLE - 1, LARGEST_WHOLE, log=True),
        Integer(LARGEST_WHOLE - 1, LARGEST_WHOLE),
        Integer(-LARGEST_WHOLE, LARGEST_WHOLE),
        Integer(1, LARGEST_WHOLE, log=True),
    ],
)
def test_one_step_and_the_widest_range(variable):
    space = Space({"n": variable})
    for number in {variable.low, variable.low + 1, variable.high - 1, variable.high}:
        assert space.params(space.from_unit(space.to_unit(np.array([number])))) == {"n": number}
    assert space.from_unit(np.zeros(1)) == variable.low
    assert space.from_unit(np.ones(1)) == variable.high


@given(st.integers(-1000, 1000), st.integers(2, 30))
def test_whole_numbers_and_choices_own_equal_parts(low, n):
    space = Space({"n": Integer(low, low + n - 1), "c": Choice(list(range(n)))})
    u = (np.arange(10 * n) + 0.5) / (10 * n)
    for column in space.from_unit(np.column_stack([u, u])).T:
        assert np.unique(column, return_counts=True)[1].tolist() == [10] * n
    assert np.allclose(space.to_unit(np.array([low, 0.0])), 0.5 / n)  # the middle of the first part


@given(st.integers(1, 50), st.integers(1, 50))
def test_on_a_logarithmic_axis_a_number_owns_the_logarithm_of_its_part(low, steps):
    space = Space({"n": Integer(low, low + steps, log=True)})
    numbers = np.arange(low, low + steps + 1)
    share = np.log((numbers + 0.5) / (numbers - 0.5)) / np.log((low + steps + 0.5) / (low - 0.5))
    ends = np.cumsum(share)
    inside = 1e-9
    for number, first, last in zip(numbers, ends - share, ends, strict=True):
        assert space.from_unit(np.array([first + inside])) == space.from_unit(np.array([last - inside])) == number


# --------------------------------------------------------------------------------------------- values and types


def test_true_is_not_one_and_one_is_not_a_string():
    choice = Choice([True, 1, 1.0, "1", None, ""])
    assert [choice.number("c", value) for value in (True, 1, 1.0, "1", None, "")] == [0, 1, 2, 3, 4, 5]
    assert Choice([False, True]).number("c", 1) == 1  # what a shell or a file may write
    assert Choice([1, 2]).number("c", 2.0) == 1
    assert Space({"c": Choice([0, 1])}) != Space({"c": Choice([False, True])})
    assert Space({"c": Choice([0, 1])}) != Space({"c": Choice([0.0, 1.0])})
    assert Space({"r": Real(-0.0, 1)}) == Space({"r": Real(0, 1)})


def test_numpys_scalars_are_plain_values():
    space = Space(
        {"r": Real(np.float32(0), np.int64(2)), "n": Integer(np.int8(0), np.int8(9)), "c": Choice(np.arange(3))}
    )
    assert space == Space({"r": Real(0, 2), "n": Integer(0, 9), "c": Choice([0, 1, 2])})
    x = space.point({"r": np.float64(0.5), "n": np.int32(3), "c": np.int64(2)})
    assert json.dumps(space.params(x)) == '{"r": 0.5, "n": 3, "c": 2}'
    assert Choice(np.array(["a", "b"])).number("c", np.str_("b")) == 1
    assert Fixed(np.bool_(True)).value is True


@given(spaces)
def test_spaces_survive_json(space):
    back = Space.from_plain(json.loads(json.dumps(space.to_plain())))
    assert back == space
    corner = space.from_unit(np.ones(space.D))
    assert json.dumps(back.params(corner)) == json.dumps(space.params(corner))


def test_fixed_values_are_given_to_the_objective_and_not_searched():
    space = Space({"b": Fixed(None), "x": Real(0, 1), "a": Fixed("it's {x}\n"), "n": Integer(1, 3)})
    assert space.D == 2
    assert space.names == ("x", "n")
    assert list(space.params(np.array([0.5, 2.0])).items()) == [("b", None), ("x", 0.5), ("a", "it's {x}\n"), ("n", 2)]
    assert space.point({"x": 0.5, "n": 2}).tolist() == [0.5, 2.0]
    assert space.point({"x": 0.5, "n": 2, "a": "it's {x}\n", "b": None}).tolist() == [0.5, 2.0]
    assert Space.from_plain(space.to_plain()) == space


class Colour(enum.StrEnum):
    RED = "red"
    BLUE = "blue"


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Integer(3, 3), r"low must be below high; both are 3: a fixed variable is Fixed\(3\)"),
        (lambda: Integer(3, 1), "low must be below high; got low=3, high=1"),
        (lambda: Integer(0.5, 3), "low must be a whole number, at most 2.40 in size; got 0.5"),
        (lambda: Integer(0, 2**40 + 1), "high must be a whole number, at most 2.40 in size; got 1099511627777"),
        (lambda: Integer(0, 10**400), "high must be a single real number"),
        (lambda: Integer(0, 3, log=True), "log=True needs low > 0; got low=0"),
        (lambda: Integer("1", 3), "low must be a number; got '1'"),
        (lambda: Integer(0, np.nan), "high must be a whole number.*nan"),
        (lambda: Choice("abc"), "values must be several values, as a list; got 'abc'"),
        (lambda: Choice(5), "values must be several values"),
        (lambda: Choice(["a"]), r"values must be two or more; got \['a'\]: a single one is Fixed\(value\)"),
        (lambda: Choice([]), "two or more"),
        (lambda: Choice(["a", "a"]), r"values must differ from each other; got \['a', 'a'\]"),
        (lambda: Choice({"a", "b"}), "values must be in an order, as a list; got a set"),
        (lambda: Choice([1, [2]]), r"values must be strings, numbers, booleans or None; got \[2\]"),
        (lambda: Choice([1, np.inf]), "values must be finite; got inf"),
        (lambda: Choice([Colour.RED, Colour.BLUE]), "values must be strings"),
        (lambda: Fixed({}), "value must be strings"),
        (lambda: Space({"a": Fixed(1)}), "variables are all fixed: none is left"),
    ],
)
def test_bad_variables(make, says):
    with pytest.raises(InputError, match=says):
        make()


@pytest.mark.parametrize(
    ("x", "says"),
    [
        ({"n": 2.5, "c": "a"}, r"x\['n'\] must be a whole number.*got 2.5"),
        ({"n": 11, "c": "a"}, r"x\['n'\] must be in 1..9; got 11"),
        ({"n": 2, "c": "q"}, r"x\['c'\] must be one of \['a', 'b'\]; got 'q'"),
        ({"n": 2, "c": []}, r"x\['c'\] must be strings.*got \[\]"),
        ({"n": 2, "c": "a", "k": 2}, r"x\['k'\] is fixed at 1; got 2"),
        ({"n": 2}, r"missing: \['c'\]"),
        ([2.5, 0], r"x: variable n must be a whole number in \[1.0, 9.0\]; got 2.5"),
        ([2, 2], r"x: variable c must be a whole number in \[0.0, 1.0\]; got 2.0"),
    ],
)
def test_bad_points(x, says):
    with pytest.raises(InputError, match=says):
        Space({"n": Integer(1, 9), "c": Choice(["a", "b"]), "k": Fixed(1)}).point(x)


# ---------------------------------------------------------------------------------------------------- searches

MIXED = {
    "lr": Real(1e-4, 1, log=True),
    "width": Integer(1, 1000, log=True),
    "depth": Integer(-3, 3),
    "name": Choice(["relu", "it's", None]),
    "on": Choice([False, True]),
    "size": Choice([1, 2, 4, 8], ordered=True),
    "device": Fixed("cpu"),
}


def mixed(params):
    assert list(params) == list(MIXED)
    assert [type(params[name]) for name in ("lr", "width", "depth", "on", "size")] == [float, int, int, bool, int]
    assert params["device"] == "cpu"
    loss = abs(np.log10(params["lr"]) + 2) + abs(params["depth"] - 2) + (params["name"] != "it's")
    return loss + (not params["on"]) + abs(np.log2(params["size"]) - 1) + abs(np.log10(params["width"]) - 1)


@pytest.mark.parametrize("config", [CONFIG, PAPER, Config.vanilla(**SMALL), Config.paper(**SMALL, complement="mix")])
def test_a_search_over_mixed_variables(config, tmp_path):
    with Study.open(tmp_path / "study.db", MIXED, seed=1, config=config) as study:
        study.run(mixed, 40)
        trials = study.trials
    design = min(trial.y for trial in trials[:4])
    assert min(trial.y for trial in trials) < design
    points = {tuple(trial.x) for trial in trials}
    assert len(points) == 40
    with Study.open(tmp_path / "study.db", MIXED) as again:
        assert [trial.params for trial in again.trials] == [trial.params for trial in trials]
        # A point that was given by hand is the same point as when the search proposes it.
        u = again.state.evaluations[7].x
        assert again.state.space.to_unit(again.space.point(trials[7].params))[1:].tobytes() == u[1:].tobytes()


@pytest.mark.parametrize("config", [CONFIG, PAPER, Config.vanilla(**SMALL)])
def test_a_budget_beyond_the_number_of_points_is_spent(config):
    """Six points: each is tried once, then points come again; the run ends, and ask never fails."""
    space = Space({"a": Choice(["x", "y", "z"]), "b": Integer(0, 1)})
    result = minimize(lambda p: p["b"] + ("x", "y", "z").index(p["a"]), space, budget=20, rng=3, config=config)
    assert result.nfev == 20
    assert len({tuple(x) for x in result.X[:6]}) == 6
    assert result.params == {"a": "x", "b": 0}


def test_the_smallest_space_there_is():
    optimizer = Optimizer(Space({"on": Choice([False, True])}), seed=0, config=CONFIG)
    first, second = optimizer.ask(), optimizer.ask()
    assert {first.params["on"], second.params["on"]} == {False, True}  # pending points are not given out again
    for trial in (first, second, *(optimizer.ask() for _ in range(8))):
        optimizer.tell(trial, float(trial.params["on"]))
    assert optimizer.best.params == {"on": False}
