"""Functions on which no constant of the default was tuned: few variables or all, one mode or many, flat or steep.

All live on the unit cube. Their optima are drawn once, by the name, between 0.1 and 0.9 of each range: neither the
middle nor a corner is special.
"""

from collections.abc import Callable
from zlib import crc32

import numpy as np

from benchmarks.problems.problem import Array, Problem


def drawn(name: str) -> np.random.Generator:
    """Chance that is the same for a name wherever and whenever it is asked for."""
    return np.random.default_rng(crc32(name.encode()))


def placed(name: str, f: Callable[[Array], Array], D: int, d: int, width: float) -> Problem:
    """f (k, d) -> (k,), largest at 0, as a function of the first d of D variables: over `width` of its own units."""
    optimum = drawn(name).uniform(0.1, 0.9, D)
    return Problem(
        name,
        lambda X: f(width * (np.asarray(X)[:, :d] - optimum[:d])),
        np.tile([0.0, 1.0], (D, 1)),
        float(f(np.zeros((1, d)))[0]),
        frozenset(range(d)),
        argmax=optimum,
    )


def ackley10_100() -> Problem:
    """Ten variables of a hundred; a funnel with many small modes, 20 units wide."""

    def f(z: Array) -> Array:
        bowl = 20.0 * np.exp(-0.2 * np.sqrt(np.mean(z**2, axis=1)))
        values: Array = bowl + np.exp(np.mean(np.cos(2.0 * np.pi * z), axis=1)) - 20.0 - np.e
        return values

    return placed("Ackley10-100", f, 100, 10, 20.0)


def levy100() -> Problem:
    """All of a hundred variables; a bowl with waves, 10 units wide."""

    def f(z: Array) -> Array:
        w = 1.0 + z / 4.0
        first = np.sin(np.pi * w[:, 0]) ** 2
        middle = np.sum((w[:, :-1] - 1.0) ** 2 * (1.0 + 10.0 * np.sin(np.pi * w[:, :-1] + 1.0) ** 2), axis=1)
        last = (w[:, -1] - 1.0) ** 2 * (1.0 + np.sin(2.0 * np.pi * w[:, -1]) ** 2)
        values: Array = -(first + middle + last)
        return values

    return placed("Levy100", f, 100, 100, 10.0)


def rosenbrock50() -> Problem:
    """All of fifty variables, each tied to the next; -log10(1 + Rosenbrock), 4 units wide."""

    def f(z: Array) -> Array:
        w = 1.0 + z
        values: Array = np.sum(100.0 * (w[:, 1:] - w[:, :-1] ** 2) ** 2 + (1.0 - w[:, :-1]) ** 2, axis=1)
        return -np.log10(1.0 + values)

    return placed("Rosenbrock50", f, 50, 50, 4.0)


def rastrigin5_60() -> Problem:
    """Five variables of sixty, about four modes along each: 4 units wide."""

    def f(z: Array) -> Array:
        values: Array = -np.sum(10.0 + z**2 - 10.0 * np.cos(2.0 * np.pi * z), axis=1)
        return values

    return placed("Rastrigin5-60", f, 60, 5, 4.0)


def cosines100() -> Problem:
    """A sum over a hundred variables, the j-th with the weight 1 / j: there is no line between few and many."""
    weights = 1.0 / np.arange(1, 101)
    return placed("Cosines100", lambda z: np.cos(2.0 * np.pi * z) @ weights, 100, 100, 1.0)


def exp_quadratic40() -> Problem:
    """-exp of a quadratic of forty variables: values from -1 to below -1000, so that the worst hide the others."""
    weights = drawn("weights").lognormal(0.0, 1.0, 40)
    weights *= 30.0 / weights.sum()
    return placed("ExpQuadratic40", lambda z: -np.exp(z**2 @ weights), 40, 40, 1.0)


def rank5_200() -> Problem:
    """-log10 of the distance, squared, along five random directions of two hundred variables; 3 at most."""
    directions = drawn("directions").standard_normal((200, 5)) * (4.0 / np.sqrt(200.0))
    return placed("Rank5-200", lambda z: -np.log10(1e-3 + np.sum((z @ directions) ** 2, axis=1)), 200, 200, 1.0)


HELD_OUT: dict[str, Callable[[], Problem]] = {
    "Ackley10-100": ackley10_100,
    "Levy100": levy100,
    "Rosenbrock50": rosenbrock50,
    "Rastrigin5-60": rastrigin5_60,
    "Cosines100": cosines100,
    "ExpQuadratic40": exp_quadratic40,
    "Rank5-200": rank5_200,
}
