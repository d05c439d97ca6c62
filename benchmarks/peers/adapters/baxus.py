"""BAxUS (trust region in a growing, axis-aligned embedding), from its own loop.

It knows points of its embedding only, so the shared initial points cannot be told: they are ignored, and its own
design, as many points of the embedding, comes out of the budget.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from baxus.baxus import BAxUS
from baxus.benchmarks.benchmark_function import Benchmark
from baxus.util import gp_utils, projections

from . import Array, Start
from .inside_out import InsideOut


class Objective(Benchmark):  # type: ignore[misc]  # untyped package
    """Minimizes what `f` maximizes, over the unit cube."""

    def __init__(self, D: int, f: Callable[[Array], float]) -> None:
        super().__init__(dim=D, lb=np.zeros(D), ub=np.ones(D), noise_std=0.0)
        self._f = f

    def __call__(self, x: Array) -> float:
        """At x (D,)."""
        return -self._f(np.asarray(x, dtype=np.float64))


class Baxus:
    """With the package's defaults; target_dim is only where it starts to look for its first dimension."""

    def __init__(self, *, D: int, seed: int, budget: int) -> None:
        _seed_the_unseeded(seed)
        self._D, self._budget, self._foreign = D, budget, 0
        self._loop = InsideOut(self._run)
        self._began = False

    def _run(self, f: Callable[[Array], float]) -> None:
        n_initial = max(2, min(self._foreign, self._budget - 1))
        BAxUS(
            f=Objective(self._D, f), target_dim=1, n_init=n_initial, max_evals=self._budget, run_dir="baxus"
        ).optimize()

    def ask(self) -> Array:
        """From the loop."""
        self._began = True
        return np.clip(self._loop.ask(), 0.0, 1.0)

    def tell(self, x: Array, y: float) -> None:
        """To the loop; of the foreign points only the number is used."""
        if self._began:
            self._loop.tell(y)
        else:
            self._foreign += 1


def _seed_the_unseeded(seed: int) -> None:
    """Two generators that the package makes without a seed, and offers no way to seed, draw theirs from here."""
    seeds = np.random.default_rng(seed)
    random_state, latin_hypercube = np.random.RandomState, gp_utils.qmc.LatinHypercube

    def state(_: Any = None) -> np.random.RandomState:
        return random_state(int(seeds.integers(2**31)))

    def hypercube(d: int) -> Any:
        return latin_hypercube(d=d, seed=int(seeds.integers(2**31)))

    projections.RandomState = state
    gp_utils.qmc.LatinHypercube = hypercube


METHODS: dict[str, Start] = {"baxus": Baxus}
