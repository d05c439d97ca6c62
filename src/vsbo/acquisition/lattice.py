"""Variables that take few values: where these stand in the cube, and climbing from one to another.

Between two values there is nothing: a point is rounded before it is evaluated, and a maximum of the acquisition between
them is none at them. So such variables start at their values, stay there while the others are polished, and then change
one after the other, whichever brings most.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from vsbo.arrays import Array

#: Rounds of a climb at most, and changes looked at in one: of more, every second, third ... in turn.
MOST_ROUNDS, MOST_CHANGES = 30, 512
#: How many of a round's best changes are tried together: one at a time takes as many rounds as there are changes.
TOGETHER = (1, 2, 4, 8, 16)
#: What a round must bring, relative for positive values (an EI of 1e-8), absolute for logarithms near zero.
LEAST_GAIN = 1e-4


@dataclass(frozen=True, eq=False)
class Lattice:
    """places: of each of d variables where its values stand in the cube, ascending; None if it is searched as a real
    one. levels (d,): of each how many values it has if they have no order, otherwise 0; () if none is so. No more than
    `reach` of those with places may be elsewhere than in the center (d,), if there is one.
    """

    places: tuple[Array | None, ...]
    levels: tuple[int, ...] = ()
    center: Array | None = None
    reach: int = 0

    def near(self, center: Array, share: float, asked: Array) -> "Lattice":
        """The same, where only a share of these variables, and one at least, may leave the center (d,); more where all
        points so near have been asked for, asked (m, d).
        """
        reach, sizes = max(1, round(share * len(self.columns))), [len(self.places[j]) for j in self.columns]
        if len(self.columns) == len(center) and sum(sizes) - len(sizes) < len(asked):
            within = np.array([1.0])  # points that differ from the center in 0, 1, 2, ... variables
            for size in sizes:
                within = np.convolve(within, [1.0, size - 1.0])
            known = np.bincount((np.unique(asked, axis=0) != center).sum(axis=1), minlength=len(within))
            left = np.cumsum(within) > np.cumsum(known)
            reach = max(reach, int(np.argmax(left)))  # 0 where nothing is left at all
        return replace(self, center=center, reach=reach)

    @cached_property
    def columns(self) -> Any:
        """The variables that have places."""
        return np.array([j for j, places in enumerate(self.places) if places is not None], dtype=np.intp)

    @cached_property
    def _values(self) -> tuple[Any, Array]:
        """Every value of every such variable: its column (v,) and place (v,)."""
        there = [places for places in self.places if places is not None]
        return np.repeat(self.columns, [len(places) for places in there]), np.concatenate(there)

    def snap(self, Z: Array) -> Array:
        """Z (k, d) with these variables at the nearest of their places."""
        Z = Z.copy()
        for j in self.columns:
            places = self.places[j]
            Z[:, j] = places[np.searchsorted(0.5 * (places[1:] + places[:-1]), Z[:, j], side="right")]
        return Z

    def redraw(self, Z: Array, moved: Any, rng: np.random.Generator) -> Array:
        """Z (k, d), whose variables are at their places, with those that are moved (k, d) at another one, whichever."""
        Z = Z.copy()
        for j in self.columns:
            places, rows = self.places[j], np.flatnonzero(moved[:, j])
            now = np.searchsorted(places, Z[rows, j])
            Z[rows, j] = places[(now + rng.integers(1, len(places), size=len(rows))) % len(places)]
        return Z

    def thinned(self, moved: Any, rng: np.random.Generator) -> Any:
        """moved (k, d) with no more than `reach` of these variables in a row, drawn from those there are."""
        there = moved[:, self.columns]
        rank = np.where(there, rng.random(there.shape), np.inf).argsort(axis=1).argsort(axis=1)
        moved = moved.copy()
        moved[:, self.columns] = there & (rank < self.reach)
        return moved

    def widened(self, box: tuple[Array, Array]) -> tuple[Array, Array]:
        """The box, low (d,) to high (d,), without limits along these variables."""
        low, high = box[0].copy(), box[1].copy()
        low[self.columns], high[self.columns] = 0.0, 1.0
        return low, high

    def far_from(self, u: float, j: int, least: float) -> Array:
        """The other values (k,) of variable j that are `least` or more from u; all, if they have no order."""
        places = self._values[1][self._values[0] == j]
        free = bool(self.levels and self.levels[j])
        far: Array = places[(places != u) & (free | (np.abs(places - u) >= least))]
        return far

    def climb(self, values_at: Callable[[Array], Array], z: Array, value: float) -> tuple[Array, float]:
        """z (d,) after changes of these variables, each uphill, and the value there; values_at: (k,) at Z (k, d)."""
        idle = 0
        for round_ in range(MOST_ROUNDS):
            columns, places = self._changes(z)
            if not len(columns):
                break
            step = -(-len(columns) // MOST_CHANGES)
            columns, places = columns[round_ % step :: step], places[round_ % step :: step]
            Z = np.tile(z, (len(columns), 1))
            Z[np.arange(len(Z)), columns] = places
            order = np.argsort(-values_at(Z), kind="stable")
            _, first = np.unique(columns[order], return_index=True)  # of each variable its best change
            best = order[np.sort(first)]
            tried = []
            for count in TOGETHER[: 1 + int(np.searchsorted(TOGETHER[1:], len(best), side="right"))]:
                changed = z.copy()
                changed[columns[best[:count]]] = places[best[:count]]
                if self._within_reach(changed):
                    tried.append(changed)
            values = values_at(np.array(tried))
            size = value if value > 0.0 else max(-value, 1.0)
            if values.max() > value + LEAST_GAIN * size:  # not where they are NaN
                z, value, idle = tried[int(np.argmax(values))], float(values.max()), 0
            else:
                idle += 1
            if idle >= step:
                break
        return z, value

    def _changes(self, z: Array) -> tuple[Any, Array]:
        """Changes of one variable: which, and to what place; both (c,)."""
        columns, places = self._values
        possible = places != z[columns]
        if self.center is not None and (z != self.center)[self.columns].sum() >= self.reach:
            possible &= (z != self.center)[columns]  # back, or elsewhere
        return columns[possible], places[possible]

    def _within_reach(self, z: Array) -> bool:
        return self.center is None or bool((z != self.center)[self.columns].sum() <= self.reach)
