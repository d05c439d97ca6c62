"""Ax's `Client` with its default generation strategy; foreign points are attached as completed trials."""

import logging

import numpy as np
from ax.api.client import Client
from ax.api.configs import RangeParameterConfig
from ax.utils.common.logger import set_ax_logger_levels

from . import Array, Start, names


class Ax:
    """Its Sobol start and its centre point are switched off; the told points take their place.

    The client's own seed is left out: it would restart the generators at each ask, and torch's is seeded anyway.
    """

    def __init__(self, *, D: int, seed: int, budget: int) -> None:
        set_ax_logger_levels(logging.WARNING)
        self._names = names(D)
        self._client = Client()
        self._client.configure_experiment(
            [RangeParameterConfig(name=name, parameter_type="float", bounds=(0.0, 1.0)) for name in self._names]
        )
        self._client.configure_optimization(objective="y")
        self._client.configure_generation_strategy(
            initialization_budget=0, initialize_with_center=False, initialization_random_seed=seed
        )
        self._trial: int | None = None

    def ask(self) -> Array:
        """A running trial's parameters."""
        ((self._trial, values),) = self._client.get_next_trials(max_trials=1).items()
        return np.array([values[name] for name in self._names])

    def tell(self, x: Array, y: float) -> None:
        """Complete the running trial, or attach one."""
        trial, self._trial = self._trial, None
        if trial is None:
            trial = self._client.attach_trial(dict(zip(self._names, x.tolist(), strict=True)))
        self._client.complete_trial(trial, raw_data={"y": y})


METHODS: dict[str, Start] = {"ax": Ax}
