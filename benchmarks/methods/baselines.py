"""Methods without a model: CMA-ES, random search and a Sobol sequence."""

from typing import Any

import numpy as np
from scipy.stats import qmc

from benchmarks.errors import BenchError
from benchmarks.methods.method import Array, Report
from benchmarks.methods.streams import stream

#: CMA-ES's first step size, in units of the cube.
SIGMA = 0.25


class Random:
    """Uniform points."""

    def __init__(self, *, D: int, seed: int, budget: int) -> None:
        self._rng, self._D = stream(seed, "random"), D

    def ask(self) -> Array:
        """The next point (D,)."""
        return self._rng.random(self._D)

    def tell(self, x: Array, y: float) -> None:
        """Nothing is learned."""

    def report(self) -> Report:
        """Nothing to tell."""
        return Report()


class Sobol:
    """A scrambled Sobol sequence."""

    def __init__(self, *, D: int, seed: int, budget: int) -> None:
        self._sequence = qmc.Sobol(D, rng=stream(seed, "sobol"))

    def ask(self) -> Array:
        """The next point (D,)."""
        x: Array = self._sequence.random(1)[0]
        return x

    def tell(self, x: Array, y: float) -> None:
        """Nothing is learned."""

    def report(self) -> Report:
        """Nothing to tell."""
        return Report()


class Cma:
    """CMA-ES of the package `cma`, with its default population, started at the best point it was told of.

    A generation is given out point by point and told as a whole; after the start, points that were not asked for are
    ignored. When the package's own criteria say that it has ended, it starts again at a uniform point.
    """

    def __init__(self, *, D: int, seed: int, budget: int) -> None:
        try:
            import cma  # here: it takes 30 MB, which would count as every other method's
        except ImportError as missing:
            raise BenchError("the method 'cma' needs the package cma 4.5.0, which is not installed") from missing
        self._package: Any = cma
        self._rng, self._D = stream(seed, "cma"), D
        self._best: tuple[float, Array] | None = None
        self._strategy: Any = None
        self._generation: list[Array] = []
        self._losses: list[float] = []

    def ask(self) -> Array:
        """The next point (D,) of the generation."""
        if not self._generation:
            if self._strategy is None and self._best is not None:
                self._strategy = self._start(self._best[1])
            elif self._strategy is None or self._strategy.stop():
                self._strategy = self._start(self._rng.random(self._D))
            self._generation, self._losses = self._strategy.ask(), []
        return self._next()

    def _next(self) -> Array:
        # The package's transformation of the bounds may round beyond them.
        return np.clip(self._generation[len(self._losses)], 0.0, 1.0)

    def _start(self, x: Array) -> Any:
        options = {
            "bounds": [0.0, 1.0],
            "seed": np.nan,  # "do nothing": NumPy's global generator is not touched
            "randn": lambda *shape: self._rng.standard_normal(shape),
            "verbose": -10,  # silent, and no options read from a file of the current folder
            "verb_log": 0,
            "verb_disp": 0,
        }
        return self._package.CMAEvolutionStrategy(x, SIGMA, options)

    def tell(self, x: Array, y: float) -> None:
        """The value of the point that was asked for; before the start, of any."""
        if self._strategy is None:
            if self._best is None or y > self._best[0]:
                self._best = (y, x.copy())
        elif self._generation and np.array_equal(x, self._next()):
            self._losses.append(-y)
            if len(self._losses) == len(self._generation):
                self._strategy.tell(self._generation, self._losses)
                self._generation = []

    def report(self) -> Report:
        """Nothing to tell."""
        return Report()
