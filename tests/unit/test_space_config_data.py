"""The border: spaces, settings, standardization. Every error names the argument, what came and what would be right."""

import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import Bounds

from vsbo import Config, InputError, KnownKernel, Real, Smoothness, Space
from vsbo.data import Data, is_new, squeeze, standardize, stretch


@pytest.mark.parametrize(
    ("bounds", "says"),
    [
        ([(1, 0)], "variable 0.*low must be below high.*reversed"),
        ([(0, 1), (2, 2)], "variable 1.*both are 2.0"),
        ([(0, np.inf)], "variable 0.*finite.*inf"),
        ([(-np.inf, 0)], "finite"),
        ([(np.nan, 1)], "finite"),
        ([(-1.7e308, 1.7e308)], "difference"),
        ([0, 1], r"shape \(D, 2\).*got shape \(2,\)"),
        ([(0, 1, 2)], "shape"),
        ([], "shape"),
        ("ab", "bounds must be numbers; got 'ab'"),
        ([(0, "x")], "bounds must be numbers"),
        (None, "bounds"),
        (Bounds([0, 1], [1, 0]), "variable 1"),
    ],
)
def test_bad_bounds(bounds, says):
    with pytest.raises(InputError, match=says):
        Space.from_bounds(bounds)


def test_good_bounds():
    assert Space.from_bounds([(0, 1), (-5, 5)]).D == 2
    assert Space.from_bounds(np.array([[0, 1]] * 7)).D == 7
    assert Space.from_bounds(Bounds([0, 1], [2, 3])).variables["x1"] == Real(1, 3)
    assert Space.from_bounds(Bounds(0, [2, 3])).D == 2
    assert Space.from_bounds({"a": Real(0, 1)}).named
    space = Space.box(3)
    assert Space.from_bounds(space) is space


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Space({}), "empty"),
        (lambda: Space([("a", 1)]), "mapping"),
        (lambda: Space({1: Real(0, 1)}), "strings"),
        (lambda: Space({"a": (0, 1)}), r"variables\['a'\] must be a Real"),
        (lambda: Space.box(0), "D must be a whole number"),
        (lambda: Space.box(2.5), "D must be a whole number"),
        (lambda: Space.box(3, low=[0, 0]), r"low must be one number or have shape \(3,\); got \(2,\)"),
        (lambda: Real(0, 1, log=True), "log=True needs low > 0; got low=0.0"),
        (lambda: Real("a", 1), "low must be a number; got 'a'"),
        (lambda: Real(1e10, np.nextafter(1e10, 2e10), log=True), "too near"),
    ],
)
def test_bad_spaces(make, says):
    with pytest.raises(InputError, match=says):
        make()


@given(
    st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.booleans()), min_size=1, max_size=5),
    st.integers(0, 2**32),
)
def test_units_go_there_and_back(rows, seed):
    variables = {
        f"v{i}": Real(abs(low) + 1e-3, abs(low) + 1e-3 + width, log=True) if log else Real(low, low + width)
        for i, (low, width, log) in enumerate(rows)
    }
    space = Space(variables)
    u = np.random.default_rng(seed).random(space.D)
    x = space.from_unit(u)
    for value, variable in zip(x, variables.values(), strict=True):
        assert variable.low <= value <= variable.high
    np.testing.assert_allclose(space.to_unit(x), u, atol=1e-6)
    for corner in (np.zeros(space.D), np.ones(space.D)):
        for value, variable, at in zip(space.from_unit(corner), variables.values(), corner, strict=True):
            assert value == (variable.high if at else variable.low)
    assert Space.from_plain(json.loads(json.dumps(space.to_plain()))) == space


def test_log_is_linear_in_the_exponent():
    np.testing.assert_allclose(Space({"a": Real(1e-4, 1, log=True)}).from_unit(np.array([0.25])), [1e-3])


@pytest.mark.parametrize(
    ("x", "says"),
    [
        ([0.5], r"shape \(2,\); got \(1,\)"),
        ([0.5, 7], r"variable x1 must be in \[0.0, 1.0\]; got 7.0"),
        ([0.5, np.nan], "variable x1"),
        ({"x0": 0.5}, r"missing: \['x1'\]"),
        ({"x0": 0.5, "x1": 0.1, "q": 1}, r"unknown: \['q'\]"),
        ({"x0": 0.5, "x1": "b"}, r"x\['x1'\] must be a number; got 'b'"),
    ],
)
def test_bad_points(x, says):
    with pytest.raises(InputError, match=says):
        Space.box(2).point(x)


