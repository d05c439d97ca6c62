"""The models that a selection compares: one for each set of variables it looks at, fitted once."""

from collections.abc import Sequence

import numpy as np

from vsbo.arrays import Array, frozen
from vsbo.config import Config
from vsbo.gp import Fit, Hyperparameters, fit

#: Where a variable that joins a model starts: the side of the cube, neither without effect nor wild.
NEW_LENGTHSCALE = 1.0


class NestedModels:
    """Fits of X (n, D), z (n,) to some of the variables, remembered by set.

    A model starts from the authors' point and, if the set without its last variable was fitted, also from there.
    On the recorded runs the second start both misses fewer optima than a second fixed one and costs less.
    """

    def __init__(self, X: Array, z: Array, config: Config) -> None:
        self._X, self._z, self._config = X, z, config
        self._found: dict[tuple[int, ...], Fit] = {}

    def loss(self, variables: Sequence[int]) -> float:
        """The NLL of the model of these variables; the last of them is the one that joined."""
        return self.fit(variables).loss

    def fit(self, variables: Sequence[int]) -> Fit:
        """The model of these variables; its length-scales are in ascending order of the variables."""
        key = tuple(sorted(variables))
        if key not in self._found:
            smaller = self._found.get(tuple(sorted(variables[:-1])))
            warm = [] if smaller is None else [_joined(smaller.theta, key.index(variables[-1]))]
            self._found[key] = fit(self._X[:, key], self._z, self._config, warm=warm, cold=("unit",))
        return self._found[key]


def _joined(theta: Hyperparameters, at: int) -> Hyperparameters:
    scales = np.insert(theta.lengthscales, at, NEW_LENGTHSCALE)
    return Hyperparameters(frozen(scales), theta.outputscale, theta.noise)
