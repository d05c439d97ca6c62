"""What users of `scipy.optimize.differential_evolution` pass, `minimize` takes, too, with the same meaning."""

import os
import time
from multiprocessing.pool import ThreadPool

import numpy as np
import pytest
from scipy.optimize import Bounds, OptimizeResult, differential_evolution

import vsbo
from vsbo import Config, InputError, ObjectiveError

SMALL = Config.paper(n_initial=4, select_every=6, n_importance=200, n_raw=64, n_restarts=2)
BOX = Bounds([-1.0, -1.0, 0.2], [2.0, 2.0, 9.7])


def shifted(x, center, scale):
    return scale * float(np.sum((x - center) ** 2))


def slow_and_own(x):
    """Half a second, in a process of its own; where x is large, it takes its process down."""
    time.sleep(0.5)
    if x[0] > 0.8:
        os._exit(3)
    return float(os.getpid()) + x[0] / 10


def test_one_call_serves_both():
    """The same arguments, letter by letter; only the budget has another name."""
    seen = []

    def callback(intermediate_result: OptimizeResult):
        seen.append(intermediate_result.fun)

    same = {"args": (0.4, 2.0), "callback": callback, "integrality": [False, False, True], "workers": 1}
    same["x0"] = [0.0, 0.0, 3.0]
    theirs = differential_evolution(shifted, BOX, rng=np.random.default_rng(1), maxiter=3, popsize=3, **same)
    calls, seen = len(seen), []
    ours = vsbo.minimize(shifted, BOX, rng=np.random.default_rng(1), budget=30, config=SMALL, **same)
    assert calls > 0
    assert len(seen) == 30
    assert ours.x.shape == theirs.x.shape == (3,)
    for found in (ours, theirs):
        assert found.x[2] == np.round(found.x[2])
        assert found.fun == shifted(found.x, 0.4, 2.0)
    np.testing.assert_allclose(ours.X[0], [0.0, 0.0, 3.0], atol=1e-15)


def test_integrality():
    result = vsbo.minimize(
        lambda x: float(np.sum(x**2)), [(-3.5, 3.5)] * 4, budget=20, rng=0, config=SMALL, integrality=True
    )
    assert (np.round(result.X) == result.X).all()
    assert set(np.unique(result.X)) <= set(range(-3, 4))
    mixed = vsbo.minimize(lambda x: x[0], [(0.5, 4.2)] * 2, budget=12, rng=0, config=SMALL, integrality=[1, 0])
    assert set(np.unique(mixed.X[:, 0])) <= {1.0, 2.0, 3.0, 4.0}
    assert (mixed.X[:, 1] != np.round(mixed.X[:, 1])).any()


@pytest.mark.parametrize(
    ("bounds", "integrality", "says"),
    [
        ([(0, 1)] * 3, [True, False], r"integrality must be one boolean or have shape \(3,\); got \(2,\)"),
        ([(0, 1), (0.2, 0.8)], True, "bounds of variable 1: there is no whole number in"),
        ([(0, 1), (0.2, 1.8)], True, r"bounds of variable 1: low must be below high; both are 1"),
        ({"a": vsbo.Real(0, 1)}, True, "integrality goes with pairs"),
        ([(0, 1)], "x", "integrality must be numbers"),
    ],
)
def test_wrong_integrality(bounds, integrality, says):
    with pytest.raises(InputError, match=says):
        vsbo.minimize(lambda x: 0.0, bounds, budget=3, integrality=integrality)


@pytest.mark.parametrize("args", [(0.3,), [0.3], 0.3])
def test_args(args):
    result = vsbo.minimize(lambda x, c: (x[0] - c) ** 2, [(0, 1)], args, budget=6, rng=0, config=SMALL, x0=[0.3])
    assert result.fun == 0.0


def test_rng_is_anything_that_numpy_makes():
    makers = (
        lambda: 3,
        lambda: np.random.PCG64(3),
        lambda: np.random.RandomState(3),
        lambda: np.random.SeedSequence(3),
    )
    runs = [[vsbo.minimize(lambda x: x[0], BOX, budget=4, rng=make()).X for _ in range(2)] for make in makers]
    for one, two in runs:
        np.testing.assert_array_equal(one, two)
    assert len({one.tobytes() for one, _ in runs}) == len(makers)


