"""BO along variables that are chosen anew for every point, the others filled in: what HSIC and dropout share."""

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

import vsbo
from benchmarks.methods.engine import VANILLA_PAPER, Engine
from benchmarks.methods.method import Array, Report

#: From X (n, D) and y (n,) to the variables of the next point, 0-based and in order.
Choice = Callable[[Array, Array], tuple[int, ...]]


class Subspace(Engine):
    """vsbo's model and expected improvement on the chosen variables; the others by the "mix" rule, which gives all of
    them uniform values with `mix_probability` and otherwise those of the best point.

    The first 5 points, if they are not told, are uniform.
    """

    def __init__(self, choose: Choice, mix_probability: float, *, D: int, seed: int) -> None:
        super().__init__(replace(VANILLA_PAPER, complement="mix", mix_probability=mix_probability), D=D, seed=seed)
        self._choose = choose

    def ask(self) -> Array:
        """Choose, then ask the optimizer whose state has these variables as its active ones."""
        began, state = perf_counter(), self.optimizer.state
        chosen: tuple[int, ...] | None = None
        if state.best is not None and state.next_number >= state.config.n_initial:
            chosen = self._choose(state.data.X, state.data.values)
            if chosen != state.active:
                # Other variables are another model: where the last fit ended says nothing about it.
                config = replace(state.config, variables=chosen)
                state = replace(state, config=config, active=chosen, theta=None)
                self.optimizer = vsbo.Optimizer.from_state(state)
        spent = perf_counter() - began
        x = super().ask()
        self._report = Report(chosen, self._report.phases | {"selection": spent})
        return x


def ordered(variables: NDArray[np.intp]) -> tuple[int, ...]:
    """As a Choice returns them."""
    return tuple(sorted(int(j) for j in variables))