# ------------------------------------------------------------------------------------------ config


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"n_initial": 0}, "n_initial must be a whole number >= 1; got 0"),
        ({"n_initial": 2.0}, "n_initial"),
        ({"select_every": 3}, "select_every.*>= 4"),
        ({"kernel": "rbf"}, r"kernel must be one of \['matern52', 'squared_exponential'\]; got 'rbf'"),
        ({"acquisition": "EI"}, "acquisition must be one of"),
        ({"leaps": "no"}, "leaps must be True or False; got 'no'"),
        ({"double_leaps": 1}, "double_leaps must be True or False; got 1"),
        ({"noise_floor": 0.0}, "noise_floor must be > 0"),
        ({"refit_growth": 0.9}, "refit_growth must be >= 1; got 0.9"),
        ({"thrift": -0.1}, "thrift must be >= 0; got -0.1"),
        ({"thrift": float("inf")}, "thrift must be a finite number; got inf"),
        ({"refit_growth": "a"}, "refit_growth must be a number; got 'a'"),
        ({"noise_floor": 100.0}, "noise_floor must be > 0 and <= 1"),
        ({"noise_floor": "a"}, "noise_floor must be a number; got 'a'"),
        ({"beta": "a"}, "beta must be a number"),
        ({"beta": np.inf}, "beta must be a finite number; got inf"),
        ({"selection": "fixed", "variables": 3}, "variables must be several values"),
        ({"selection": "fixed", "variables": (1.0,)}, "variables must be a whole number; got 1.0"),
        ({"n_raw": True}, "n_raw must be a whole number; got True"),
        ({"noise_floor": float("nan")}, "noise_floor"),
        ({"mix_probability": 1.5}, "mix_probability"),
        ({"beta": -1.0}, "beta"),
        ({"selection": "momentum", "variables": (1, 2)}, "variables goes with selection"),
        ({"selection": "fixed", "variables": (1, 1)}, "differ"),
        ({"searches": ("plain",)}, "searches"),
        ({"searches": ("model", "model")}, "searches"),
        ({"searches": ("model", "far")}, "searches"),
        ({"searches": "model"}, "searches"),
        ({"known_kernel": KnownKernel(0.5)}, "known_kernel.*searches"),
        ({"main_effects": -1}, "main_effects"),
        ({"fixed_value": 2.0}, "fixed_value"),
        ({"selection": "momentum", "known_kernel": KnownKernel(0.5)}, "known_kernel.*fixed"),
    ],
)
def test_bad_settings(settings, says):
    with pytest.raises(InputError, match=says):
        Config(**settings)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: KnownKernel(0.0), "lengthscale must be > 0"),
        (lambda: KnownKernel(1.0, outputscale=-1), "outputscale"),
        (lambda: KnownKernel(1.0, noise=-1), "noise"),
        (lambda: Smoothness(delta=0), "delta"),
        (lambda: Smoothness(alpha=1), "alpha"),
        (lambda: Smoothness(b=0), "smoothness.b"),
    ],
)
def test_bad_constants(make, says):
    with pytest.raises(InputError, match=says):
        make()


def test_settings_that_do_not_fit_the_space():
    fixed = {"selection": "fixed", "complement": "fixed"}
    for config, says in [
        (Config(variables=(0, 5), **fixed), r"0..4.*\(0, 5\)"),
        (Config(fixed_value=(0.1, 0.2), **fixed), "one number or 5; got 2"),
        (Config.gp_ucb(KnownKernel((1.0, 2.0))), "lengthscale must be one number or 5"),
    ]:
        with pytest.raises(InputError, match=says):
            config.check_dimension(5)


def test_the_papers_settings():
    paper = Config.paper()
    assert (paper.n_initial, paper.select_every, paper.n_importance) == (5, 20, 10_000)
    assert (paper.kernel, paper.mean, paper.prior, paper.noise_floor) == ("matern52", "constant", "none", 1e-4)
    assert (paper.acquisition, paper.selection, paper.importance) == ("ei", "momentum", "gradient")
    assert (paper.complement, paper.n_complement, paper.cma_sigma) == ("cma", 20, 0.2)


@pytest.mark.parametrize(
    "config",
    [
        Config(),
        Config.paper(n_complement=1),
        Config.vanilla(kernel="squared_exponential"),
        Config.vs_gp_ucb(KnownKernel((0.1, 0.2, 0.3), 2.0, 0.01), (0, 2), smoothness=Smoothness(delta=0.3)),
        Config(selection="fixed", variables=(1,), complement="fixed", fixed_value=(0.1, 0.2, 0.3)),
        Config(selection="fixed", variables=np.arange(2), complement="fixed", fixed_value=np.full(3, 0.5)),
        Config.vs_gp_ucb(KnownKernel(np.full(3, 0.5)), np.arange(2), beta=np.float32(2), n_raw=np.int64(9)),
    ],
)
def test_settings_survive_json(config):
    assert Config.from_plain(json.loads(json.dumps(config.to_plain()))) == config


def test_an_unknown_setting_is_named():
    with pytest.raises(InputError, match="n_vs"):
        Config.from_plain({"n_vs": 20})


def test_every_setting_says_where_it_comes_from():
    """config.py promises a docstring under each field."""
    import ast
    import inspect

    (tree,) = (node for node in ast.parse(inspect.getsource(Config)).body if isinstance(node, ast.ClassDef))
    documented = {
        first.target.id
        for first, second in zip(tree.body, tree.body[1:], strict=False)
        if isinstance(first, ast.AnnAssign) and isinstance(second, ast.Expr)
    }
    assert documented == {field.name for field in dataclasses.fields(Config)}


