"""Ask and tell: the shell around a state. It only remembers which state is current, and speaks the user's units."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from vsbo.arrays import Array, as_value, frozen
from vsbo.config import Config
from vsbo.errors import InputError, TrialError
from vsbo.explain import History, Importance, Remembered, history_of
from vsbo.linalg import single_thread
from vsbo.propose import propose
from vsbo.rng import seed_from
from vsbo.space import Space
from vsbo.state import Added, Asked, Direction, Evaluation, Event, Failed, State, Status, Told, extend

#: Within a proposal, infinities and NaN are looked for where they can arise; NumPy need not print about them.
FLOATING: dict[str, Any] = {"all": "ignore"}


@dataclass(frozen=True, eq=False)
class Trial:
    """A point in the user's units and what became of it.

    x (D,); params the same by name; status "pending", "done" or "failed"; y the value, NaN unless done;
    reason why it failed; origin where the point came from: "design", one of Config.searches, "bare" or "leap"
    (Config.bare, Config.leaps), "evolution" (the last fallback; a uniform point where there is no evolution strategy,
    as by default), "given" or "added";
    began, ended: when it was given out and told, in a study.
    """

    number: int
    x: Array
    params: dict[str, Any]
    status: Status
    y: float
    reason: str
    origin: str
    began: datetime | None = None
    ended: datetime | None = None


class Optimizer:
    """A search that is driven by hand.

    >>> optimizer = Optimizer(Space.box(20), direction="minimize", seed=0)
    >>> trial = optimizer.ask()
    >>> optimizer.tell(trial, float((trial.x**2).sum()))
    """

    def __init__(
        self,
        space: Space,
        *,
        direction: Direction = "minimize",
        seed: Any = None,
        config: Config | None = None,
    ) -> None:
        if not isinstance(space, Space):
            raise InputError(
                f"space must be a Space, as Space.box(D) or Space({{...}}) make it; got {type(space).__name__}"
            )
        if config is not None and not isinstance(config, Config):
            raise InputError(f"config must be a Config; got {type(config).__name__}")
        self._begin(State.new(space, direction, seed_from(seed), config if config is not None else Config()))

    def _begin(self, state: State) -> None:
        self._state = state
        self._importance = Remembered()

    @classmethod
    def from_state(cls, state: State) -> "Optimizer":
        """Goes on where `state` ended, as `State.from_json` loads it."""
        optimizer = cls.__new__(cls)
        optimizer._begin(state)
        return optimizer

    @property
    def state(self) -> State:
        """The current state, a value: `state.to_json()` saves it, `State.from_json(text)` loads it."""
        return self._state

    @property
    def space(self) -> Space:
        """The variables."""
        return self._state.space

    # --------------------------------------------------------------------------------------------- ask and tell

    def ask(self, x: Any = None) -> Trial:
        """The next point to evaluate; with `x`, a trial at that very point. Several may be pending at once."""
        state = self._state
        if x is not None:
            unit = self.space.to_unit(self.space.point(x))
            self._record(Asked(state.next_number, frozen(unit), "given"))
        else:
            with single_thread(), np.errstate(**FLOATING):
                self._state = propose(state)
        return self._trial(self._state.evaluations[-1])

    def tell(self, trial: Trial | int, y: Any) -> None:
        """The value of a trial. NaN and infinities are recorded as failures: they are no measurements."""
        number = self._pending(trial)
        value = as_value("y", y)
        if np.isfinite(value):
            self._record(Told(number, self._sign * value))
        else:
            self._record(Failed(number, f"the value is {value}"))

    def fail(self, trial: Trial | int, reason: str = "") -> None:
        """The evaluation of a trial failed. The search learns to avoid the point."""
        self._record(Failed(self._pending(trial), str(reason)))

    def add(self, x: Any, y: Any) -> Trial:
        """A point that was evaluated elsewhere, and its value (NaN if it failed there)."""
        unit = self.space.to_unit(self.space.point(x))
        value = as_value("y", y)
        number = self._state.next_number
        if np.isfinite(value):
            self._record(Added(number, frozen(unit), self._sign * value))
        else:
            self._record(Added(number, frozen(unit), np.nan, f"the value is {value}"))
        return self._trial(self._state.evaluations[-1])

    # ------------------------------------------------------------------------------------------ what is known

    @property
    def best(self) -> Trial | None:
        """The best trial; None before any was told."""
        best = self._state.best
        return None if best is None else self._trial(best)

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials, by number."""
        return tuple(self._trial(evaluation) for evaluation in self._state.evaluations)

    def trial(self, number: int) -> Trial:
        """The trial of this number."""
        return self._trial(self._state.evaluations[number])

    @property
    def selected(self) -> tuple[Any, ...]:
        """The variables that the search has picked out by now: names, or indices in an unnamed space."""
        return tuple(self.space.names[j] if self.space.named else j for j in self._state.selected)

    def importance(self) -> Importance:
        """How much of the variation of f each variable explains, and how sure that is (docs/explain.md).

        Remembered until the next evaluation finishes: it takes some tenths of a second (docs/explain.md).
        """
        return self._importance(self._state)

    def history(self) -> History:
        """The story of the search so far, from its log (docs/explain.md)."""
        return history_of(self._state)

    # ------------------------------------------------------------------------------------------------- within

    def _record(self, *events: Event) -> None:
        self._state = extend(self._state, events)

    @property
    def _sign(self) -> float:
        """Inside, values are maximized."""
        return 1.0 if self._state.direction == "maximize" else -1.0

    def _pending(self, trial: Trial | int) -> int:
        number = trial.number if isinstance(trial, Trial) else trial
        if isinstance(number, bool) or not isinstance(number, (int, np.integer)):
            raise TrialError(f"trial must be a Trial or its number; got {trial!r}")
        if not 0 <= number < self._state.next_number:
            raise TrialError(f"trial {number} is unknown: {self._state.next_number} trials were given out so far")
        evaluation = self._state.evaluations[number]
        if evaluation.status != "pending":
            told = f"y = {self._sign * evaluation.y}" if evaluation.status == "done" else f"failed: {evaluation.reason}"
            raise TrialError(f"trial {number} was told already ({told}); a trial is told once")
        return int(number)

    def _trial(self, evaluation: Evaluation) -> Trial:
        x = frozen(self.space.from_unit(evaluation.x))
        return Trial(
            number=evaluation.number,
            x=x,
            params=self.space.params(x),
            status=evaluation.status,
            y=self._sign * evaluation.y,
            reason=evaluation.reason,
            origin=evaluation.origin,
        )
