"""HEBO with its defaults, which begin with D + 1 points: the told ones, then Sobol points.

That start stays on: fitted to fewer points its GP diverges (noise of size 1/n in the gradient steps, seen at D = 50
for n = 5 to 30), and HEBO then goes on with random predictions without a word.
"""

import numpy as np
import pandas as pd
from hebo.design_space.design_space import DesignSpace
from hebo.optimizers.hebo import HEBO

from . import Array, Start, names


class Hebo:
    """Minimizes -y. It has no seed but that of its Sobol points: the rest draws from the global generators."""

    def __init__(self, *, D: int, seed: int, budget: int) -> None:
        self._names = names(D)
        space = DesignSpace().parse([{"name": name, "type": "num", "lb": 0.0, "ub": 1.0} for name in self._names])
        self._hebo = HEBO(space, scramble_seed=seed)

    def ask(self) -> Array:
        """One suggestion."""
        x: Array = self._hebo.suggest(n_suggestions=1)[self._names].to_numpy(dtype=np.float64)[0]
        return x

    def tell(self, x: Array, y: float) -> None:
        """Takes any point."""
        self._hebo.observe(pd.DataFrame([x], columns=self._names), np.array([[-y]]))


METHODS: dict[str, Start] = {"hebo": Hebo}