# ------------------------------------------------------------------------------------------ data


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=20), st.floats(0.01, 100), st.floats(-100, 100))
def test_standardized_values_do_not_see_scale_and_shift(values, a, b):
    y = np.array(values)
    z = standardize(y)
    if np.ptp(y) < 1e-6:
        return
    assert abs(z.mean()) < 1e-9
    assert z.std(ddof=1) == pytest.approx(1.0)
    np.testing.assert_allclose(standardize(a * y + b), z, atol=1e-6)


@pytest.mark.parametrize("scale", [1e300, 1.7e308, 1e-300, 5e-324 * 2**40])
def test_standardization_at_the_ends_of_the_numbers(scale):
    z = standardize(np.array([-1.0, 0.25, 1.0]) * scale)
    np.testing.assert_allclose(z, standardize(np.array([-1.0, 0.25, 1.0])), rtol=1e-9)


@pytest.mark.parametrize("y", [[], [3.0], [2.0, 2.0, 2.0], [0.0, 0.0], [0.1 + 0.2, 0.3]])
def test_constant_values_standardize_to_zeros(y):
    np.testing.assert_array_equal(standardize(np.array(y)), np.zeros(len(y)))


def test_a_failure_counts_as_the_worst_value_seen():
    data = Data(np.zeros((4, 1)), np.array([3.0, np.nan, 1.0, 2.0]), np.empty((0, 1)))
    np.testing.assert_array_equal(data.values, [3.0, 1.0, 1.0, 2.0])
    nothing = Data(np.zeros((2, 1)), np.array([np.nan, np.nan]), np.empty((0, 1)))
    np.testing.assert_array_equal(nothing.values, [0.0, 0.0])


def test_what_a_duplicate_is():
    others = np.array([[0.1, 0.2], [0.5, 0.5]])
    assert not is_new(np.array([0.5, 0.5 + 1e-12]), others)
    assert is_new(np.array([0.1, 0.5]), others)
    assert is_new(np.array([0.1, 0.5]), np.empty((0, 2)))


def test_a_config_of_an_earlier_version_opens():
    plain = Config(n_raw=100).to_plain()
    for newer in ("center", "searches"):
        del plain[newer]
    assert Config.from_plain({**plain, "patience": 25}) == Config(n_raw=100)


def test_a_search_saved_before_there_was_a_setting_goes_on_without_it():
    for config in (Config(), Config.paper()):
        plain = config.to_plain()
        del plain["squeeze"], plain["refit_growth"], plain["thrift"], plain["bare"], plain["leaps"]
        before = dataclasses.replace(config, squeeze=False, refit_growth=1.0, thrift=0.0, bare=False, leaps=False)
        assert Config.from_plain(plain) == before


SPREAD = np.array([-900.0, -30.0, -2.0, -0.5, 0.1, 0.4, 0.45, 0.5])


def test_squeezed_values_keep_their_order_and_the_best_quarter():
    v, _ = squeeze(SPREAD)
    assert (np.diff(v) > 0.0).all()
    upper = np.quantile(SPREAD, 0.75) <= SPREAD
    assert upper.sum() == 2
    assert (v[~upper] > SPREAD[~upper]).all()
    np.testing.assert_array_equal(v[upper], SPREAD[upper])
    assert v[0] > -10.0  # where 900 was


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_the_slope_of_squeezing_is_that_of_finite_differences(scale):
    u = SPREAD * scale
    knee, width = np.quantile(u, 0.75), np.max(u) - np.quantile(u, 0.75)

    def alone(one):  # the formula, for one value and the knee of all
        return one if one >= knee else knee - width * np.log(1.0 + (knee - one) / width)

    np.testing.assert_allclose(squeeze(u)[0], [alone(one) for one in u], rtol=1e-12)
    step = 1e-6 * scale
    slopes = [(alone(one + step) - alone(one - step)) / (2.0 * step) for one in u]
    assert squeeze(u)[1] == pytest.approx(np.log(slopes).sum(), rel=1e-6)


def test_stretching_undoes_squeezing_and_goes_on_straight_below_everything():
    v, _ = squeeze(SPREAD)
    np.testing.assert_allclose(stretch(v, SPREAD), SPREAD, rtol=1e-12)
    least = v.min()
    below = stretch(np.array([least, least - 1.0, least - 2.0]), SPREAD)
    steps = np.diff(below)
    assert steps[0] == pytest.approx(steps[1])
    eps = 1e-6
    slope = (stretch(np.array([least + eps]), SPREAD)[0] - SPREAD[0]) / eps
    assert -steps[0] == pytest.approx(slope, rel=1e-4)
    assert np.isfinite(stretch(np.array([-1e6]), SPREAD)).all()


@pytest.mark.parametrize("u", [[1.0], [0.0, 0.0, 0.0], [-5.0, 1.0, 1.0], [-5.0, -4.0, 1.0, 1.0 + 1e-15, 1.0]])
def test_squeezing_leaves_alone_what_has_no_best_quarter(u):
    u = np.array(u)
    assert squeeze(u)[1] == 0.0
    np.testing.assert_array_equal(squeeze(u)[0], u)
    np.testing.assert_array_equal(stretch(u, u), u)
