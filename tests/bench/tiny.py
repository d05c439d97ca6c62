"""Small but real problems and methods for the runner's tests; worker processes find them by `tests.bench.tiny:NAME`."""

import os
import signal
import time
from pathlib import Path

import numpy as np

from benchmarks.errors import BenchError
from benchmarks.methods.method import Array, Report, Spent
from benchmarks.problems.problem import Problem

CENTRE = np.array([0.1, 0.4, 0.8, 0.6])
WEIGHTS = np.array([1.0, 2.0, 4.0, 8.0])


def bowl() -> Problem:
    """Four variables that differ, so that a wrong order shows; each evaluation leaves a line in $TINY_LOG."""

    def values(X: Array) -> Array:
        if "TINY_LOG" in os.environ:
            with Path(os.environ["TINY_LOG"]).open("a") as log:
                log.write("evaluated\n" * len(X))
        return -((X / 10 - CENTRE) ** 2 @ WEIGHTS)

    return Problem("bowl", values, np.tile([0.0, 10.0], (4, 1)), 0.0, minimized=True)


def holey() -> Problem:
    """A bowl that has no value where its first variable is small, and an infinite one where it is large."""

    def values(X: Array) -> Array:
        y = -((X - CENTRE) ** 2 @ WEIGHTS)
        return np.where(X[:, 0] < 0.3, np.nan, np.where(X[:, 0] > 0.8, np.inf, y))

    return Problem("holey", values, np.tile([0.0, 1.0], (4, 1)), 0.0)


def nowhere() -> Problem:
    return Problem("nowhere", lambda X: np.full(len(X), np.nan), np.tile([0.0, 1.0], (4, 1)), 0.0)


class Walk:
    """Steps from the best point told; works on its variables 0 and 2, and says so."""

    def __init__(self, *, D: int, seed: int, budget: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.told: list[tuple[Array, float]] = []
        self.asked = 0

    def ask(self) -> Array:
        self.asked += 1
        best, _ = max(self.told, key=lambda pair: pair[1])
        x = best.copy()
        x[[0, 2]] += 0.1 * self.rng.standard_normal(2)
        return np.clip(x, 0.0, 1.0)

    def tell(self, x: Array, y: float) -> None:
        self.told.append((x, y))

    def report(self) -> Report:
        return Report((0, 2), {"fit": 0.25, "acquisition": 0.5})


class Slow(Walk):
    """Slow enough to be killed."""

    def ask(self) -> Array:
        time.sleep(0.03)
        return super().ask()


class Unseeded(Slow):
    """Asks for other points every time."""

    def __init__(self, *, D: int, seed: int, budget: int) -> None:
        super().__init__(D=D, seed=seed, budget=budget)
        self.rng = np.random.default_rng()


class Failing(Walk):
    def ask(self) -> Array:
        if self.asked == 2:
            raise RuntimeError("no third point; see /some/folder/of/mine/log.txt")
        return super().ask()


class Crashing(Walk):
    def ask(self) -> Array:
        if self.asked == 2:
            print("about to crash", flush=True)
            os.kill(os.getpid(), signal.SIGSEGV)
        return super().ask()


class Outside(Walk):
    def ask(self) -> Array:
        return super().ask() + 1.0


class Unmakable(Walk):
    def __init__(self, *, D: int, seed: int, budget: int) -> None:
        raise ValueError(f"D = {D} is not to my taste")


class Absent(Walk):
    def __init__(self, *, D: int, seed: int, budget: int) -> None:
        raise BenchError("needs its environment; set it up first")


class Elsewhere(Walk):
    """Like a peer: tells what its own process spends, which packages it has, and must be closed."""

    versions = {"elsewhere": "1.2.3"}  # noqa: RUF012
    spent = Spent(0.0, 0.0, 7.0)
    closed = 0

    def ask(self) -> Array:
        self.spent = Spent(10.0, 20.0, 123.0)
        return super().ask()

    def tell(self, x: Array, y: float) -> None:
        self.spent = Spent(1.0, 2.0, 123.0)
        super().tell(x, y)

    def close(self) -> None:
        type(self).closed += 1
