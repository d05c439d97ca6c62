"""Dragonfly's `maximise_function` with its defaults, from its own loop.

Its ask/tell mode neither sets the next model before a point nor builds new ones, so the loop is what is measured.
The shared initial points are given to it as previous evaluations, and it then makes no design of its own.

It fits new models every 17 evaluations only. With the defaults that takes 500 s of CPU time at D = 50 and n = 5, most
of it for the additive model; `dragonfly-ml` takes 50 s.
"""

from argparse import Namespace
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from dragonfly import maximise_function

from . import Array, Start
from .inside_out import InsideOut


class Dragonfly:
    """options: further ones of Dragonfly's."""

    def __init__(self, options: dict[str, Any], *, D: int, seed: int, budget: int) -> None:
        self._options, self._D, self._budget = options, D, budget
        self._foreign: list[Namespace] = []
        self._loop = InsideOut(self._run)
        self._began = False

    def _run(self, f: Callable[[Array], float]) -> None:
        previous = Namespace(qinfos=self._foreign) if self._foreign else None
        maximise_function(
            lambda x: f(np.asarray(x, dtype=np.float64)),
            [[0.0, 1.0]] * self._D,
            self._budget,
            options=Namespace(prev_evaluations=previous, **self._options),
            reporter="silent",
        )

    def ask(self) -> Array:
        """From the loop."""
        self._began = True
        return np.clip(self._loop.ask(), 0.0, 1.0)

    def tell(self, x: Array, y: float) -> None:
        """To the loop, or kept for its start."""
        if self._began:
            self._loop.tell(y)
        else:
            self._foreign.append(Namespace(point=x, val=y))


#: Hyper-parameters by maximum likelihood instead of sampling, and one random grouping of each size for the additive
#: model instead of 25.
LIGHT = {"gpb_hp_tune_criterion": "ml", "gpb_hp_tune_probs": "uniform", "num_groups_per_group_size": 1}

METHODS: dict[str, Start] = {"dragonfly": partial(Dragonfly, {}), "dragonfly-ml": partial(Dragonfly, LIGHT)}
