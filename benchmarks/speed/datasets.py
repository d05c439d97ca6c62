"""The function and the data sets: Hartmann6 three times, scaled 1, 0.1 and 0.01, among variables without effect.

F = f(block 1) + 0.1 f(block 2) + 0.01 f(block 3), maximized on the unit cube (the paper's appendix D). A seed hides
which columns the blocks are.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from benchmarks.problems.synthetic import WEIGHTS, hartmann6
from benchmarks.speed.timing import Array


@dataclass(frozen=True)
class EmbeddedHartmann:
    """The function of D variables; where D is too small for three blocks, as many as there is room for."""

    D: int
    seed: int

    @cached_property
    def blocks(self) -> tuple[tuple[int, ...], ...]:
        """The columns of each block, the most important one first."""
        columns = np.random.default_rng(self.seed).permutation(self.D).tolist()
        return tuple(tuple(columns[6 * b : 6 * b + 6]) for b in range(min(3, self.D // 6)))

    def values(self, X: Array) -> Array:
        """F (n,) at X (n, D)."""
        parts = [weight * hartmann6(X[:, block]) for weight, block in zip(WEIGHTS, self.blocks, strict=False)]
        total: Array = np.sum(parts, axis=0)
        return total

    def __call__(self, x: Array) -> float:
        """F at x (D,)."""
        return float(self.values(x[None, :])[0])


@dataclass(frozen=True, eq=False)
class DataSet:
    """X (n, D), y (n,) in the order of evaluation, and the six columns that matter most."""

    name: str
    X: Array
    y: Array
    important: tuple[int, ...]

    @property
    def z(self) -> Array:
        """The values, standardized with n - 1."""
        return standardized(self.y)


def standardized(y: Array) -> Array:
    """Mean 0, deviation 1 (with n - 1)."""
    z: Array = (y - y.mean()) / y.std(ddof=1)
    return z


def uniform(n: int, D: int, seed: int) -> DataSet:
    """As a run's design: uniform points."""
    f = EmbeddedHartmann(D, seed)
    X = np.random.default_rng([seed, 1]).random((n, D))
    return DataSet(f"uniform, seed {seed}", X, f.values(X), f.blocks[0])


def concentrated(n: int, D: int, seed: int) -> DataSet:
    """As late in a run: the second half near the best points so far, each at a deviation of 0.1 in every variable."""
    f = EmbeddedHartmann(D, seed)
    rng = np.random.default_rng([seed, 2])
    X, y = np.empty((n, D)), np.empty(n)
    for i in range(n):
        if i < n // 2:
            x = rng.random(D)
        else:
            leader = rng.choice(np.argsort(-y[:i])[:5])
            x = np.clip(X[leader] + rng.normal(0.0, 0.1, D), 0.0, 1.0)
        X[i], y[i] = x, f(x)
    return DataSet(f"concentrated, seed {seed}", X, y, f.blocks[0])


def like_a_run(seeds: int, n: int = 200, D: int = 50) -> list[DataSet]:
    """Both kinds, for each seed."""
    return [make(n, D, seed) for seed in range(seeds) for make in (uniform, concentrated)]
