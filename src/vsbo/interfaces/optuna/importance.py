"""Our importance for Optuna's plots: each parameter's share in the model of all of them."""

from collections.abc import Callable

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.importance import BaseImportanceEvaluator
from optuna.search_space import intersection_search_space
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from vsbo.config import Config
from vsbo.errors import InputError, NumericalError
from vsbo.interfaces.optuna.axes import Axes
from vsbo.linalg import single_thread
from vsbo.models import full_model
from vsbo.optimizer import Optimizer


class VSBOImportanceEvaluator(BaseImportanceEvaluator):
    """How much each parameter matters: its share of the variation of the value, interactions included (explain.md).

    It works on the trials of any sampler. While no effect can be told for sure: shares of the average slope (Grad-IS);
    all are 0 while the values do not tell parameters apart. config: as for vsbo.Optimizer. seed: of what is drawn.
    """

    def __init__(self, *, config: Config | None = None, seed: int = 0) -> None:
        self._config, self._seed = config, seed

    def evaluate(
        self,
        study: Study,
        params: list[str] | None = None,
        *,
        target: Callable[[FrozenTrial], float] | None = None,
    ) -> dict[str, float]:
        """Shares by name, the largest first; of `params`, or of those that all completed trials have.

        target: gives a trial's value; needed where a study has several objectives.
        """
        if target is None and len(study.directions) > 1:
            raise InputError("target must say which objective counts, as target=lambda t: t.values[0]")
        trials = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        distributions = intersection_search_space(trials) if params is None else _distributions(trials, params)
        shares = {name: 0.0 for name, distribution in distributions.items()}
        several = {name: distribution for name, distribution in distributions.items() if not distribution.single()}
        if several:
            shares |= self._shares(trials, several, target or _value)
        return dict(sorted(shares.items(), key=lambda item: -item[1]))

    def _shares(
        self,
        trials: list[FrozenTrial],
        distributions: dict[str, BaseDistribution],
        target: Callable[[FrozenTrial], float],
    ) -> dict[str, float]:
        axes = Axes(distributions)
        optimizer = Optimizer(axes.space, seed=self._seed, config=self._config)
        for trial in trials:
            u = axes.unit(trial.params)
            if u is not None and np.isfinite(value := float(target(trial))):
                optimizer.add(axes.space.from_unit(u), value)
        found = optimizer.importance()
        if found.shares.any():
            return {one.name: one.share for one in found}
        return _steepness(optimizer)


def _steepness(optimizer: Optimizer) -> dict[str, float]:
    """Grad-IS (section 3.1) as shares: a ranking after a handful of trials, from which no effect can be told for sure.

    Optuna would show all parameters as equal instead. Zeros if all values are.
    """
    names = optimizer.space.names
    try:
        with single_thread(), np.errstate(all="ignore"):
            scores = full_model(optimizer.state)[1]
    except NumericalError:
        return dict.fromkeys(names, 0.0)
    return dict(zip(names, (scores / (scores.sum() or 1.0)).tolist(), strict=True))


def _value(trial: FrozenTrial) -> float:
    return float("nan") if trial.value is None else trial.value


def _distributions(trials: list[FrozenTrial], params: list[str]) -> dict[str, BaseDistribution]:
    """Of these parameters; they must not change from trial to trial."""
    if not isinstance(params, (list, tuple)) or not all(isinstance(name, str) for name in params):
        raise InputError(f"params must be a list of names; got {params!r}")
    found = [trial.distributions for trial in trials if set(params) <= set(trial.distributions)]
    if params and not found:
        raise InputError(f"params must be parameters that a completed trial has; none has all of {params}")
    for name in params:
        if any(one[name] != found[0][name] for one in found):
            raise InputError(f"params must have one distribution in all trials; that of {name!r} changes")
    return {name: found[0][name] for name in sorted(set(params))}
