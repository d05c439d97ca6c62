"""Every problem, plain and decorated, keeps the contract; the registry knows them by name."""

import itertools
import math
import os
import sys

import numpy as np
import pytest
import scipy.optimize

from benchmarks.errors import BenchError
from benchmarks.problems import FAILING as FAILING_SHARE
from benchmarks.problems import PROBLEMS, Problem, branin50, noisy, permuted, problem, shifted, with_unrelated
from benchmarks.problems.coco import BBOB
from benchmarks.problems.mopta import DEFAULT_FILE, EXECUTABLE, FILE
from benchmarks.problems.synthetic import branin

NAMES = (
    "Branin50",
    "Hartmann6-50",
    "Styblinski-Tang4-50",
    "Rotated-Hartmann6-100",
    "Rover60",
    "Rover60-noisy",
    "MOPTA08",
    "Lasso60",
    "Lasso100",
    "Lasso300",
    "Hartmann6-100",
    "Hartmann6-1000",
    "Ackley10-100",
    "Levy100",
    "Rosenbrock50",
    "Rastrigin5-60",
    "Cosines100",
    "ExpQuadratic40",
    "Rank5-200",
    "Griewank100",
    "Schwefel20",
    "Steps40",
    "Cliff60",
    "Ridges80",
    "Chain90",
    "Kinks50",
    "Pairs10-2000",
    *BBOB,
)
FAILING = tuple(
    f"{name}-{kind}"
    for kind in ("flaky", "crashing")
    for name in ("Hartmann6-50", "Styblinski-Tang4-50", "Rover60", "MOPTA08")
)
DECORATORS = {
    "plain": lambda p: p,
    "permuted": lambda p: permuted(p, 3),
    "noisy": lambda p: noisy(p, 0.1, 5),
    "with_unrelated": lambda p: with_unrelated(p, p.D + 4),
    "shifted": lambda p: shifted(p, 7),
    "all": lambda p: permuted(noisy(with_unrelated(shifted(p, 1), p.D + 1), 0.1), 2),
}
# How many points: a value of Lasso300 takes tens of milliseconds, of the smaller ones about ten, of MOPTA08 one.
POINTS = {"Lasso60": 6, "Lasso100": 6, "Lasso300": 2, "MOPTA08": 20}
# Values of the rotated Hartmann6 at the check points: they pin scipy's matrix.
ROTATED = (0.19100710914, 0.21669292529, 0.5053149917, 0.069114710623, 0.47791949518)
KNOWN: dict[str, Problem] = {}


def made(name: str) -> Problem:
    """The problem, made once; MOPTA08 skips where nobody has it."""
    if name == "MOPTA08" and not (FILE in os.environ or EXECUTABLE in os.environ or DEFAULT_FILE.exists()):
        pytest.skip("MOPTA08 is not here")
    if name not in KNOWN:
        KNOWN[name] = problem(name)
    return KNOWN[name]


def check_points(D: int) -> np.ndarray:
    """The points of the unit cube at which PROBLEMS.md gives values."""
    return np.array(
        [np.zeros(D), np.ones(D), np.full(D, 0.5), np.linspace(0, 1, D), np.random.default_rng(0).random(D)]
    )


def test_the_names():
    assert tuple(PROBLEMS) == (*NAMES, *FAILING)


@pytest.mark.parametrize("name", FAILING)
def test_where_failing_problems_have_values_they_are_the_problems_own(name):
    whole, _, kind = name.rpartition("-")
    plain, failing = made(whole), problem(name)
    assert (failing.name, failing.best, failing.important) == (name, plain.best, plain.important)
    X = plain.from_unit(np.random.default_rng(2).random((POINTS.get(whole, 200), plain.D)))
    values, failed = failing.values(X), np.isnan(failing.values(X))
    np.testing.assert_array_equal(values[~failed], plain.values(X)[~failed])
    assert abs(failed.mean() - {"flaky": FAILING_SHARE, "crashing": 0.5}[kind]) < 0.35
    assert np.isfinite(failing.f(plain.from_unit(np.full(plain.D, 0.5)))) or kind == "flaky"


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(BenchError) as raised:
        problem("Hartman6")
    assert "'Hartman6'" in str(raised.value)
    assert all(name in str(raised.value) for name in NAMES)


@pytest.mark.parametrize("decorator", DECORATORS)
@pytest.mark.parametrize("name", NAMES)
def test_contract(name, decorator):
    plain = made(name)
    assert plain.name == name
    p = DECORATORS[decorator](plain)
    # Ten deviations of the noise, of which few points are drawn: a false alarm in 1e20.
    tolerance = 1.0 if name == "Rover60-noisy" or decorator in ("noisy", "all") else 1e-6

    assert p.bounds.shape == (p.D, 2)
    assert np.all(np.isfinite(p.bounds))
    assert np.all(p.bounds[:, 0] < p.bounds[:, 1])
    assert p.important <= set(range(p.D))
    assert len(p.important) == len(plain.important)

    unit = np.random.default_rng(11).random((POINTS.get(name, 200), p.D))
    X = p.from_unit(np.vstack([unit, np.zeros(p.D), np.ones(p.D)]))
    values = p.values(X)
    assert values.shape == (len(X),)
    assert values.dtype == np.float64
    assert np.all(np.isfinite(values))
    assert np.all(values <= p.best + tolerance)
    np.testing.assert_allclose([p.f(x) for x in X[:4]], values[:4], rtol=1e-12)  # batch = loop
    np.testing.assert_array_equal(DECORATORS[decorator](plain).values(X), values)  # deterministic

    assert p.argmax is not None
    assert p.argmax.shape == (p.D,)
    assert np.all((p.argmax >= p.bounds[:, 0]) & (p.argmax <= p.bounds[:, 1]))
    assert p.f(p.argmax) == pytest.approx(p.best, abs=tolerance)


