"""The rover against the original's own ingredients (splprep, one obstacle after the other) and its check values."""

import numpy as np
import pytest
from scipy.interpolate import splev, splprep

from benchmarks.problems import rover60
from benchmarks.problems.rover import NOISE, _CENTRES, cubic
from tests.bench.test_problems import check_points


def obvious(x):
    """One path as the original computes it, without noise."""
    tck, _ = splprep((-0.1 + 1.2 * x).reshape(30, 2).T, k=3)
    q = np.transpose(splev(np.linspace(0, 1, 1000), tck))
    blocked = np.any(np.all((q[:, None] >= _CENTRES - 0.025) & (q[:, None] < _CENTRES + 0.025), axis=2), axis=1)
    blocked |= ~np.all((q >= 0) & (q < 1), axis=1)
    density = 0.05 + 20.0 * blocked
    path = np.sum(np.linalg.norm(np.diff(q, axis=0), axis=1) * (density[1:] + density[:-1]) / 2)
    return 5 - path - 10 * (np.abs(q[0] - 0.05).sum() + np.abs(q[-1] - 0.95).sum())


def test_check_values():
    expected = [-19, -19, -13, -14.2033318006, -19.7927818395]
    np.testing.assert_allclose(rover60().values(check_points(60)), expected, atol=1e-6)


def test_it_is_the_original_by_splprep():
    """Random, ordered and nearly straight paths, the last through few obstacles."""
    rng = np.random.default_rng(1)
    ordered = np.sort(rng.random((20, 30, 2)), axis=1).reshape(20, 60)
    straight = np.repeat(np.linspace(0.1, 0.9, 30), 2) + 0.05 * rng.standard_normal((20, 60))
    X = np.clip(np.vstack([rng.random((60, 60)), ordered, straight]), 0, 1)
    np.testing.assert_allclose(rover60().values(X), [obvious(x) for x in X], atol=1e-6)


def test_obstacles_are_half_open():
    """A path of one point pays no length; two points on an edge tell inside from outside by the density of the line."""
    low, high = _CENTRES[0] - 0.025, _CENTRES[0] + 0.025
    for corner in (low, high):
        x = (np.tile(corner, 30) + 0.1) / 1.2
        x[2:] = x[2:] + 1e-7 * np.repeat(np.linspace(0, 1, 29), 2)
        assert rover60().f(x) == pytest.approx(obvious(x), abs=1e-9)


@pytest.mark.parametrize("distinct", [1, 2, 3, 4])
def test_waypoints_that_coincide(distinct):
    """With m different waypoints the path is the polynomial of degree m - 1 through them, in chord length."""
    rng = np.random.default_rng(distinct)
    places = rng.random((distinct, 2))
    points = places[np.sort(np.append(np.arange(distinct), rng.integers(0, distinct, 30 - distinct)))]
    u = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(places, axis=0), axis=1)))
    u /= u[-1] or 1.0
    coefficients = cubic(points[None])[0]
    np.testing.assert_allclose(np.vander(u, 4, increasing=True) @ coefficients, places, atol=1e-9)
    np.testing.assert_allclose(coefficients[distinct:], 0, atol=1e-9)


def test_points_that_meet_have_the_limit():
    """The check values at zeros, 0.5 and ones are limits: of waypoints closer and closer together."""
    rng = np.random.default_rng(0)
    direction = rng.standard_normal(60)
    for x in check_points(60)[:3]:
        for size in (1e-6, 1e-8):
            assert rover60().f(x + size * direction) == pytest.approx(rover60().f(x), abs=1e3 * size)


def test_the_originals_noise():
    """Deviation 1e-4, not variance, gives what is known of the original: f deviates by 0.001 to 0.023."""
    x = check_points(60)[4]
    values = [rover60(NOISE, seed).f(x) for seed in range(200)]
    assert 0.001 < np.std(values) < 0.04
    assert np.mean(values) == pytest.approx(rover60().f(x), abs=0.05)
    assert np.std([rover60(1e-2, seed).f(x) for seed in range(200)]) > 0.1
