"""The trials of an Optuna study as a state of ours, which grows with them and is the same for every worker.

A trial that we proposed brings its record (what was told before, fits, selections, the point); any other trial brings
its point only. What the records say is taken over, never computed again.
"""

import copy
import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial, TrialState

from vsbo.arrays import Array, frozen
from vsbo.config import Config
from vsbo.interfaces.optuna.axes import Axes
from vsbo.interfaces.optuna.record import Record
from vsbo.optimizer import Optimizer
from vsbo.rng import seed_from
from vsbo.state import Adapted, Added, Asked, Direction, Event, Failed, Fell, Fitted, State, Told, extend

#: Where Optuna keeps the values of a trial that was enqueued, or that the user fixed.
FIXED = "fixed_params"


#: Events that go with any selection; all others begin something new, on which later ones rest.
GOES_ON = (Asked, Adapted, Fitted, Fell)


class ReadAnew(Exception):  # noqa: N818 - no error: what was known is to be read again, from the beginning
    """A trial ended at another point than it was thought to run at, or another worker made a selection at the same time
    as this one: then that of the earlier trial holds, for both.
    """


def search_key(axes: Axes, direction: Direction, config: Config) -> str:
    """Names a search: records of another one say nothing about this one's models."""
    plain = json.dumps([axes.to_plain(), direction, config.to_plain()], sort_keys=True)
    return hashlib.sha256(plain.encode()).hexdigest()[:16]