@pytest.mark.parametrize("name", NAMES)
def test_made_again_it_is_the_same(name):
    one, two = made(name), problem(name)
    X = one.from_unit(np.random.default_rng(12).random((2, one.D)))
    np.testing.assert_array_equal(one.values(X), two.values(X))
    assert (one.best, one.important, one.minimized) == (two.best, two.important, two.minimized)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "Rover60-noisy"])
def test_steps_from_the_argmax_lose(name):
    """It is a maximum at least among its neighbours: a coordinate or the value stored wrongly would show."""
    p = made(name)
    width = p.bounds[:, 1] - p.bounds[:, 0]
    for size in (0.05, 0.1) if name == "Steps40" else (1e-3, 1e-2):  # its top is as wide as a step
        steps = size * width * np.random.default_rng(3).standard_normal((POINTS.get(name, 200), p.D))
        nearby = p.values(np.clip(p.argmax + steps, *p.bounds.T))
        assert np.all(nearby < p.best + 1e-9)
        assert np.any(nearby < p.best - 1e-9)


@pytest.mark.parametrize(
    ("name", "best"),
    [
        ("Branin50", -0.4416549671),
        ("Hartmann6-50", 3.6878284927),
        ("Styblinski-Tang4-50", 173.89777572),
        ("Rotated-Hartmann6-100", 3.32237),
        ("Hartmann6-100", 3.32237),
        ("Hartmann6-1000", 3.32237),
        ("Ackley10-100", 0.0),
        ("Levy100", 0.0),
        ("Rosenbrock50", 0.0),
        ("Rastrigin5-60", 0.0),
        ("Cosines100", sum(1.0 / j for j in range(1, 101))),
        ("ExpQuadratic40", -1.0),
        ("Rank5-200", 3.0),
        ("Griewank100", 0.0),
        ("Schwefel20", 20 * 418.9828872724),
        ("Steps40", 0.0),
        ("Cliff60", 0.0),
        ("Chain90", 0.0),
        ("Kinks50", 0.0),
        ("Pairs10-2000", 0.0),
    ],
)
def test_maxima_that_are_known(name, best):
    assert made(name).best == pytest.approx(best, rel=1e-6, abs=1e-12)


def test_held_out_functions_are_those_of_the_textbooks():
    """Term by term, at one point."""
    x = np.random.default_rng(4).random(100)

    def around(name, width, d):
        return [float(z) for z in width * (x[:d] - made(name).argmax[:d])]

    z = around("Ackley10-100", 20.0, 10)
    bowl = -20 * math.exp(-0.2 * math.sqrt(sum(t * t for t in z) / 10))
    assert -made("Ackley10-100").f(x) == pytest.approx(
        bowl - math.exp(sum(math.cos(2 * math.pi * t) for t in z) / 10) + 20 + math.e
    )
    w = [1 + t / 4 for t in around("Levy100", 10.0, 100)]
    inner = sum((t - 1) ** 2 * (1 + 10 * math.sin(math.pi * t + 1) ** 2) for t in w[:-1])
    ends = math.sin(math.pi * w[0]) ** 2 + (w[-1] - 1) ** 2 * (1 + math.sin(2 * math.pi * w[-1]) ** 2)
    assert -made("Levy100").f(x) == pytest.approx(inner + ends)
    rosenbrock = scipy.optimize.rosen(1 + np.array(around("Rosenbrock50", 4.0, 50)))
    assert made("Rosenbrock50").f(x[:50]) == pytest.approx(-math.log10(1 + rosenbrock))
    z = around("Rastrigin5-60", 4.0, 5)
    assert -made("Rastrigin5-60").f(x[:60]) == pytest.approx(
        50 + sum(t * t - 10 * math.cos(2 * math.pi * t) for t in z)
    )


