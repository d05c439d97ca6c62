"""The groups of a model with all their functions, and how large and smooth each is: drawn together with the noise.

The walk knows of each effect one of a few lambdas, and of f no more than six functions a variable; intervals would be as
sure as if both were known. Here, for the groups of a visited model,

    beta | lambda, s, y   normal;      (amplitude, decay) of a group | its beta   on a fine grid;      s | beta, y

are drawn in turn (Gibbs). Products of all columns are made once for each v; a round costs one factorization.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from vsbo.arrays import Array
from vsbo.explain.sparse import Key, Rotation
from vsbo.linalg import cholesky, solve_lower

#: lambda = amplitude decay^degree / sum decay^degree, each combination as likely as any other.
AMPLITUDES = tuple(float(a) for a in np.geomspace(0.003, 1.5, 10))
DECAYS = (0.05, 0.15, 0.3, 0.45, 0.6, 0.75, 0.9)
#: s is at least this part of the variance of y: what ten functions leave of a kink is larger.
LEAST_NOISE = 1e-6
#: Products of a pair here: functions (a, b) of the first so many of each.
FINE_FIRST = 8
FINE_PAIR = tuple((a, b) for a in range(FINE_FIRST) for b in range(FINE_FIRST) if a + b < FINE_FIRST)
#: A coefficient that the data could shrink by less than this part is drawn from its prior: many, where f is smooth.
SILENT = 1e-3


class Columns:
    """All columns of the groups that any of the models has. keys; part: where the columns of a key are; U (m, Q)."""

    def __init__(self, rotation: Rotation, values: Mapping[int, Array], ordered: Array, keys: Sequence[Key]) -> None:
        """values: (n, r) of all functions of each variable that is in a key; ordered (D,)."""
        self.rotation, self.keys = rotation, tuple(keys)
        blocks, degrees, self.functions = [np.empty((len(rotation.E), 0))], [], {}
        for key in self.keys:
            sizes = [values[j].shape[1] for j in key]
            every = np.ndindex(sizes[0]) if len(key) == 1 else FINE_PAIR
            which = np.array([one for one in every if all(a < size for a, size in zip(one, sizes, strict=True))])
            block = values[key[0]][:, which[:, 0]]
            blocks.append(block if len(key) == 1 else block * values[key[1]][:, which[:, 1]])
            # The functions of a choice without order are as likely as each other.
            degrees.append(which.sum(axis=1) * (1.0 if len(key) == 2 or ordered[key[0]] else 0.0))
            self.functions[key] = which
        ends = np.cumsum([block.shape[1] for block in blocks])
        self.part = {key: np.arange(ends[i], ends[i + 1]) for i, key in enumerate(self.keys)}
        self.U = rotation.E.T @ np.concatenate(blocks, axis=1)
        self.lambdas = {key: _lambdas(degree) for key, degree in zip(self.keys, degrees, strict=True)}
        self._products: dict[int, tuple[Array, Array, float]] = {}

    def products(self, spread: int) -> tuple[Array, Array, float]:
        """U' W U (Q, Q), U' W y (Q,) and y' W y, W = s B^-1, which is the same for all s."""
        if spread not in self._products:
            W = self.rotation.weights(spread)
            WU, y = self.U * W[:, None], self.rotation.y
            self._products[spread] = self.U.T @ WU, y @ WU, float(y @ (W * y))
        return self._products[spread]


def _lambdas(degree: Array) -> Array:
    """(combinations, r)."""
    powers = np.array(DECAYS)[:, None] ** degree
    powers /= powers.sum(axis=1, keepdims=True)
    return np.concatenate([amplitude * powers for amplitude in AMPLITUDES])


class Chain:
    """Draws of the coefficients of some groups."""

    def __init__(self, columns: Columns, keys: Sequence[Key], variances: Sequence[float], noise: float) -> None:
        """variances: of the effects, to begin with; noise: s."""
        self.columns, self.keys, self.noise = columns, tuple(keys), noise
        self.at = np.concatenate([np.empty(0, dtype=int), *(columns.part[key] for key in keys)])
        ends = np.cumsum([0, *(len(columns.part[key]) for key in keys)])
        self.part = [np.arange(ends[i], ends[i + 1]) for i in range(len(keys))]
        # Groups padded to one width: lambda 1 where there is no column.
        r = max((len(part) for part in self.part), default=0)
        self.grid = np.ones((len(self.part), len(AMPLITUDES) * len(DECAYS), r))
        self.pad = np.full((len(self.part), r), len(self.at))
        for i, part in enumerate(self.part):
            self.grid[i, :, : len(part)] = columns.lambdas[self.keys[i]]
            self.pad[i, : len(part)] = part
        self.log_grid, self.inverse = np.log(self.grid).sum(axis=2), 1.0 / self.grid
        self.root = np.ones(len(self.at) + 1)
        start = [DECAYS.index(0.3) + len(DECAYS) * int(np.argmin(np.abs(np.log(AMPLITUDES) - np.log(v)))) for v in variances]
        self._take(np.array(start, dtype=int))

    def _take(self, chosen: Array) -> None:
        self.root[self.pad] = np.sqrt(self.grid[np.arange(len(chosen)), chosen])

    def round(self, spread: int, count: int, rng: np.random.Generator) -> Array:
        """Coefficients (count, q) given lambda and s; then new lambda and s given the first of them."""
        G, Wy, yy = self.columns.products(spread)
        root = self.root[:-1]
        draws = rng.standard_normal((count, len(root))) * root
        loud = np.flatnonzero(root**2 * np.diagonal(G)[self.at] > SILENT * self.noise)
        rest = yy
        if len(loud):
            at, l = self.at[loud], root[loud]
            G, Wy = G[np.ix_(at, at)], Wy[at]
            C = G * l * (l[:, None] / self.noise)
            C[np.arange(len(l)), np.arange(len(l))] += 1.0
            L, _ = cholesky(C)
            half = solve_lower(L, (Wy * l / self.noise)[:, None])
            draws[:, loud] = (solve_lower(L, half + rng.standard_normal((len(l), count)), transposed=True) * l[:, None]).T
            first = draws[0, loud]
            rest = max(yy - 2.0 * float(first @ Wy) + float(first @ (G @ first)), 0.0)
        squares = np.append(draws[0] ** 2, 0.0)[self.pad]
        logs = -0.5 * (self.log_grid + np.matmul(self.inverse, squares[:, :, None])[:, :, 0])
        logs -= np.log(rng.exponential(size=logs.shape))  # the largest of these is a draw (Gumbel)
        self._take(logs.argmax(axis=1))
        self.noise = min(max(0.5 * rest / rng.gamma(0.5 * len(self.columns.rotation.y)), LEAST_NOISE), 1.0)
        return draws
