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

#: Rounds of a climb at most, and changes looked at in one: of more, some are drawn.
MOST_ROUNDS, MOST_CHANGES = 30, 512
#: How many of a round's best changes are tried together: one at a time takes as many rounds as there are changes.
TOGETHER = (1, 2, 4, 8, 16)
#: What a change must bring, in units of the acquisition: that much of log-EI is lost in polishing, too.
LEAST_GAIN = 1e-3


@dataclass(frozen=True, eq=False)
class Lattice:
    """places: of each of d variables where its values stand in the cube, ascending; None if it is searched as a real
    one. No more than `reach` of those with places may be elsewhere than in the center (d,), if there is one.
    """

    places: tuple[Array | None, ...]
    center: Array | None = None
    reach: int = 0

    def near(self, center: Array, share: float) -> "Lattice":
        """The same, where only a share of these variables, and one at least, may leave the center (d,)."""
        return replace(self, center=center, reach=max(1, round(share * len(self.columns))))

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

    def climb(
        self, values_at: Callable[[Array], Array], z: Array, value: float, rng: np.random.Generator
    ) -> tuple[Array, float]:
        """z (d,) after changes of these variables, each uphill, and the value there; values_at: (k,) at Z (k, d)."""
        for _ in range(MOST_ROUNDS):
            columns, places = self._changes(z, rng)
            if not len(columns):
                break
            Z = np.tile(z, (len(columns), 1))
            Z[np.arange(len(Z)), columns] = places
            order = np.argsort(-values_at(Z), kind="stable")
            _, first = np.unique(columns[order], return_index=True)  # of each variable its best change
            best = order[np.sort(first)]
            tried = [z.copy() for count in TOGETHER if count <= len(best)]
            for count, z_tried in zip(TOGETHER, tried, strict=False):
                z_tried[columns[best[:count]]] = places[best[:count]]
            kept = np.array([z_tried for z_tried in tried if self._within_reach(z_tried)])
            if not len(kept):
                break
            values = values_at(kept)
            if not values.max() > value + LEAST_GAIN:  # NaN and infinities end it, too
                break
            z, value = kept[np.argmax(values)], float(values.max())
        return z, value

    def _changes(self, z: Array, rng: np.random.Generator) -> tuple[Any, Array]:
        """Changes of one variable: which, and to what place; both (c,)."""
        columns, places = self._values
        possible = places != z[columns]
        if self.center is not None and (z != self.center)[self.columns].sum() >= self.reach:
            possible &= (z != self.center)[columns]  # back, or elsewhere
        changes = np.flatnonzero(possible)
        if len(changes) > MOST_CHANGES:
            changes = rng.choice(changes, MOST_CHANGES, replace=False)
        return columns[changes], places[changes]

    def _within_reach(self, z: Array) -> bool:
        return self.center is None or bool((z != self.center)[self.columns].sum() <= self.reach)
