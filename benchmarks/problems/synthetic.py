"""The paper's synthetic problems (appendix D): F = f(block 1) + 0.1 f(block 2) + 0.01 f(block 3), all maximized.

Each is a function on a box of 50 variables, of which the first block matters most and most do not matter at all.
"""

from collections.abc import Callable

import numpy as np

from benchmarks.problems.problem import Array, Problem

WEIGHTS = (1.0, 0.1, 0.01)


def branin(x: Array) -> Array:
    """Negated; x (..., 2) in [-5, 10] x [0, 10]."""
    b, c, t = 5.1 / (4 * np.pi**2), 5 / np.pi, 1 / (8 * np.pi)
    u, v = x[..., 0], x[..., 1]
    values: Array = -((v - b * u**2 + c * u - 6) ** 2 + 10 * (1 - t) * np.cos(u) + 10)
    return values


_H6_ALPHA = np.array([1.0, 1.2, 3.0, 3.2])
_H6_A = np.array(
    [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]]
)
_H6_P = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)


def hartmann6(x: Array) -> Array:
    """Negated, so that its maximum is 3.32237; x (..., 6) in the unit cube."""
    values: Array = np.exp(-np.sum(_H6_A * (x[..., None, :] - _H6_P) ** 2, axis=-1)) @ _H6_ALPHA
    return values


def styblinski_tang(x: Array) -> Array:
    """Negated; x (..., d) in [-5, 5]^d."""
    values: Array = -0.5 * np.sum(x**4 - 16 * x**2 + 5 * x, axis=-1)
    return values


def _blocks(name: str, f: Callable[[Array], Array], d: int, bounds: Array, best: float) -> Problem:
    def F(X: Array) -> Array:
        values: Array = sum((w * f(X[:, i * d : (i + 1) * d]) for i, w in enumerate(WEIGHTS)), np.zeros(len(X)))
        return values

    return Problem(name, F, bounds, best, frozenset(range(d)))


def branin50() -> Problem:
    """Two important variables."""
    bounds = np.vstack([np.array([[-5.0, 10.0], [0.0, 10.0]] * 3), np.tile([0.0, 1.0], (44, 1))])
    return _blocks("Branin50", branin, 2, bounds, -0.4416549671)


def hartmann6_50() -> Problem:
    """Six important variables."""
    return _blocks("Hartmann6-50", hartmann6, 6, np.tile([0.0, 1.0], (50, 1)), 3.6878284927)


def styblinski_tang4_50() -> Problem:
    """Four important variables."""
    return _blocks("Styblinski-Tang4-50", styblinski_tang, 4, np.tile([-5.0, 5.0], (50, 1)), 173.89777572)
