"""SMAC3's facade for hyper-parameters (random forest, log-EI), the one its authors advise for many variables."""

import math
from pathlib import Path
from typing import Any

import numpy as np
from ConfigSpace import Configuration, ConfigurationSpace
from smac import HyperparameterOptimizationFacade, Scenario
from smac.runhistory import TrialInfo, TrialValue

from . import Array, Start, names

#: The seed of every trial of a deterministic scenario: told with another, SMAC evaluates the point again.
TRIAL_SEED = 0


class Smac:
    """Minimizes -y. Its Sobol design (a quarter of the budget) is switched off; the told points take its place."""

    def __init__(self, *, D: int, seed: int, budget: int) -> None:
        self._space = ConfigurationSpace(space=dict.fromkeys(names(D), (0.0, 1.0)), seed=seed)
        scenario = Scenario(
            self._space,
            deterministic=True,
            # More than it will be asked for: the told points count too.
            n_trials=2 * budget + 1000,
            seed=seed,
            output_directory=Path("smac"),
        )
        design = HyperparameterOptimizationFacade.get_initial_design(scenario, n_configs=0)
        self._smac = HyperparameterOptimizationFacade(scenario, initial_design=design, logging_level=False)
        self._asked: Any = None

    def ask(self) -> Array:
        """The next trial's configuration."""
        self._asked = self._smac.ask()
        return np.array([self._asked.config[name] for name in self._space])

    def tell(self, x: Array, y: float) -> None:
        """Of the running trial, or a trial of our own."""
        info = self._asked
        if info is None:
            values = dict(zip(self._space, x.tolist(), strict=True))
            info = TrialInfo(Configuration(self._space, values=values), seed=TRIAL_SEED)
        self._smac.tell(info, TrialValue(cost=-y if math.isfinite(y) else math.inf), save=False)
        self._asked = None


METHODS: dict[str, Start] = {"smac": Smac}
