"""Ax: a generation node in which vsbo proposes.

>>> strategy = GenerationStrategy(name="vsbo", nodes=[VSBONode(seed=0)])
>>> client = Client(); client.configure_experiment(...); client.configure_optimization(objective="-loss")
>>> client.set_generation_strategy(strategy)
"""

import time
from typing import Any

from vsbo.config import Config
from vsbo.errors import InputError
from vsbo.interfaces.extras import needs
from vsbo.optimizer import Optimizer
from vsbo.rng import seed_from
from vsbo.space import Choice, Fixed, Integer, Real, Space

with needs("ax", "ax"):
    from ax.core.parameter import ChoiceParameter, FixedParameter, ParameterType, RangeParameter
    from ax.generation_strategy.external_generation_node import ExternalGenerationNode


class VSBONode(ExternalGenerationNode):  # type: ignore[misc, unused-ignore]
    """A node for experiments of one objective, over range, choice and fixed parameters.

    It learns from all arms of the experiment, whoever proposed them; failed and abandoned ones count as failures, which
    it avoids. What it has fitted it keeps while it lives; a strategy that Ax loads from a file learns again from the
    experiment's data, with one fit.

    seed: None, or a whole number. config: as for vsbo.Optimizer. Others: as for ExternalGenerationNode.
    """

    def __init__(self, name: str = "VSBO", *, seed: Any = None, config: Config | None = None, **others: Any) -> None:
        began = time.monotonic()
        super().__init__(name=name, **others)
        self._seed, self._config = seed_from(seed), config
        self._optimizer: Optimizer | None = None
        self._parameters: dict[str, Any] = {}
        self._numbers: dict[tuple[int, str], int] = {}  # (trial, arm) -> our trial
        self._proposed: dict[str, int] = {}  # the values of a proposal that is no arm yet -> our trial
        self.fit_time_since_gen += time.monotonic() - began

    def update_generator_state(self, experiment: Any, data: Any) -> None:
        """Take in arms that are new, and values that are new."""
        direction, metric = _objective(experiment)
        if self._optimizer is None:
            self._parameters = dict(experiment.search_space.parameters)
            space = _space(experiment.search_space)
            self._optimizer = Optimizer(space, direction=direction, seed=self._seed, config=self._config)
        frame = data.df
        values = {
            (int(trial), str(arm)): float(mean)
            for trial, arm, name, mean in zip(
                frame["trial_index"], frame["arm_name"], frame["metric_name"], frame["mean"], strict=True
            )
            if name == metric
        }
        for trial in experiment.trials.values():
            for arm in trial.arms:
                number = self._number((trial.index, arm.name), arm.parameters)
                if number is not None and self._optimizer.trial(number).status == "pending":
                    self._settle(number, trial.status, values.get((trial.index, arm.name)))

    def _number(self, key: tuple[int, str], values: dict[str, Any]) -> int | None:
        """Our trial of an arm; None if the arm is outside of the search space."""
        if key not in self._numbers:
            proposed = self._proposed.pop(_key(values), None)
            number = self._begin(values) if proposed is None else proposed
            if number is None:
                return None
            self._numbers[key] = number
        return self._numbers[key]

    def _begin(self, values: dict[str, Any]) -> int | None:
        if self._optimizer is None:
            raise InputError("get_next_candidate must come after update_generator_state, as Ax calls them")
        try:
            known = {name: self._inner(name, values[name]) for name in self._optimizer.space.variables}
            return self._optimizer.ask(known).number
        except (InputError, KeyError, ValueError):  # an arm that a user attached, beyond the bounds
            return None

    def _settle(self, number: int, status: Any, value: float | None) -> None:
        optimizer = self._optimizer
        if optimizer is None:
            return
        if status.is_failed or status.is_abandoned:
            optimizer.fail(number, f"the trial ended as {status.name}")
        elif value is not None and not status.is_running:
            optimizer.tell(number, value)
        elif status.is_completed:
            optimizer.fail(number, "the trial has no value of the objective")

    def get_next_candidate(self, pending_parameters: list[dict[str, Any]]) -> dict[str, Any]:
        """The next point; pending ones that nobody has told of are taken in first."""
        for values in pending_parameters:
            if _key(values) not in self._proposed and not self._is_arm(values):
                number = self._begin(values)
                if number is not None:
                    self._proposed[_key(values)] = number
        if self._optimizer is None:
            raise InputError("get_next_candidate must come after update_generator_state, as Ax calls them")
        trial = self._optimizer.ask()
        found = {name: self._outer(name, value) for name, value in trial.params.items()}
        self._proposed[_key(found)] = trial.number
        return found

    def _is_arm(self, values: dict[str, Any]) -> bool:
        """Whether a pending point is that of an arm we know."""
        known = self._optimizer
        pending = (n for n in self._numbers.values() if known is not None and known.trial(n).status == "pending")
        return any(
            known is not None
            and _key({name: self._outer(name, value) for name, value in known.trial(number).params.items()})
            == _key(values)
            for number in pending
        )

    # A choice is its index inside: its values may be of any type. Ax rounds a range parameter to its digits.

    def _outer(self, name: str, value: Any) -> Any:
        parameter = self._parameters[name]
        if isinstance(parameter, ChoiceParameter):
            return parameter.values[value]
        return parameter.value if isinstance(parameter, FixedParameter) else parameter.cast(value)

    def _inner(self, name: str, value: Any) -> Any:
        parameter = self._parameters[name]
        return parameter.values.index(value) if isinstance(parameter, ChoiceParameter) else value


def _key(values: dict[str, Any]) -> str:
    return repr(sorted(values.items()))


def _objective(experiment: Any) -> tuple[Any, str]:
    """The direction and the metric's name."""
    settings = experiment.optimization_config
    if settings is None:
        raise InputError("experiment must have an optimization_config: what is to be optimized")
    if len(settings.objective.metric_names) != 1:
        raise InputError(f"experiment must have one objective of one metric; got {settings.objective}")
    if settings.outcome_constraints:
        raise InputError(f"outcome constraints are not supported; got {settings.outcome_constraints}")
    return "minimize" if settings.objective.minimize else "maximize", settings.objective.metric_names[0]


def _space(search_space: Any) -> Space:
    if search_space.parameter_constraints:
        raise InputError(f"parameter constraints are not supported; got {search_space.parameter_constraints}")
    return Space({name: _variable(parameter) for name, parameter in search_space.parameters.items()})


def _variable(parameter: Any) -> Real | Integer | Choice | Fixed:
    if isinstance(parameter, RangeParameter):
        if parameter.parameter_type == ParameterType.INT:
            return Integer(int(parameter.lower), int(parameter.upper), log=parameter.log_scale)
        return Real(parameter.lower, parameter.upper, log=parameter.log_scale)
    if isinstance(parameter, ChoiceParameter) and not parameter.is_hierarchical:
        return Choice(tuple(range(len(parameter.values))), ordered=parameter.is_ordered)
    if isinstance(parameter, FixedParameter):
        return Fixed(parameter.value)
    raise InputError(f"parameters must be range, choice or fixed ones, not hierarchical; got {parameter}")
