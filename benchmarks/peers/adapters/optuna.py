"""Optuna's samplers, through `Study.ask` and `Study.tell`; foreign points are added as finished trials."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import optuna

from . import Array, Start, names


class Optuna:
    """sampler: made at the first ask, with as many start-up trials as values were told, so that it adds none."""

    takes_failures = True

    def __init__(self, sampler: Callable[..., Any], *, D: int, seed: int, budget: int) -> None:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._sampler, self._seed = sampler, seed
        self._space: dict[str, optuna.distributions.BaseDistribution] = {
            name: optuna.distributions.FloatDistribution(0.0, 1.0) for name in names(D)
        }
        self._study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed))
        self._began = False
        self._asked: Any = None

    def ask(self) -> Array:
        """A running trial's parameters."""
        if not self._began:
            told = len(self._study.get_trials(deepcopy=False, states=[optuna.trial.TrialState.COMPLETE]))
            self._study.sampler = self._sampler(n_startup_trials=told, seed=self._seed)
            self._began = True
        self._asked = self._study.ask(self._space)
        return np.array([self._asked.params[name] for name in self._space])

    def tell(self, x: Array, y: float) -> None:
        """Finish the running trial, or add a finished one."""
        failed = bool(np.isnan(y))
        value, state = None if failed else y, getattr(optuna.trial.TrialState, "FAIL" if failed else "COMPLETE")
        if self._asked is not None:
            self._study.tell(self._asked, value, state)
            self._asked = None
        else:
            params = dict(zip(self._space, x.tolist(), strict=True))
            known = optuna.create_trial(params=params, distributions=self._space, value=value, state=state)
            self._study.add_trial(known)


METHODS: dict[str, Start] = {
    "optuna-tpe": partial(Optuna, optuna.samplers.TPESampler),
    "optuna-gp": partial(Optuna, optuna.samplers.GPSampler),
}