class Search:
    """A state, and which of Optuna's trials is which of its evaluations.

    seed: None for the seed of the study's first record, or one of its own if there is none.
    """

    def __init__(
        self, distributions: Mapping[str, BaseDistribution], direction: Direction, config: Config, seed: int | None
    ) -> None:
        self._over = dict(distributions), direction
        self.axes = axes = Axes(distributions)
        self.key = search_key(axes, direction, config)
        self._seed = seed
        self._sign = 1.0 if direction == "maximize" else -1.0
        self.state = State.new(axes.space, direction, seed or 0, config)
        self._ours: dict[int, int] = {}  # Optuna's number -> ours
        self._theirs: list[int] = []  # ours -> Optuna's
        self._settled: set[int] = set()  # Optuna's numbers of trials that have ended, usable or not
        self._news: list[int] = []  # of those, since the last proposal
        self._base = -1  # Optuna's number of the trial with the last selection
        self._fresh = True

    def is_over(self, distributions: Mapping[str, BaseDistribution], direction: Direction) -> bool:
        """Whether it searches this space in this direction."""
        return self._over == (distributions, direction)

    def copy(self) -> "Search":
        """As it is now, whatever becomes of this one."""
        other = copy.copy(self)
        other._ours, other._theirs = dict(self._ours), list(self._theirs)
        other._settled, other._news = set(self._settled), list(self._news)
        return other

    # -------------------------------------------------------------------------------------------------- reading

    def take_in(self, trials: Iterable[FrozenTrial], apart_from: int) -> None:
        """What has happened since the last time. Raises ReadAnew if all must be."""
        new = {trial.number: trial for trial in trials if trial.number not in self._settled}
        new.pop(apart_from, None)
        records = {
            number: record
            for number, trial in new.items()
            if number not in self._ours and (record := Record.from_attributes(trial.system_attrs)) is not None
        }
        if self._seed is None and records:
            self._seed = next(iter(records.values())).seed
        for number in new:
            self._replay(number, new, records)
        ended = [trial for trial in new.values() if trial.state.is_finished()]
        for trial in sorted(ended, key=lambda one: (one.datetime_complete or one.datetime_start, one.number)):
            self._settle(trial)
        for trial in new.values():
            if trial.state == TrialState.RUNNING and trial.number not in self._ours:
                x = self.axes.unit(trial.params)
                if x is not None:
                    self._begin(trial.number, Asked(self.state.next_number, x, "given"))
        self._fresh = False

    def _replay(self, number: int, new: Mapping[int, FrozenTrial], records: dict[int, Record]) -> None:
        """Take over what a proposal came to, after what it knew."""
        record = records.pop(number, None)
        if record is None:
            return
        same = record.key == self.key
        for known in record.told if same else ():
            self._replay(known, new, records)
            if known in new and new[known].state.is_finished():
                self._settle(new[known])
        asked = record.events[-1]
        if not isinstance(asked, Asked) or not same:
            return
        if record.base == self._base:
            self._apply(number, record.events[:-1])
        elif not self._fresh:
            raise ReadAnew
        x = self._point(new[number], asked.x)
        if x is not None:
            self._begin(number, replace(asked, number=self.state.next_number, x=x))

    def _apply(self, number: int, events: Iterable[Event]) -> None:
        """Fits, selections and fallbacks of a trial's record."""
        for event in events:
            if not isinstance(event, GOES_ON):
                self._base = number
            if isinstance(event, Adapted):
                numbers = tuple(self._ours.get(number, -1) for number in event.numbers)
                first = self.state.adapted_at
                # Another worker may have told the strategy the same generation; it is told once.
                if numbers != self.state.finished[first : first + len(numbers)]:
                    continue
                event = Adapted(numbers)
            self.state = extend(self.state, [event])

    def _point(self, trial: FrozenTrial, proposed: Array | None) -> Array | None:
        """Where a trial runs, or ended; None if that is no point of this space.

        What it did not ask for (an objective with conditions) is where we proposed it.
        """
        params: dict[str, Any] = {} if proposed is None else self.axes.params(proposed)
        known = {name: value for name, value in trial.params.items() if name in self.axes.axes}
        if proposed is not None and all(self.axes.same(name, value, params[name]) for name, value in known.items()):
            return proposed
        return self.axes.unit({**params, **known})

    def _begin(self, number: int, event: Asked | Added) -> None:
        self._ours[number] = event.number
        self._theirs.append(number)
        self.state = extend(self.state, [event])

    def _settle(self, trial: FrozenTrial) -> None:
        """The end of a trial."""
        if trial.number in self._settled:
            return
        self._settled.add(trial.number)
        y, reason = outcome(trial)
        ours = self._ours.get(trial.number)
        if ours is None:
            x = self._point(trial, None)
            if x is None:
                return
            self._begin(trial.number, Added(self.state.next_number, x, self._sign * y, reason))
        else:
            asked = self.state.evaluations[ours].x
            now = self._point(trial, asked)
            if now is None or not np.array_equal(now, asked):
                raise ReadAnew
            self.state = extend(self.state, [Failed(ours, reason) if reason else Told(ours, self._sign * y)])
        self._news.append(trial.number)

    # ------------------------------------------------------------------------------------------------ proposing

    def propose(self, trial: FrozenTrial) -> tuple[dict[str, Any], Record]:
        """Values for a trial, and the record to keep with it."""
        if self._seed is None:
            self._seed = seed_from(None)
        before = self.state
        fixed = {name: value for name, value in trial.system_attrs.get(FIXED, {}).items() if name in self.axes.axes}
        x = self.axes.unit(fixed)
        if x is not None:  # nothing is left to propose
            events: tuple[Event, ...] = (Asked(before.next_number, x, "given"),)
        else:
            optimizer = Optimizer.from_state(replace(before, seed=self._seed_of(trial.number)))
            optimizer.ask()
            events = optimizer.state.log[len(before.log) :]
            if fixed:
                events = (*events[:-1], self._with_fixed(events[-1], fixed))
        *learned, asked = events
        if not isinstance(asked, Asked):
            raise TypeError(f"the last event of a proposal must be Asked; got {asked}")
        told, self._news = tuple(self._news), []
        theirs = tuple(
            Adapted(tuple(self._theirs[ours] for ours in event.numbers)) if isinstance(event, Adapted) else event
            for event in events
        )
        record = Record(self.key, self._seed, self._base, told, theirs)
        if not all(isinstance(event, GOES_ON) for event in learned):
            self._base = trial.number
        self.state = extend(before, learned)
        self._begin(trial.number, asked)
        return self.axes.params(asked.x), record

    def _seed_of(self, number: int) -> int:
        """Randomness is addressed by the number of evaluations; two workers may know equally many, and must differ."""
        seed = self._seed or 0
        if number == self.state.next_number:
            return seed
        return seed_from(np.random.SeedSequence(seed, spawn_key=(number,)))

    def _with_fixed(self, asked: Event, fixed: dict[str, Any]) -> Event:
        if not isinstance(asked, Asked):
            return asked
        x = self.axes.unit({**self.axes.params(asked.x), **fixed})
        return asked if x is None else replace(asked, x=frozen(x))


def outcome(trial: FrozenTrial) -> tuple[float, str]:
    """The value of a trial that has ended, and why it has none: NaN and a reason, or a value and "".

    A pruned trial has the value that it reported last. One whose constraints do not hold is a failure: it is no answer,
    however good its value.
    """
    violated = {name: value for name, value in constraints(trial).items() if not value <= 0.0}
    if violated:
        return math.nan, f"constraints must be <= 0; got {violated}"
    if trial.state == TrialState.FAIL or trial.value is None:
        return math.nan, f"the trial ended as {trial.state.name}"
    if not math.isfinite(trial.value):
        return math.nan, f"the value is {trial.value}"
    return float(trial.value), ""


def constraints(trial: FrozenTrial) -> dict[str, float]:
    """Of a trial, by name; Optuna 4 has them as a list."""
    named = getattr(trial, "constraints", None)
    if named is None:
        named = {str(i): value for i, value in enumerate(trial.system_attrs.get("constraints") or ())}
    return dict(named)
