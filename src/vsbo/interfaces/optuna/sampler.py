"""The sampler: vsbo proposes, Optuna keeps, evaluates and shows."""

import logging
import threading
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.search_space import IntersectionSearchSpace
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from vsbo.config import Config, as_whole
from vsbo.data import is_new
from vsbo.errors import InputError
from vsbo.interfaces.optuna.axes import Axes
from vsbo.interfaces.optuna.record import Record
from vsbo.interfaces.optuna.search import ReadAnew, Search
from vsbo.rng import seed_from
from vsbo.state import Asked, Direction

#: Proposals for one trial, while other processes publish the same point at the same moment; and how near is the same,
#: in units of the cube.
ATTEMPTS, SAME = 3, 1e-3

_logger = logging.getLogger("optuna.vsbo")


@dataclass
class _Memory:
    """What is known of one study; all of it can be read from its storage again."""

    intersection: IntersectionSearchSpace = field(default_factory=IntersectionSearchSpace)
    search: Search | None = None


class VSBOSampler(BaseSampler):
    """Bayesian optimization that finds the variables that matter, for studies of one objective.

    search_space: the variables, by name. Without it they are those that all finished trials have, so that the first
        trial is the independent sampler's.
    seed: a whole number, or None: then the study's own, drawn once and kept with it. Randomness is addressed by the
        trial's number, so that workers may share a seed.
    n_startup_trials: points before the first model (the middle of all ranges, uniform ones); by default n_initial.
    config: as for vsbo.Optimizer.
    independent_sampler: for parameters that are not in the space; by default RandomSampler.
    warn_independent_sampling: whether that is worth a warning, after the first trials.

    Failed, NaN and infinite trials, and those whose constraints do not hold, are failures, which the search learns to
    avoid; a pruned one has the value that it reported last; running ones are pending. Fits and selections are kept with
    the trials, as system attributes vsbo:*, so that a study that is loaded again goes on as if it had not stopped.
    """

    def __init__(
        self,
        search_space: Mapping[str, BaseDistribution] | None = None,
        seed: int | None = None,
        n_startup_trials: int | None = None,
        config: Config | None = None,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
    ) -> None:
        if config is not None and not isinstance(config, Config):
            raise InputError(f"config must be a vsbo.Config; got {type(config).__name__}")
        config = config or Config()
        if n_startup_trials is not None:
            startup = as_whole("n_startup_trials", n_startup_trials)
            if startup < 1:
                raise InputError(f"n_startup_trials must be a whole number >= 1; got {n_startup_trials!r}")
            config = replace(config, n_initial=startup)
        self._config = config
        self._seed = None if seed is None else seed_from(seed)
        self._given = None if search_space is None else _checked(search_space)
        small = None if self._seed is None else self._seed % 2**32  # what NumPy's older generator takes
        self._independent_sampler = independent_sampler or RandomSampler(seed=small)
        self._warn_independent_sampling = warn_independent_sampling
        self._forget()

    def _forget(self) -> None:
        self._lock = threading.RLock()
        self._memories: weakref.WeakKeyDictionary[Any, dict[int, _Memory]] = weakref.WeakKeyDictionary()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_lock", "_memories")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def reseed_rng(self) -> None:
        """Of the independent sampler only: ours is addressed by trials."""
        self._independent_sampler.reseed_rng()

    def _memory(self, study: Study) -> _Memory:
        studies = self._memories.setdefault(study._storage, {})
        return studies.setdefault(study._study_id, _Memory())

    # ----------------------------------------------------------------------------------------- relative sampling

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """The given space, or what all finished trials have in common; parameters of a single value left out."""
        self._raise_error_if_multi_objective(study)
        if self._given is not None:
            return dict(self._given)
        with self._lock:
            common = self._memory(study).intersection.calculate(study)
        return {name: distribution for name, distribution in common.items() if not distribution.single()}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """The proposal for a trial. It is published with the trial at once, for other workers."""
        self._raise_error_if_multi_objective(study)
        if not search_space:
            return {}
        with self._lock:  # threads share the sampler; what one proposes, the next knows
            for _ in range(ATTEMPTS):
                search = self._caught_up(study, trial, search_space)
                before = search.copy()
                params, record = search.propose(trial)
                for key, piece in reversed(record.to_attributes().items()):  # whoever finds the first finds all
                    study._storage.set_trial_system_attr(trial._trial_id, key, piece)
                if not self._is_taken(study, trial, before, record):
                    break
                self._memory(study).search = before
        return params

    def _is_taken(self, study: Study, trial: FrozenTrial, before: Search, record: Record) -> bool:
        """Whether another process has published the same point while this one was computing it."""
        known = len(before.state.evaluations)
        try:
            before.take_in(study.get_trials(deepcopy=False), trial.number)
        except ReadAnew:
            return False
        others = [evaluation.x for evaluation in before.state.evaluations[known:]]
        asked = record.events[-1]
        return bool(others) and isinstance(asked, Asked) and not is_new(asked.x, np.array(others), SAME)

    def _caught_up(self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]) -> Search:
        direction: Direction = "maximize" if study.direction == StudyDirection.MAXIMIZE else "minimize"
        memory = self._memory(study)
        trials = study.get_trials(deepcopy=False)
        search, memory.search = memory.search, None  # whatever happens now, nothing half done is kept
        if search is not None and search.is_over(search_space, direction):
            try:
                search.take_in(trials, trial.number)
            except ReadAnew:
                search = None
        else:
            search = None
        if search is None:
            search = Search(search_space, direction, self._config, self._seed)
            search.take_in(trials, trial.number)
        memory.search = search
        return search

    # -------------------------------------------------------------------------------------- independent sampling

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """For a parameter that is not in the space."""
        self._raise_error_if_multi_objective(study)
        if self._warn_independent_sampling:
            finished = len(study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)))
            if finished >= self._config.n_initial:
                _logger.warning(
                    f"Parameter {param_name!r} of trial {trial.number} is sampled by "
                    f"{type(self._independent_sampler).__name__}: it is not in the search space, which is "
                    + ("the given one" if self._given is not None else "what all finished trials have in common")
                    + " (warn_independent_sampling=False silences this)."
                )
        return self._independent_sampler.sample_independent(study, trial, param_name, param_distribution)

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """The independent sampler's."""
        self._independent_sampler.before_trial(study, trial)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        """The independent sampler's: ours reads what happened from the storage."""
        self._independent_sampler.after_trial(study, trial, state, values)


def _checked(search_space: Mapping[str, BaseDistribution]) -> dict[str, BaseDistribution]:
    if not isinstance(search_space, Mapping):
        raise InputError(f"search_space must be a mapping from name to distribution; got {type(search_space).__name__}")
    for name, distribution in search_space.items():
        if not isinstance(name, str) or not isinstance(distribution, BaseDistribution):
            raise InputError(
                f"search_space must map names to Optuna's distributions; got {name!r}: {type(distribution).__name__}"
            )
    several = {name: one for name, one in search_space.items() if not one.single()}
    if several:
        Axes(several)  # says what is wrong with a distribution, before the study begins
    return several