def test_callbacks_of_every_signature():
    """SciPy's two, and any function of one argument."""
    seen = []
    run = {"budget": 5, "rng": 0, "config": SMALL}

    def of_point(xk, convergence):
        seen.append((xk, convergence))
        return convergence >= 0.6

    def of_point_by_name(xk, convergence=0.0):
        seen.append((xk, convergence))

    result = vsbo.minimize(lambda x: x[0], BOX, callback=of_point, **run)
    assert result.nfev == 3
    assert [part for _, part in seen] == [0.2, 0.4, 0.6]
    np.testing.assert_array_equal(seen[-1][0], result.x)
    vsbo.minimize(lambda x: x[0], BOX, callback=of_point_by_name, **run)
    assert len(seen) == 8
    vsbo.minimize(lambda x: x[0], BOX, callback=lambda r: seen.append(r.fun), **run)
    assert len(seen) == 13
    assert isinstance(seen[-1], float)
    with pytest.raises(InputError, match="callback must be callable, or None; got int"):
        vsbo.minimize(lambda x: x[0], BOX, callback=3, **run)


def test_workers_evaluate_at_the_same_time_in_processes_that_may_die():
    began = time.monotonic()
    result = vsbo.minimize(slow_and_own, [(0, 1)] * 3, budget=12, rng=0, config=SMALL, workers=3)
    took = time.monotonic() - began
    assert result.nfev == 12
    ok = result.y[np.isfinite(result.y)]
    assert len({int(value) for value in ok}) >= 2
    assert os.getpid() not in {int(value) for value in ok}
    failed = [trial for trial in result.optimizer.trials if trial.status == "failed"]
    assert failed
    assert {trial.reason for trial in failed} == {"its process ended with code 3"}
    assert took < 60


def test_a_map_gets_batches_and_a_seed_gives_the_same_run_again():
    def f(x):
        if x[1] > 0.8:
            raise RuntimeError("diverged")
        return float(np.sum(x**2))

    sizes = []

    def spy(function, points):
        sizes.append(len(points))
        return map(function, points)

    one = vsbo.minimize(f, [(0, 1)] * 3, budget=17, rng=0, config=SMALL, workers=spy)
    assert sum(sizes) == one.nfev == 17
    assert len(set(sizes[:-1])) == 1
    assert "RuntimeError: diverged" in {trial.reason for trial in one.optimizer.trials}
    with ThreadPool(2) as pool:
        two = vsbo.minimize(f, [(0, 1)] * 3, budget=17, rng=0, config=SMALL, workers=pool.map)
    np.testing.assert_array_equal(one.X, two.X)


def test_a_callback_that_ends_the_run_loses_nothing_of_its_batch():
    sizes = []

    def spy(function, points):
        sizes.append(len(points))
        return [function(x) for x in points]

    result = vsbo.minimize(lambda x: x[0], BOX, budget=50, rng=0, config=SMALL, workers=spy, callback=lambda r: True)
    assert result.nfev == sizes[0]
    assert not [trial for trial in result.optimizer.trials if trial.status == "pending"]


@pytest.mark.parametrize(
    ("workers", "says"),
    [
        (0, "workers must be a whole number >= 1, -1 for all processors, or a map"),
        (-2, "workers must be"),
        (2.0, "workers must be"),
        (True, "workers must be"),
        (2, "f must be a function of a module.*ThreadPool"),
        (lambda function, points: [], "workers must map: . points gave 0 answers"),
    ],
)
def test_wrong_workers(workers, says):
    with pytest.raises(InputError, match=says):
        vsbo.minimize(lambda x: 0.0, BOX, budget=5, workers=workers)


def test_processes_that_cannot_begin_end_the_run_and_blame_no_point():
    def local(x):
        return 0.0

    local.__qualname__, local.__module__ = "nowhere", __name__
    with pytest.raises((InputError, ObjectiveError), match="f must be a function"):
        vsbo.minimize(local, BOX, budget=5, workers=2)
