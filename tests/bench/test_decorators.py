"""The decorators do what their names say."""

import numpy as np
import pytest
from scipy.stats import kstest

from benchmarks.errors import BenchError
from benchmarks.problems import (
    Problem,
    branin50,
    crashing,
    flaky,
    hartmann6_50,
    noisy,
    permuted,
    shifted,
    with_unrelated,
)
from benchmarks.problems.noise import normals

NOBODY_KNOWS = Problem("sum", lambda X: X.sum(axis=1), np.array([[0.0, 1.0]] * 3), 3.0)


def test_permuted_twice_gives_the_original_back():
    p = hartmann6_50()
    q = permuted(permuted(p, 1), 2)
    X = np.random.default_rng(0).random((20, 50))
    np.testing.assert_allclose(q.values(X), p.values(q.original(X)), rtol=1e-13)
    np.testing.assert_array_equal(q.original(q.argmax), p.argmax)
    assert {int(q.order[j]) for j in q.important} == p.important
    assert q.important != p.important


def test_permuted_bounds_follow_their_variables():
    p, q = branin50(), permuted(branin50(), 1)
    np.testing.assert_array_equal(q.original(q.bounds.T).T, p.bounds)


def test_noise_is_normal_and_independent_of_batch_and_order():
    """The Kolmogorov-Smirnov level of 1e-6 is the false-alarm rate of another seed; this one is fixed."""
    X = np.random.default_rng(0).random((4000, 3))
    sample = normals(X, 7, 5)
    assert kstest(sample.ravel(), "norm").pvalue > 1e-6
    assert np.abs(np.corrcoef(sample.T) - np.eye(5)).max() < 0.08  # five deviations of 1 / sqrt(4000)
    np.testing.assert_array_equal(normals(X[::-1][:10], 7, 5), sample[::-1][:10])
    np.testing.assert_array_equal(normals(X[:10], 7, 2), sample[:10, :2])
    assert not np.any(normals(X, 8, 5) == sample)


def test_equal_points_have_equal_noise():
    np.testing.assert_array_equal(normals(np.array([[0.0, 1.0]]), 0), normals(np.array([[-0.0, 1.0]]), 0))
    fortran = np.asfortranarray(np.random.default_rng(0).random((4, 3)))
    np.testing.assert_array_equal(normals(fortran, 0), normals(np.ascontiguousarray(fortran), 0))


def test_noisy_has_its_deviation_and_its_seed():
    p = hartmann6_50()
    X = np.random.default_rng(0).random((4000, 50))
    noise = noisy(p, 0.5, 3).values(X) - p.values(X)
    assert noise.std() == pytest.approx(0.5, rel=0.06)  # five deviations of 1 / sqrt(8000)
    assert abs(noise.mean()) < 5 * 0.5 / np.sqrt(4000)
    assert not np.any(noisy(p, 0.5, 4).values(X) == noisy(p, 0.5, 3).values(X))
    np.testing.assert_array_equal(noisy(p, 0.0).values(X), p.values(X))


def test_noisy_is_the_same_permuted():
    """The runner permutes: noise is a function of the point, whatever the order of its variables."""
    p = noisy(hartmann6_50(), 0.5)
    q = permuted(p, 1)
    X = np.random.default_rng(0).random((20, 50))
    np.testing.assert_allclose(q.values(X), p.values(q.original(X)), rtol=1e-13)


def test_unrelated_variables_change_nothing():
    p = permuted(branin50(), 1)
    q = with_unrelated(p, 70)
    assert q.D == 70
    X = q.from_unit(np.random.default_rng(0).random((20, 70)))
    np.testing.assert_array_equal(q.values(X), p.values(X[:, :50]))
    np.testing.assert_array_equal(q.original(X)[:, :50], p.original(X[:, :50]))
    np.testing.assert_array_equal(q.bounds[50:], [[0, 1]] * 20)


