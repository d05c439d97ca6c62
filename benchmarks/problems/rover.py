"""The rover's path through obstacles, 60 variables (Wang et al. 2017).

Notation: x (60,) in the unit cube; p = -0.1 + 1.2 x are 30 waypoints (p[2i], p[2i + 1]); u (30,), from 0 to 1, is where
they lie along the polygon they make. The original smooths them with a spline whose tolerance is above the largest
residual the box allows, so it never has an inner knot: it is the least-squares cubic q(u), for each axis. It is sampled
at 1000 u, and
f = 5 - (integral of the density along the samples) - 10 (|q(0) - start|_1 + |q(1) - goal|_1).
"""

from pathlib import Path

import numpy as np

from benchmarks.problems.best_points import best_point
from benchmarks.problems.noise import normals
from benchmarks.problems.problem import Array, Problem

WAYPOINTS, SAMPLES, DEGREE = 30, 1000, 3
START, GOAL = 0.05, 0.95  # on both axes
FREE, BLOCKED, MISS = 0.05, 20.05, 10.0  # cost a unit of length outside and inside obstacles; cost a unit of distance
HALF_WIDTH = 0.025
NOISE = 1e-4  # the original's deviation (not variance) of each coordinate of a waypoint
CHUNK = 64  # paths at a time: their samples stay in the cache; from 16 to 256 the speed is much the same

CENTRES = np.loadtxt(Path(__file__).parent / "data" / "rover_obstacles.csv", delimiter=",")
_POWERS = np.vander(np.linspace(0, 1, SAMPLES), DEGREE + 1, increasing=True).T  # (4, 1000)


def _cells() -> tuple[tuple[Array, Array], Array]:
    """The plane cut at every edge of an obstacle and of the unit square: the cuts of both axes, and each cell's cost.

    A cell is all blocked or all free, so a sample costs two binary searches and not 113 comparisons of four numbers.
    Cell i holds cut[i - 1] <= q < cut[i]: half-open, as the obstacles and the unit square are.
    """
    low, high = CENTRES - HALF_WIDTH, CENTRES + HALF_WIDTH
    cuts = tuple(np.unique(np.concatenate([low[:, a], high[:, a], [0.0, 1.0]])) for a in (0, 1))
    blocked = np.ones((len(cuts[0]) + 1, len(cuts[1]) + 1), dtype=bool)
    (left, right), (bottom, top) = (np.searchsorted(c, [0.0, 1.0]) + 1 for c in cuts)
    blocked[left:right, bottom:top] = False
    first = [np.searchsorted(cuts[a], low[:, a]) + 1 for a in (0, 1)]
    last = [np.searchsorted(cuts[a], high[:, a]) + 1 for a in (0, 1)]
    for i, j, k, m in zip(first[0], last[0], first[1], last[1], strict=True):
        blocked[i:j, k:m] = True
    return (cuts[0], cuts[1]), np.where(blocked, BLOCKED, FREE)


_CUTS, _COST = _cells()


def density(x: Array, y: Array) -> Array:
    """The cost a unit of length at places (x, y), arrays of one shape."""
    cost: Array = _COST[np.searchsorted(_CUTS[0], x, side="right"), np.searchsorted(_CUTS[1], y, side="right")]
    return cost


def cubic(points: Array) -> Array:
    """Coefficients (k, 4, 2) of 1, u, u^2, u^3 of the least-squares cubics of points (k, 30, 2) by chord length u.

    By polynomials orthogonal on each path's own u (Forsythe): pi_0 = 1, pi_j+1 = (u - a_j) pi_j - b_j pi_j-1. Waypoints
    that coincide leave fewer than four different u, and some pi_j vanish on all of them: such a term is left out, which
    gives the smallest degree that fits as well. One point alone is its own path, as in the limit of points that meet.
    """
    k = len(points)
    steps = np.sqrt(np.sum(np.diff(points, axis=1) ** 2, axis=2))
    u = np.zeros((k, WAYPOINTS))
    np.cumsum(steps, axis=1, out=u[:, 1:])
    length = u[:, -1:]
    # 1e-12 of a box of width 1.2 is rounding, not a path.
    u = np.where(length > 1e-12, u / np.where(length > 1e-12, length, 1.0), 0.0)

    pi, pi_before = np.ones((k, WAYPOINTS)), np.zeros((k, WAYPOINTS))
    power, power_before = np.zeros((k, DEGREE + 1)), np.zeros((k, DEGREE + 1))
    power[:, 0] = 1.0
    norm_before = np.ones(k)
    coefficients = np.zeros((k, DEGREE + 1, 2))
    for j in range(DEGREE + 1):
        norm = np.sum(pi**2, axis=1)
        # On [0, 1] and 30 points the norms of distinct u are far above the rounding of those of equal u.
        there = norm > 1e-24
        safe = np.where(there, norm, 1.0)
        fit = np.where(there[:, None], np.einsum("ku,kua->ka", pi, points) / safe[:, None], 0.0)
        coefficients += power[:, :, None] * fit[:, None, :]
        a = np.sum(u * pi**2, axis=1) / safe
        b = np.where(j > 0, norm / norm_before, 0.0)
        pi, pi_before = (u - a[:, None]) * pi - b[:, None] * pi_before, pi
        raised = np.zeros_like(power)
        raised[:, 1:] = power[:, :-1]
        power, power_before = raised - a[:, None] * power - b[:, None] * power_before, power
        norm_before = safe
    return coefficients


def _chunk(P: Array) -> Array:
    """f (k,) of waypoints P (k, 60)."""
    coefficients = cubic(P.reshape(len(P), WAYPOINTS, 2))
    x, y = coefficients[:, :, 0] @ _POWERS, coefficients[:, :, 1] @ _POWERS
    cost = density(x, y)
    length = np.sqrt(np.diff(x) ** 2 + np.diff(y) ** 2)
    path = np.einsum("ks,ks->k", length, cost[:, :-1] + cost[:, 1:]) / 2
    miss = sum(np.abs(q[:, 0] - START) + np.abs(q[:, -1] - GOAL) for q in (x, y))
    values: Array = 5.0 - path - MISS * miss
    return values


def rover60(noise: float = 0.0, seed: int = 0) -> Problem:
    """No path free of obstacles exceeds 4.9364; the best known (see best_points) is one, of 4.9240.

    noise: the deviation of the normal noise on each coordinate of a waypoint, a function of seed and x; NOISE is the
    original's.
    """

    def values(X: Array) -> Array:
        X = np.asarray(X)
        out = np.empty(len(X))
        for i in range(0, len(X), CHUNK):
            P = -0.1 + 1.2 * X[i : i + CHUNK]
            if noise:
                P += noise * normals(X[i : i + CHUNK], seed, 2 * WAYPOINTS)
            out[i : i + CHUNK] = _chunk(P)
        return out

    argmax, best = best_point("Rover60")
    name = "Rover60-noisy" if noise else "Rover60"
    return Problem(name, values, np.tile([0.0, 1.0], (2 * WAYPOINTS, 1)), best, argmax=argmax)
