"""The adapters, one file a peer: they run under the peer's Python and import numpy, the peer and one another only.

A module has METHODS, which makes an optimizer by the method's name: METHODS[name](D=..., seed=..., budget=...).
An optimizer has `ask() -> x (D,)` and `tell(x, y)` on the unit cube, larger y being better. It is told the shared
initial points before the first ask. The server has seeded `random`, numpy's global generator and torch before.

The shared points are the initial design: a peer's own random start is switched off wherever it has a switch for that.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Optimizer(Protocol):
    """What the server drives."""

    def ask(self) -> Array:
        """The next point (D,)."""
        ...

    def tell(self, x: Array, y: float) -> None:
        """The value y at x (D,)."""
        ...


class Start(Protocol):
    """Makes an optimizer of D variables that will be asked `budget` times."""

    def __call__(self, *, D: int, seed: int, budget: int) -> Optimizer:
        """With every generator it has seeded by `seed`."""
        ...


def names(D: int) -> list[str]:
    """Of the variables, where a peer wants names; sorted by name they are in order."""
    return [f"x{j:05d}" for j in range(D)]
