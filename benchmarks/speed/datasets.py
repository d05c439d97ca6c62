"""The function and the data sets: Hartmann6 three times, scaled 1, 0.1 and 0.01, among variables without effect.

F = f(block 1) + 0.1 f(block 2) + 0.01 f(block 3), maximized on the unit cube (the paper's appendix D). A seed hides
which columns the blocks are.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from benchmarks.speed.timing import Array

_HEIGHTS = np.array([1.0, 1.2, 3.0, 3.2])
_RATES = np.array(
    [
        [10.0, 3.0, 17.0, 3.5, 1.7, 8.0],
        [0.05, 10.0, 17.0, 0.1, 8.0, 14.0],
        [3.0, 3.5, 1.7, 10.0, 17.0, 8.0],
        [17.0, 8.0, 0.05, 10.0, 0.1, 14.0],
    ]
)
_CENTERS = 1e-4 * np.array(
    [
        [1312.0, 1696.0, 5569.0, 124.0, 8283.0, 5886.0],
        [2329.0, 4135.0, 8307.0, 3736.0, 1004.0, 9991.0],
        [2348.0, 1451.0, 3522.0, 2883.0, 3047.0, 6650.0],
        [4047.0, 8828.0, 8732.0, 5743.0, 1091.0, 381.0],
    ]
)
_WEIGHTS = (1.0, 0.1, 0.01)


def hartmann6(X: Array) -> Array:
    """Hartmann's function of six variables, maximized (largest value 3.32237): (n,) for X (n, 6)."""
    distances = np.einsum("ij,nij->ni", _RATES, (X[:, None, :] - _CENTERS) ** 2)
    values: Array = np.exp(-distances) @ _HEIGHTS
    return values


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
        parts = [weight * hartmann6(X[:, block]) for weight, block in zip(_WEIGHTS, self.blocks, strict=False)]
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