def test_shifted_moves_the_function():
    p = branin50()
    shift = np.linspace(-0.1, 0.1, 50) * (p.bounds[:, 1] - p.bounds[:, 0])
    q = shifted(p, shift)
    inside = p.from_unit(np.random.default_rng(0).uniform(0.11, 0.89, (20, 50)))
    np.testing.assert_allclose(q.values(inside + shift), p.values(inside), rtol=1e-12)
    np.testing.assert_array_equal(q.argmax, p.argmax + shift)


def test_shifted_is_mirrored_at_the_border_and_continuous():
    p = Problem("line", lambda X: X[:, 0], np.array([[0.0, 2.0]]), 2.0, argmax=np.array([2.0]))
    q = shifted(p, np.array([-0.5]))
    np.testing.assert_allclose(q.values(np.array([[0.0], [1.0], [1.5], [1.75], [2.0]])), [0.5, 1.5, 2.0, 1.75, 1.5])
    assert q.f(q.argmax) == q.best == 2.0


@pytest.mark.parametrize("seed", range(5))
def test_a_drawn_shift_moves_every_variable_and_keeps_the_optimum_inside(seed):
    corner = Problem("corner", lambda X: -X.sum(axis=1), np.array([[0.0, 3.0]] * 9), 0.0, argmax=np.zeros(9))
    for p in (branin50(), corner):
        q = shifted(p, seed)
        moved = np.abs(q.argmax - p.argmax) / (p.bounds[:, 1] - p.bounds[:, 0])
        assert np.all((moved >= 0.05) & (moved <= 0.2))
        assert np.all((q.argmax > q.bounds[:, 0]) & (q.argmax < q.bounds[:, 1]))
        assert q.f(q.argmax) == pytest.approx(p.best, abs=1e-12)


def test_flaky_fails_by_chance_and_is_a_function_of_the_point():
    p = flaky(branin50(), 0.15, seed=4)
    X = p.from_unit(np.random.default_rng(0).random((4000, p.D)))
    failed = np.isnan(p.values(X))
    assert failed.mean() == pytest.approx(0.15, abs=0.025)
    np.testing.assert_array_equal(np.isnan(p.values(X[::-1])), failed[::-1])
    assert (np.isnan(flaky(branin50(), 0.15, seed=5).values(X)) != failed).any()
    np.testing.assert_array_equal(p.values(X)[~failed], branin50().values(X)[~failed])
    assert not np.isnan(flaky(branin50(), 0.0).values(X)).any()


def test_crashing_is_a_half_of_the_box_beyond_a_plane_through_its_middle():
    p = crashing(branin50())
    rng = np.random.default_rng(0)
    U = rng.random((4000, p.D))
    failed = np.isnan(p.values(p.from_unit(U)))
    assert failed.mean() == pytest.approx(0.5, abs=0.03)
    np.testing.assert_array_equal(np.isnan(p.values(p.from_unit(1.0 - U))), ~failed)
    assert np.isfinite(p.f(p.from_unit(np.full(p.D, 0.5))))
    good = U[~failed]
    between = 0.5 * (good[:-1] + good[1:])
    assert np.isfinite(p.values(p.from_unit(between))).all()  # what is good is convex
    assert (np.isnan(crashing(branin50(), 1).values(p.from_unit(U))) != failed).any()


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: noisy(branin50(), -1.0), "sd must be .* got -1.0"),
        (lambda: noisy(branin50(), float("nan")), "sd must be .* got nan"),
        (lambda: flaky(branin50(), 1.0), r"share must be in \[0, 1\); got 1.0"),
        (lambda: with_unrelated(branin50(), 49), "D must be at least 50.* got 49"),
        (lambda: shifted(NOBODY_KNOWS, 1), "known argmax.* sum has none"),
        (lambda: shifted(branin50(), np.zeros(3)), r"shape \(50,\); got shape \(3,\)"),
        (lambda: shifted(branin50(), np.eye(50)[1] * 9), r"variables \[1\] out of it"),
    ],
)
def test_bad_arguments(make, says):
    with pytest.raises(BenchError, match=says):
        make()
