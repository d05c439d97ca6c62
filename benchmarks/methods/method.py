"""What a method is: ask and tell on the unit cube, maximizing."""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Spent:
    """What one call cost the optimizer's own process: wall clock and CPU seconds, and its peak memory so far in MB."""

    wall: float
    cpu: float
    memory: float


@dataclass(frozen=True)
class Report:
    """What a method tells of its last ask: the variables it worked on, if it selects; seconds by phase."""

    selected: tuple[int, ...] | None = None
    phases: dict[str, float] = field(default_factory=dict)


class Method(Protocol):
    """An optimizer of D variables in [0, 1]; larger values are better.

    The runner tells the shared initial points before it asks the first time, so `tell` takes points that were never
    asked for. Then ask and tell alternate. Given the same seed and values, a method asks for the same points. One that
    knows what to do with a failed evaluation has an attribute `takes_failures`, which is true: it is told NaN.
    """

    def ask(self) -> Array:
        """The next point (D,), in [0, 1]."""
        ...

    def tell(self, x: Array, y: float) -> None:
        """The value y at x (D,)."""
        ...

    def report(self) -> Report:
        """Of the last ask."""
        ...


class Factory(Protocol):
    """Makes a method. budget: how often it will be asked; some methods plan with it."""

    def __call__(self, *, D: int, seed: int, budget: int) -> Method:
        """For D variables."""
        ...
