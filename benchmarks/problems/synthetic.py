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


# Where the three are largest. Hartmann6: the root of its gradient, by Newton's method with 30 digits. Styblinski-Tang:
# the smallest root of 4 x^3 - 32 x + 5. Branin: where its square is 0 and cos(u) = -1, a point of both its boxes.
HARTMANN6_ARGMAX = np.array(
    [
        0.20168951100670542,
        0.15001069182345797,
        0.47687397422189699,
        0.27533243049405607,
        0.31165161660011324,
        0.6573005340656203,
    ]
)
STYBLINSKI_TANG_ARGMAX = -2.903534027771177
BRANIN_ARGMAX = np.array([np.pi, 2.275])


def _blocks(name: str, f: Callable[[Array], Array], bounds: Array, argmax: Array) -> Problem:
    """argmax (d,) of f; where nothing matters, the middle of the box."""
    d = len(argmax)

    def F(X: Array) -> Array:
        values: Array = sum((w * f(X[:, i * d : (i + 1) * d]) for i, w in enumerate(WEIGHTS)), np.zeros(len(X)))
        return values

    at = bounds.mean(axis=1)
    at[: 3 * d] = np.tile(argmax, 3)
    return Problem(name, F, bounds, float(F(at[None, :])[0]), frozenset(range(d)), argmax=at)


def branin50(*, wide: bool = False) -> Problem:
    """Two important variables. wide: Branin's usual box, [0, 15] along its second variable, as in the authors' program.

    The text has [0, 10]. The maximum is the same, and one more point attains it in the wide box.
    """
    block = [[-5.0, 10.0], [0.0, 15.0 if wide else 10.0]]
    bounds = np.vstack([np.array(block * 3), np.tile([0.0, 1.0], (44, 1))])
    return _blocks("Branin50-wide" if wide else "Branin50", branin, bounds, BRANIN_ARGMAX)


def hartmann6_50() -> Problem:
    """Six important variables."""
    return _blocks("Hartmann6-50", hartmann6, np.tile([0.0, 1.0], (50, 1)), HARTMANN6_ARGMAX)


def styblinski_tang4_50() -> Problem:
    """Four important variables."""
    bounds = np.tile([-5.0, 5.0], (50, 1))
    return _blocks("Styblinski-Tang4-50", styblinski_tang, bounds, np.full(4, STYBLINSKI_TANG_ARGMAX))
