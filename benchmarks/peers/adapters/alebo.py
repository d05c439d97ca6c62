"""ALEBO (a linear embedding with a Mahalanobis kernel), by the strategy in Ax 0.3.7.

It knows points of its embedding only, so the shared initial points cannot be told: they are ignored, and its own
design, as many points of the embedding, comes out of the budget. Values are told as noise-free.
"""

import logging
from functools import partial

import numpy as np
from ax.modelbridge.strategies.alebo import ALEBOStrategy
from ax.service.ax_client import AxClient
from ax.service.utils.instantiation import ObjectiveProperties
from ax.utils.common.logger import ROOT_STREAM_HANDLER

from . import Array, Start, names


class Alebo:
    """d: the dimension of the embedding.

    A seed for its design would restart the generator at each point, and all were the same; torch's serves instead.
    """

    def __init__(self, d: int, *, D: int, seed: int, budget: int) -> None:
        ROOT_STREAM_HANDLER.setLevel(logging.WARNING)
        self._d, self._D, self._foreign = d, D, 0
        self._names = names(D)
        self._client: AxClient | None = None
        self._trial = -1

    def _start(self) -> AxClient:
        strategy = ALEBOStrategy(D=self._D, d=self._d, init_size=max(1, self._foreign))
        client = AxClient(generation_strategy=strategy, verbose_logging=False)
        client.create_experiment(
            parameters=[
                {"name": name, "type": "range", "bounds": [0.0, 1.0], "value_type": "float"} for name in self._names
            ],
            objectives={"y": ObjectiveProperties(minimize=False)},
        )
        return client

    def ask(self) -> Array:
        """A running trial's parameters."""
        if self._client is None:
            self._client = self._start()
        values, self._trial = self._client.get_next_trial()
        return np.array([values[name] for name in self._names])

    def tell(self, x: Array, y: float) -> None:
        """Of the running trial; of the foreign points only the number is used."""
        if self._client is None:
            self._foreign += 1
        else:
            self._client.complete_trial(self._trial, raw_data={"y": (y, 0.0)})


METHODS: dict[str, Start] = {"alebo": partial(Alebo, 6), "alebo-4": partial(Alebo, 4)}
