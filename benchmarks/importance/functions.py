"""Functions whose Sobol indices are known: sums of centred effects and of their products.

An effect is one of seven shapes with random constants, none of which is a polynomial of low degree by construction but
the line and the parabola; it is centred and scaled to variance 1 numerically, so the indices are the squared weights.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from vsbo.arrays import Array

Shape = Callable[[Array], Array]

#: Midpoints at which effects are centred and scaled.
NODES = (np.arange(4000) + 0.5) / 4000
#: The largest variance of an effect is at most so many times the smallest.
RANGE = 10.0
KINDS = ("additive", "interacting")


@dataclass(frozen=True, eq=False)
class Function:
    """f on [0, 1]^D. shares (D,): total Sobol indices; variance of f is 1. parts: (weight, variables, shapes)."""

    D: int
    parts: tuple[tuple[float, tuple[int, ...], tuple[Shape, ...]], ...]

    def __call__(self, X: Array) -> Array:
        """f (n,) at X (n, D)."""
        total = np.zeros(len(X))
        for weight, variables, shapes in self.parts:
            product = np.full(len(X), weight)
            for j, shape in zip(variables, shapes, strict=True):
                product = product * shape(X[:, j])
            total += product
        return total

    @property
    def relevant(self) -> tuple[int, ...]:
        """The variables with an effect."""
        return tuple(sorted({j for _, variables, _ in self.parts for j in variables}))

    @property
    def shares(self) -> Array:
        """Total Sobol indices (D,)."""
        shares = np.zeros(self.D)
        for weight, variables, _ in self.parts:
            shares[list(variables)] += weight**2
        return shares

    def local_shares(self, center: Array, reach: float, rng: np.random.Generator, count: int = 20_000) -> Array:
        """Total indices (D,) within `reach` of a point, inside the cube, by Jansen's estimator."""
        low, high = np.maximum(center - reach, 0.0), np.minimum(center + reach, 1.0)
        X = low + (high - low) * rng.random((count, self.D))
        y, shares = self(X), np.zeros(self.D)
        for j in self.relevant:
            kept = X[:, j].copy()
            X[:, j] = low[j] + (high[j] - low[j]) * rng.random(count)
            shares[j] = 0.5 * np.mean((y - self(X)) ** 2) / np.var(y)
            X[:, j] = kept
        return shares


def draw(kind: str, D: int, seed: int) -> Function:
    """A random function: 3 to 8 effects; "interacting": and two or three pairs, one with a variable that has no other
    effect. A quarter of the variance is the pairs' then.
    """
    rng = np.random.default_rng([seed, D, KINDS.index(kind)])
    k = int(rng.integers(3, 9))
    variables = rng.choice(D, k + 1, replace=False).tolist()
    variances = RANGE ** rng.random(k)
    parts: list[tuple[float, tuple[int, ...], tuple[Shape, ...]]] = [
        (float(v), (j,), (_shape(rng),)) for v, j in zip(variances, variables[:k], strict=True)
    ]
    if kind == "interacting":
        pairs = [*pairwise(variables[: int(rng.integers(2, 4))]), (variables[0], variables[k])]
        weights = RANGE ** rng.random(len(pairs))
        weights *= variances.sum() / 3.0 / weights.sum()
        parts += [(float(w), pair, (_shape(rng), _shape(rng))) for w, pair in zip(weights, pairs, strict=True)]
    total = sum(variance for variance, _, _ in parts)
    return Function(D, tuple((float(np.sqrt(variance / total)), where, what) for variance, where, what in parts))


def _shape(rng: np.random.Generator) -> Shape:
    sign, c, u = rng.choice([-1.0, 1.0]), rng.random(), rng.random()
    raw: list[Shape] = [
        lambda x: x,
        lambda x: (x - c) ** 2,
        lambda x: np.sin(2.0 * np.pi * ((0.5 + u) * x + c)),
        lambda x: np.exp((1.0 + 2.0 * u) * x),
        lambda x: np.abs(x - c),
        lambda x: 1.0 / (1.0 + np.exp(-(10.0 + 10.0 * u) * (x - 0.25 - 0.5 * c))),
        lambda x: np.exp(-0.5 * ((x - c) / (0.15 + 0.15 * u)) ** 2),
    ]
    chosen = raw[int(rng.integers(len(raw)))]
    values = chosen(NODES)
    mean, deviation = float(values.mean()), float(values.std())
    return lambda x: sign * (chosen(x) - mean) / deviation