def test_unseen_functions_term_by_term():
    x = np.random.default_rng(4).random(2000)

    def around(name, d):
        return [float(z) for z in x[:d] - made(name).argmax[:d]]

    z = [1200.0 * t for t in around("Griewank100", 100)]
    waves = math.prod(math.cos(t / math.sqrt(j)) for j, t in enumerate(z, 1))
    assert -made("Griewank100").f(x[:100]) == pytest.approx(1 + sum(t * t for t in z) / 4000 - waves)
    u = [1000 * float(t) - 500 for t in x[:20]]
    assert made("Schwefel20").f(x[:20]) == pytest.approx(sum(t * math.sin(math.sqrt(abs(t))) for t in u))
    z = around("Steps40", 40)
    steps = sum(int(8 * abs(t)) for t in z[:8]) + 0.1 * sum(int(4 * abs(t)) for t in z)
    assert -made("Steps40").f(x[:40]) == pytest.approx(steps)
    z = around("Chain90", 90)
    ties = 2 * sum((b - a) ** 2 for a, b in itertools.pairwise(z))
    assert -made("Chain90").f(x[:90]) == pytest.approx(sum(t * t + (1 - math.cos(8 * t)) / 2 for t in z) + ties)
    z = [abs(t) for t in around("Kinks50", 50)]
    assert -made("Kinks50").f(x[:50]) == pytest.approx(max(*z[:10], *(t / 5 for t in z[10:])) + 0.05 * sum(z))
    z = around("Pairs10-2000", 10)
    pairs = sum(a * b for a, b in zip(z[::2], z[1::2], strict=True))
    assert -made("Pairs10-2000").f(x) == pytest.approx(sum(t * t for t in z) + pairs)


#: Distances from the minimum at linspace(-4, 4, 40), in IOHexperimenter 0.3.22, which has the suite in its own code.
BBOB_DISTANCES = (
    485.0875263, 91599706.75, 10170.90688, 5228.203227, 775.2822155, 1088366.268, 5851.79459, 313568.2742,
    536594.502, 29516845.58, 3090963.725, 2640886482, 4325.847347, 314.5879506, 5201.505755, 87.45719118,
    38.60754385, 180.6630486, 28.64074346, 410647.568, 85.17667416, 86.50986824, 17.04660521, 1140.338261,
)  # fmt: skip


def test_bbob_is_that_of_another_program():
    distances = [-made(name).f(np.linspace(-4, 4, 40)) for name in BBOB]
    np.testing.assert_allclose(distances, BBOB_DISTANCES, rtol=1e-9)


def test_bbob_says_what_it_needs(monkeypatch):
    monkeypatch.setitem(sys.modules, "cocoex", None)
    with pytest.raises(BenchError, match=r"BBOB07-40 needs coco-experiment: pip install '.\[bench\]'"):
        problem("BBOB07-40")


def test_some_of_the_cube_is_beyond_the_cliff_and_the_rest_is_a_bowl():
    p = made("Cliff60")
    X = np.random.default_rng(4).random((500, 60))
    values, bowl = p.values(X), -np.sum((X - p.argmax) ** 2, axis=1)
    fallen = values < -5000
    assert 0.1 < fallen.mean() < 0.9
    np.testing.assert_allclose(values, bowl - 1e4 * fallen)


@pytest.mark.parametrize("name", ["Branin50", "Hartmann6-50", "Styblinski-Tang4-50", "Hartmann6-1000"])
def test_what_is_important(name):
    """Moving the important variables changes the value more than moving all the others does."""
    p = made(name)
    X, Y = p.from_unit(np.random.default_rng(5).random((2, 300, p.D)))
    important = np.isin(np.arange(p.D), list(p.important))

    def change(moved):
        return np.abs(p.values(np.where(moved, Y, X)) - p.values(X)).mean()

    assert change(important) > 3 * change(~important)


def test_branins_two_boxes():
    narrow, wide = branin50(), branin50(wide=True)
    assert narrow.name != wide.name
    np.testing.assert_array_equal(narrow.bounds[:6], [[-5, 10], [0, 10]] * 3)
    np.testing.assert_array_equal(wide.bounds[:6], [[-5, 10], [0, 15]] * 3)
    assert wide.best == narrow.best
    # The third of Branin's optima lies in the wide box only.
    assert branin(np.array([-np.pi, 12.275])) == pytest.approx(-10 / (8 * np.pi), abs=1e-12)


def test_the_rotation_has_six_directions_and_stays_the_same():
    """Recorded results are worth nothing with another matrix."""
    p = made("Rotated-Hartmann6-100")
    X = np.random.default_rng(0).uniform(-0.1, 0.1, (300, 100))
    h = 1e-5
    gradients = np.array([(p.values(X + h * e) - p.values(X - h * e)) / (2 * h) for e in np.eye(100)])
    spectrum = np.linalg.svd(gradients, compute_uv=False)
    assert spectrum[5] > 1e-2 * spectrum[0]
    assert spectrum[6] < 1e-7 * spectrum[0]
    np.testing.assert_allclose(p.values(2 * check_points(100) - 1), ROTATED, rtol=1e-9)


@pytest.mark.parametrize("name", ["Branin50", "Rover60", "MOPTA08"])
def test_values_around_are_values(name):
    for p in (made(name), permuted(made(name), 4)):
        rng = np.random.default_rng(2)
        x, columns = p.from_unit(rng.random(p.D)), rng.permutation(p.D)[:5]
        X = np.tile(x, (9, 1))
        X[:, columns] = U = p.from_unit(rng.random((9, p.D)))[:, columns]
        np.testing.assert_allclose(p.values_around(x, columns, U), p.values(X), rtol=1e-11)
