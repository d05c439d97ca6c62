"""Logs as long searches leave them, without the hours: the same events at the same places, random where a model was."""

import numpy as np

from benchmarks.speed.timing import Array
from vsbo import Config, Space, State
from vsbo.gp import Hyperparameters
from vsbo.propose import adapt, design_left, selection_due
from vsbo.selection import Step
from vsbo.state import Asked, Event, Fitted, Selected, Told, extend

#: Variables that a selection tries, and those that it keeps: as seen on Hartmann6 among 50 to 500 variables.
TRIED, KEPT = 16, 10


class Search:
    """A search of D variables that grows by an `ask` and a `tell` at a time."""

    def __init__(self, D: int, seed: int = 0) -> None:
        self.state = State.new(Space.box(D), "minimize", seed, Config())
        self._rng = np.random.default_rng(seed)

    def ask(self) -> tuple[Event, ...]:
        """What an `ask` writes."""
        before = len(self.state.log)
        if not design_left(self.state):
            self._extend(*adapt(self.state))
            if selection_due(self.state):
                self._extend(self._selected())
            self._extend(Fitted(self._theta(len(self.state.active)), 120.25, "warm", 9, 0, 0.05))
        number = self.state.next_number
        self._extend(Asked(number, self._random(self.state.D), "model", 0.05))
        return self.state.log[before:]

    def tell(self) -> tuple[Event, ...]:
        """What a `tell` writes."""
        told = Told(self.state.next_number - 1, float(self._rng.normal()))
        self._extend(told)
        return (told,)

    def _extend(self, *events: Event) -> None:
        self.state = extend(self.state, events)

    def _selected(self) -> Selected:
        D = self.state.D
        tried = [int(j) for j in self._rng.choice(D, min(TRIED, D), replace=False)]
        steps = tuple(
            Step("forward", j, float(100 - i), 1.0, i < KEPT, "it lowers the loss by 1.0") for i, j in enumerate(tried)
        )
        active = tuple(sorted(tried[:KEPT]))
        n = len(self.state.finished)
        return Selected(n, "accurate", active, self._random(D), 99.5, steps, self._theta(D), self._theta(KEPT), 2.5)

    def _theta(self, p: int) -> Hyperparameters:
        return Hyperparameters(self._random(p), 1.25, 1e-4)

    def _random(self, count: int) -> Array:
        return self._rng.random(count)
