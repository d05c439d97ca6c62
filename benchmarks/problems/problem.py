"""What a benchmark problem is, and the same with its variables permuted. All problems are maximized."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Problem:
    """A function to be maximized over a box.

    values takes X (k, D) in `bounds` (D, 2) and gives (k,); `f` is the same for one point.
    best: the largest value known. important: the variables that matter, 0-based; empty where nobody knows.
    minimized: whether the literature minimizes it; tables then show -values.
    order (D,): variable j is variable order[j] of the problem before it was permuted.
    argmax (D,): a point whose value is `best` (without noise, if there is any); None where nobody knows one.
    around: a faster way to `values_around`, for problems that have one.
    """

    name: str
    values: Callable[[Array], Array]
    bounds: Array
    best: float
    important: frozenset[int] = frozenset()
    minimized: bool = False
    order: NDArray[np.intp] | None = field(default=None)
    argmax: Array | None = None
    around: Callable[[Array, NDArray[np.intp], Array], Array] | None = None

    @property
    def D(self) -> int:
        """The number of variables."""
        return len(self.bounds)

    def f(self, x: Array) -> float:
        """The value at x (D,)."""
        return float(self.values(np.asarray(x, dtype=np.float64)[None, :])[0])

    def values_around(self, x: Array, columns: NDArray[np.intp], U: Array) -> Array:
        """Values (k,) at x (D,) with its variables `columns` (m,) replaced by each row of U (k, m)."""
        if self.around is not None:
            return self.around(x, columns, U)
        # In chunks: k may be a million, and k whole points would not fit into memory.
        step = max(1, 1_000_000 // self.D)
        out = np.empty(len(U))
        for i in range(0, len(U), step):
            X = np.tile(x, (len(U[i : i + step]), 1))
            X[:, columns] = U[i : i + step]
            out[i : i + step] = self.values(X)
        return out

    @cached_property
    def _width(self) -> Array:
        width: Array = self.bounds[:, 1] - self.bounds[:, 0]
        return width

    def from_unit(self, u: Array) -> Array:
        """Points (..., D) of the unit cube in the problem's own units."""
        x: Array = np.clip(self.bounds[:, 0] + u * self._width, self.bounds[:, 0], self.bounds[:, 1])
        return x

    def original(self, x: Array) -> Array:
        """x (..., D) with its variables in the order they had before the problem was permuted."""
        if self.order is None:
            return x
        back = np.empty_like(x)
        back[..., self.order] = x
        return back


def permuted(problem: Problem, seed: int) -> Problem:
    """The same problem with its variables in an order that `seed` hides."""
    order = np.random.default_rng(seed).permutation(problem.D)
    inverse = np.argsort(order)
    around = problem.around
    return replace(
        problem,
        values=lambda X: problem.values(np.asarray(X)[:, inverse]),
        bounds=problem.bounds[order],
        important=frozenset(int(inverse[j]) for j in problem.important),
        order=order if problem.order is None else problem.order[order],
        argmax=None if problem.argmax is None else problem.argmax[order],
        around=None if around is None else lambda x, columns, U: around(x[inverse], order[columns], U),
    )
