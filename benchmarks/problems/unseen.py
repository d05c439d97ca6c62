"""Functions written after the default was settled, of kinds that no other problem has: steps, cliffs, kinks, a network.

`Config()` as it was then was not chosen by them; Schwefel20 and Kinks50 had a small part in a screening since. All live
on the unit cube, and their optima are placed as those of `held_out.py`; Schwefel's alone cannot be moved, and is near
the upper bounds.
"""

from collections.abc import Callable

import numpy as np

from benchmarks.problems.held_out import drawn, placed
from benchmarks.problems.problem import Array, Problem

#: Schwefel's maximum is here in every variable, of -500 to 500.
SCHWEFEL_AT = 420.96874636


def griewank100() -> Problem:
    """All of a hundred variables: a bowl, 1200 units wide, whose waves are too small to see from afar."""
    roots = np.sqrt(np.arange(1, 101))
    return placed(
        "Griewank100",
        lambda z: np.prod(np.cos(z / roots), axis=1) - 1.0 - np.sum(z**2, axis=1) / 4000.0,
        100,
        100,
        1200.0,
    )


def schwefel20() -> Problem:
    """A sum over twenty variables, each with many modes, the two best ones 700 of its 1000 units apart."""

    def values(X: Array) -> Array:
        x = 1000.0 * np.asarray(X) - 500.0
        total: Array = np.sum(x * np.sin(np.sqrt(np.abs(x))), axis=1)
        return total

    argmax = np.full(20, 0.5 + SCHWEFEL_AT / 1000.0)
    return Problem(
        "Schwefel20",
        values,
        np.tile([0.0, 1.0], (20, 1)),
        float(values(argmax[None])[0]),
        frozenset(range(20)),
        argmax=argmax,
    )


def steps40() -> Problem:
    """Plateaus only: eight variables of forty go down in eighths of their range, and all of them, a tenth as much, in
    quarters. There is no slope anywhere.
    """

    def f(z: Array) -> Array:
        steps: Array = -np.floor(8.0 * np.abs(z[:, :8])).sum(axis=1) - 0.1 * np.floor(4.0 * np.abs(z)).sum(axis=1)
        return steps

    return placed("Steps40", f, 40, 40, 1.0)


def cliff60() -> Problem:
    """A bowl of sixty variables that ends at a plane: beyond it all values are lower by 10,000, as by a penalty."""
    across = drawn("Cliff60 across").standard_normal(60) / np.sqrt(60.0)

    def f(z: Array) -> Array:
        values: Array = np.where(z @ across > 0.3, -1e4, 0.0) - np.sum(z**2, axis=1)
        return values

    return placed("Cliff60", f, 60, 60, 1.0)


def ridges80() -> Problem:
    """A network of twenty units whose eighty inputs are the variables: each unit a ridge across a random direction."""
    rng = drawn("Ridges80")
    directions, heights = rng.standard_normal((80, 20)) * (3.0 / np.sqrt(80.0)), rng.lognormal(0.0, 1.0, 20)
    return placed("Ridges80", lambda z: np.exp(-((z @ directions) ** 2)) @ heights, 80, 80, 2.0)


def chain90() -> Problem:
    """All of ninety variables, each tied to its neighbours, with small waves along each."""

    def f(z: Array) -> Array:
        bowl = np.sum(z**2, axis=1) + 2.0 * np.sum(np.diff(z, axis=1) ** 2, axis=1)
        values: Array = -bowl - 0.5 * np.sum(1.0 - np.cos(8.0 * z), axis=1)
        return values

    return placed("Chain90", f, 90, 90, 1.0)


def kinks50() -> Problem:
    """The farthest of fifty variables decides, ten of them five times as much as the others: kinks everywhere."""
    weights = np.r_[np.ones(10), np.full(40, 0.2)]

    def f(z: Array) -> Array:
        away = np.abs(z)
        values: Array = -np.max(weights * away, axis=1) - 0.05 * away.sum(axis=1)
        return values

    return placed("Kinks50", f, 50, 50, 1.0)


def pairs10_2000() -> Problem:
    """A quadratic of five pairs of variables among two thousand."""
    return placed(
        "Pairs10-2000",
        lambda z: -np.sum(z**2, axis=1) - np.sum(z[:, ::2] * z[:, 1::2], axis=1),
        2000,
        10,
        1.0,
    )


UNSEEN: dict[str, Callable[[], Problem]] = {
    "Griewank100": griewank100,
    "Schwefel20": schwefel20,
    "Steps40": steps40,
    "Cliff60": cliff60,
    "Ridges80": ridges80,
    "Chain90": chain90,
    "Kinks50": kinks50,
    "Pairs10-2000": pairs10_2000,
}
