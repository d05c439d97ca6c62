"""The rover against the original's own ingredients (splprep, one obstacle after the other) and its check values."""

import numpy as np
import pytest
from scipy.interpolate import splev, splprep

from benchmarks.problems import rover60
from benchmarks.problems.rover import CENTRES, NOISE, cubic, density
from tests.bench.test_problems import check_points


def plain_density(q):
    """The cost a unit of length at places q (n, 2): one obstacle after the other, half-open."""
    blocked = ~np.all((q >= 0) & (q < 1), axis=1)
    for centre in CENTRES:
        blocked |= np.all((q >= centre - 0.025) & (q < centre + 0.025), axis=1)
    return 0.05 + 20.0 * blocked


def plain(x):
    """One path as the original computes it, without noise."""
    tck, _ = splprep((-0.1 + 1.2 * x).reshape(30, 2).T, k=3)
    q = np.transpose(splev(np.linspace(0, 1, 1000), tck))
    cost = plain_density(q)
    path = np.sum(np.linalg.norm(np.diff(q, axis=0), axis=1) * (cost[1:] + cost[:-1]) / 2)
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
    np.testing.assert_allclose(rover60().values(X), [plain(x) for x in X], atol=1e-6)


def test_every_edge_of_every_obstacle():
    """On the edges, where < and <= differ, one rounding beside them, and anywhere."""
    low, high = CENTRES - 0.025, CENTRES + 0.025
    across = np.column_stack([low[:, 0], high[:, 1]]), np.column_stack([high[:, 0], low[:, 1]])
    frame = np.array(np.meshgrid([0.0, 0.5, 1.0], [0.0, 0.5, 1.0])).reshape(2, 9).T
    on = np.vstack(
        [low, high, *across, *((low + s * (high - low)) for s in ([0, 0.5], [0.5, 0], [1, 0.5], [0.5, 1])), frame]
    )
    q = np.vstack(
        [on, np.nextafter(on, 2), np.nextafter(on, -2), np.random.default_rng(0).uniform(-0.5, 1.5, (9999, 2))]
    )
    np.testing.assert_array_equal(density(*q.T), plain_density(q))


def test_the_best_path_is_free_and_it_is_the_originals():
    """Its whole cost is its length, at 0.05, and the ends' distances."""
    p = rover60()
    assert plain(p.argmax) == pytest.approx(p.best, abs=1e-6)
    assert 4.9 < p.best < 5 - 0.05 * 0.9 * np.sqrt(2)


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
