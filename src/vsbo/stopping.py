"""When a run ends before its budget is spent. A rule looks at the progress and gives its reason, or None to go on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vsbo.arrays import as_value
from vsbo.config import as_whole
from vsbo.errors import InputError
from vsbo.linalg import single_thread
from vsbo.models import expected_gain
from vsbo.state import State


@dataclass(frozen=True, eq=False)
class Progress:
    """Of a run, after an evaluation. Times in seconds; values in the user's sign.

    done, failed: of the whole study, this run's and those before. best: the best value, None before there is one.
    running: now. budget: how many done and failed to come to. seconds: since this run began. evaluated: by this run;
    evaluating: the sum of their own times; overhead: vsbo's own time for them, asking and telling.
    """

    state: State = field(repr=False)
    done: int
    failed: int
    best: float | None
    selected: tuple[Any, ...]
    running: int = 0
    budget: int = 0
    seconds: float = 0.0
    evaluated: int = 0
    evaluating: float = 0.0
    overhead: float = 0.0
    workers: int = 1

    @property
    def remaining(self) -> float | None:
        """Seconds left, if it goes on as it did; None before anything is known."""
        if not self.evaluated:
            return None
        return self.seconds / self.evaluated * max(0, self.budget - self.done - self.failed)


#: The reason to stop, or None.
Rule = Callable[[Progress], str | None]


@dataclass(frozen=True)
class Target:
    """Stop once the best value is `value` or better."""

    value: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", as_value("value", self.value))

    def __call__(self, progress: Progress) -> str | None:
        """The reason to stop, or None."""
        if progress.best is None:
            return None
        better = progress.best >= self.value if progress.state.direction == "maximize" else progress.best <= self.value
        return f"the target of {self.value:g} is reached" if better else None


@dataclass(frozen=True)
class WallClock:
    """Stop once the run has taken so many seconds. Evaluations that are running are waited for."""

    seconds: float

    def __post_init__(self) -> None:
        _positive("seconds", self.seconds)

    def __call__(self, progress: Progress) -> str | None:
        """The reason to stop, or None."""
        return f"{self.seconds:g} s have passed" if progress.seconds >= self.seconds else None


@dataclass(frozen=True)
class Patience:
    """Stop after so many finished evaluations in a row without a better value."""

    evaluations: int

    def __post_init__(self) -> None:
        _at_least_one("evaluations", self.evaluations)

    def __call__(self, progress: Progress) -> str | None:
        """The reason to stop, or None."""
        state = progress.state
        if state.best is None:
            return None
        since = len(state.finished) - 1 - state.finished.index(state.best.number)
        return f"{since} evaluations brought nothing better" if since >= self.evaluations else None


@dataclass(frozen=True)
class NegligibleGain:
    """Stop once the improvement expected of the next point is below `part` of what was gained so far.

    That is the distance from the median of the first N_init values to the best. Asked every `every` evaluations after
    `least`: it costs about as much as a suggestion. The expectation is the model's: as good as the model is.
    """

    part: float = 1e-3
    least: int = 50
    every: int = 5

    def __post_init__(self) -> None:
        _positive("part", self.part)
        _at_least_one("least", self.least)
        _at_least_one("every", self.every)

    def __call__(self, progress: Progress) -> str | None:
        """The reason to stop, or None."""
        n = progress.done + progress.failed
        if n < self.least or n % self.every:
            return None
        with single_thread(), np.errstate(all="ignore"):  # as in `ask`
            gain = expected_gain(progress.state)
        if gain is None or gain >= self.part:
            return None
        return f"the next point is expected to gain {gain:.2g} of what was gained so far"


def first_reason(rules: Sequence[Rule], progress: Progress) -> str | None:
    """The first rule's reason to stop, or None."""
    for rule in rules:
        reason = rule(progress)
        if reason:  # a user's own rule may well answer False, or True
            return reason if isinstance(reason, str) else f"the rule {rule!r} ended the run"
    return None


def as_rules(stop: Any) -> tuple[Rule, ...]:
    """From what a user passes as `stop`: None, a rule or several."""
    rules = () if stop is None else tuple(stop) if isinstance(stop, (list, tuple)) else (stop,)
    for rule in rules:
        if not callable(rule):
            raise InputError(f"stop must be a rule, as vsbo.Target(0.1), or several; got {rule!r}")
    return rules


def _at_least_one(name: str, value: Any) -> None:
    if as_whole(name, value) < 1:
        raise InputError(f"{name} must be a whole number >= 1; got {value!r}")


def _positive(name: str, value: Any) -> None:
    if not as_value(name, value) > 0:
        raise InputError(f"{name} must be > 0; got {value!r}")
