"""A study: an optimizer whose log is a file, so that it can be stopped anywhere, resumed, and shared by processes.

>>> study = Study.open("study.db", space, direction="minimize", seed=0)     # creates or resumes
>>> study.run(f, budget=200, workers=4)
>>> trial = study.ask(); study.tell(trial, 0.37)                            # the same study, driven by hand
"""

import csv
import json
import math
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np

from vsbo.arrays import as_value
from vsbo.config import Config, as_whole
from vsbo.errors import InputError, StorageError, StudyError, TrialError
from vsbo.explain import History, Importance, Remembered, history_of
from vsbo.explain.importance import dataframe
from vsbo.optimizer import Optimizer, Trial
from vsbo.owner import new_owner
from vsbo.pictures import Plot
from vsbo.rng import seed_from
from vsbo.runner import SILENCE, Outcome, run
from vsbo.space import Space
from vsbo.state import Added, Asked, Direction, Failed, State, Told, extend
from vsbo.stopping import Progress, as_rules
from vsbo.storage import Recorded, Storage

T = TypeVar("T")

DEFAULT_NAME = "study"


class Study:
    """Made by `Study.open`. One object may be used by several threads; several processes may open the same study."""

    def __init__(self, storage: Storage, name: str, number: int, empty: State) -> None:
        self._storage, self.name, self._id = storage, name, number
        self._lock = threading.RLock()
        # Replaced as one: Ctrl-C leaves the old or the new, and what is missing is read again.
        self._seen: tuple[Optimizer, int] = Optimizer.from_state(empty), 0
        self._began: dict[int, datetime] = {}
        self._ended: dict[int, datetime] = {}
        self._importance = Remembered()
        self._catch_up(self._storage.strategy(number, empty.D))

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        space: Space | Any = None,
        *,
        direction: Direction | None = None,
        seed: Any = None,
        config: Config | None = None,
        name: str = DEFAULT_NAME,
    ) -> Self:
        """Create the study in the file, or resume it.

        space: a Space, or what Space.from_bounds takes; needed to create, otherwise compared with the study's.
        direction ("minimize" by default), seed and config: as for Optimizer; if given, compared too. A study that
        differs is refused with what differs: its points would mean something else.
        """
        if not isinstance(name, str) or not name or not name.isprintable():
            raise InputError(f"name must be a string of printable characters that is not empty; got {name!r}")
        if config is not None and not isinstance(config, Config):
            raise InputError(f"config must be a Config; got {type(config).__name__}")
        wanted = None if space is None else Space.from_bounds(space)
        seed = None if seed is None else seed_from(seed)
        # Before the file is touched: what is wrong with the arguments is no reason to leave one behind.
        fresh = (
            None if wanted is None else State.new(wanted, direction or "minimize", seed_from(seed), config or Config())
        )
        storage = Storage(path, create=fresh is not None)
        try:
            found = storage.find(name)
            if found is None:
                if fresh is None:
                    known = ", ".join(map(repr, storage.names())) or "none"
                    raise StudyError(f"{path} has no study {name!r}; it has: {known}. To create it, give its space")
                with storage.write():  # unless another process has just done so
                    found = storage.find(name) or (storage.create(name, fresh), fresh)
            number, state = found
            different = differences(state, wanted, direction, seed, config)
            if different:
                raise StudyError(
                    f"study {name!r} in {path} is there already, and is another one:\n  " + "\n  ".join(different)
                )
            return cls(storage, name, number, state)
        except BaseException:
            storage.close()
            raise

    def close(self) -> None:
        """Give the file back. Not needed for safety: everything told is in the file."""
        with self._lock:
            self._storage.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Study({str(self.path)!r}, name={self.name!r}, {len(self.state.evaluations)} trials)"

    @property
    def path(self) -> Path:
        """Of the file."""
        return self._storage.path

    # ------------------------------------------------------------------------------------------------ ask and tell

    def ask(self, x: Any = None) -> Trial:
        """The next point to evaluate; with `x`, a trial at that very point. It stays pending until it is told."""
        return self._change(lambda optimizer: optimizer.ask(x))

    def tell(self, trial: Trial | int, y: Any) -> None:
        """The value of a trial. NaN and infinities are recorded as failures."""
        self._settle(trial, lambda optimizer: optimizer.tell(trial, y))

    def fail(self, trial: Trial | int, reason: str = "") -> None:
        """The evaluation of a trial failed. The search learns to avoid the point."""
        self._settle(trial, lambda optimizer: optimizer.fail(trial, reason))

    def add(self, x: Any, y: Any) -> Trial:
        """A point that was evaluated elsewhere, and its value (NaN if it failed there)."""
        return self._change(lambda optimizer: optimizer.add(x, y))

    def _settle(self, trial: Trial | int, act: Callable[[Optimizer], None]) -> None:
        def both(optimizer: Optimizer) -> None:
            act(optimizer)
            self._storage.release(self._id, trial.number if isinstance(trial, Trial) else int(trial))

        self._change(both)

    # ---------------------------------------------------------------------------------------------- what is known

    @property
    def state(self) -> State:
        """The current state, other processes' doings included."""
        with self._lock:
            self._catch_up()
            return self._seen[0].state

    @property
    def space(self) -> Space:
        """The variables."""
        return self._seen[0].space

    @property
    def direction(self) -> Direction:
        """Whether values are minimized or maximized."""
        return self._seen[0].state.direction

    @property
    def best(self) -> Trial | None:
        """The best trial; None before any was told."""
        best = self._known().best
        return None if best is None else self._timed(best)

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials, by number."""
        return tuple(self._timed(trial) for trial in self._known().trials)

    @property
    def selected(self) -> tuple[Any, ...]:
        """The variables that the search has picked out by now: names, or indices in an unnamed space."""
        return self._known().selected

    def importance(self) -> Importance:
        """How much of the variation of f each variable explains, and how sure that is (docs/explain.md).

        Remembered until the next evaluation finishes: it takes some tenths of a second (docs/explain.md).
        """
        return self._importance(self.state)  # without the lock: others go on asking and telling

    def history(self) -> History:
        """The story of the search so far, from its log (docs/explain.md)."""
        state = self.state
        took = {
            number: (self._ended[number] - self._began[number]).total_seconds()
            for number in state.finished
            if number in self._ended and number in self._began
        }
        return history_of(state, took)

    @property
    def plot(self) -> Plot:
        """Pictures: `study.plot.convergence()` and others return an Axes; needs matplotlib (docs/pictures.md)."""
        return Plot(self)

    def _known(self) -> Optimizer:
        with self._lock:
            self._catch_up()
            return self._seen[0]

    def _timed(self, trial: Trial) -> Trial:
        return replace(trial, began=self._began.get(trial.number), ended=self._ended.get(trial.number))

    # ------------------------------------------------------------------------------------------------------ export

    def records(self) -> list[dict[str, Any]]:
        """One dict a trial: number, status, y (None unless done), reason, origin, began, ended, and the variables."""
        return [
            {
                "number": trial.number,
                "status": trial.status,
                "y": trial.y if trial.status == "done" else None,
                "reason": trial.reason,
                "origin": trial.origin,
                "began": trial.began,
                "ended": trial.ended,
                "params": trial.params,
            }
            for trial in self.trials
        ]

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """A table with one line a trial; the variables are columns called params.NAME."""
        with Path(path).open("w", newline="", encoding="utf-8") as file:
            rows = [_flat(record) for record in self.records()]
            names = [f"params.{name}" for name in self.space.params(self.space.from_unit(np.zeros(self.space.D)))]
            writer = csv.DictWriter(file, [*_COLUMNS, *names])
            writer.writeheader()
            writer.writerows(rows)

    def to_json_lines(self, path: str | os.PathLike[str]) -> None:
        """One JSON object a line and trial, as `records` has them."""
        with Path(path).open("w", encoding="utf-8") as file:
            for record in self.records():
                file.write(json.dumps(record, default=datetime.isoformat) + "\n")

    def to_dataframe(self) -> Any:
        """A pandas DataFrame of the same table as `to_csv`; needs pandas."""
        return dataframe([_flat(record) for record in self.records()])

    # --------------------------------------------------------------------------------------------------------- run

    def run(
        self,
        f: Callable[[Any], Any],
        budget: int,
        *,
        workers: int | None = None,
        executor: Any = None,
        timeout: float | None = None,
        stop: Any = None,
        callback: Callable[[Progress], Any] | None = None,
    ) -> Outcome:
        """Evaluate f until the study has `budget` finished evaluations, those of earlier runs and failures included.

        So the same line finishes the job after a crash: what was told counts, and the trial that was being evaluated
        is evaluated again. f gets a dict, or an array if the space is unnamed (or the Trial, if it has an attribute
        `takes_trial` that is true), and returns a number. An exception, a timeout, a NaN are failures, which the search
        learns to avoid; if all of the first evaluations fail (n_initial, at least 5), f is broken: ObjectiveError.

        workers: evaluations at a time, 1 by default; more, or a `timeout` in seconds, run f in processes of their own,
        which a timeout kills. executor: evaluates instead; anything with submit(fn, *args) -> future, as a pool of
        concurrent.futures, loky or mpi4py.futures, or a dask.distributed.Client; as many at a time as it can do.
        stop: rules, as vsbo.Target(0.1), vsbo.WallClock(3600), vsbo.Patience(50), vsbo.NegligibleGain(); callback:
        called with a Progress after every evaluation; a true answer ends the run. Ctrl-C ends it, too.
        """
        if not callable(f):
            raise InputError(f"f must be callable; got {type(f).__name__}")
        for name, value in (("budget", budget), ("workers", 1 if workers is None else workers)):
            if as_whole(name, value) < 1:
                raise InputError(f"{name} must be a whole number >= 1; got {value!r}")
        if timeout is not None and not 0 < as_value("timeout", timeout) < math.inf:
            raise InputError(f"timeout must be seconds > 0, or None; got {timeout!r}")
        with new_owner() as me:
            return run(_Source(self, me), f, budget, workers, executor, timeout, as_rules(stop), callback)

    # ------------------------------------------------------------------------------------------------------ within

    def _catch_up(self, known: Any = None) -> None:
        """Take in what others have written."""
        optimizer, seq = self._seen
        new = self._storage.read(self._id, seq)
        if new:
            try:
                state = extend(optimizer.state, [one.event for one in new], known)
            except (TrialError, IndexError) as error:
                raise StorageError(
                    f"{self.path}: the events of study {self.name!r} contradict each other: {error}"
                ) from error
            self._remember(Optimizer.from_state(state), new)

    def _remember(self, optimizer: Optimizer, new: list[Recorded]) -> None:
        for one in new:
            when = datetime.fromtimestamp(one.time, UTC)
            if isinstance(one.event, (Asked, Added)):
                self._began[one.event.number] = when
            if isinstance(one.event, (Told, Failed, Added)):
                self._ended[one.event.number] = when
        self._seen = optimizer, new[-1].seq

    def _change(self, act: Callable[[Optimizer], T]) -> T:
        """Do something in one transaction: read what is new, act, write what came of it; or nothing of it happens."""
        with self._lock:
            with self._storage.write():
                self._catch_up()
                before, seq = self._seen[0].state, self._seen[1]
                optimizer = Optimizer.from_state(before)
                result = act(optimizer)
                after = optimizer.state
                new = self._storage.append(self._id, seq, after.log[len(before.log) :])
                if after.strategy is not before.strategy:
                    self._storage.keep_strategy(self._id, before.strategy, after)
            if new:
                self._remember(optimizer, new)
            return result


_COLUMNS = ("number", "status", "y", "reason", "origin", "began", "ended")


def _flat(record: dict[str, Any]) -> dict[str, Any]:
    """A record with its variables as columns."""
    row = {key: record[key] for key in _COLUMNS}
    for key in ("began", "ended"):
        row[key] = None if row[key] is None else row[key].isoformat()
    return {**row, **{f"params.{name}": value for name, value in record["params"].items()}}


def differences(
    state: State, space: Space | None, direction: Direction | None, seed: Any, config: Config | None
) -> list[str]:
    """What of the wanted, as far as it is given, is not so in the study: a line each."""
    lines = []
    if space is not None and space != state.space:
        lines += _space_differences(state.space, space)
    if direction is not None and direction != state.direction:
        lines.append(f"direction: the study has {state.direction}, wanted is {direction}")
    if seed is not None and seed_from(seed) != state.seed:
        lines.append(f"seed: the study has {state.seed}, wanted is {seed_from(seed)}")
    if config is not None and config != state.config:
        ours, theirs = state.config.to_plain(), config.to_plain()
        changed = [key for key in ours if ours[key] != theirs[key]]
        lines += [f"config.{key}: the study has {ours[key]!r}, wanted is {theirs[key]!r}" for key in changed]
    return lines


def _space_differences(ours: Space, wanted: Space) -> list[str]:
    have = {one["name"]: one for one in ours.to_plain()["variables"]}
    want = {one["name"]: one for one in wanted.to_plain()["variables"]}
    lines = [f"variable {name!r}: in the study, not wanted" for name in have if name not in want]
    lines += [f"variable {name!r}: wanted, not in the study" for name in want if name not in have]
    for name in have:
        both = have[name], want.get(name, have[name])
        # As text: True == 1 == 1.0 in Python, but not to an objective.
        keys = [k for k in {**both[0], **both[1]} if len({json.dumps(one.get(k)) for one in both}) > 1]
        if keys:
            told = (", ".join(f"{k} = {one[k]!r}" for k in keys if k in one) for one in both)
            lines.append(f"variable {name!r}: the study has {next(told)}, wanted is {next(told)}")
    if not lines:
        lines.append(
            "the variables are in another order"
            if list(have) != list(want)
            else f"variables with{'' if ours.named else 'out'} names, wanted with{'' if wanted.named else 'out'}"
        )
    return lines


class _Source:
    """A study, as its runner sees it."""

    def __init__(self, study: Study, me: str) -> None:
        self._study, self._storage, self._me = study, study._storage, me

    def take(self, budget: int) -> Trial | None:
        study = self._study

        def act(optimizer: Optimizer) -> Trial | None:
            waiting = self._storage.abandoned(study._id, SILENCE)
            running = len(self._storage.leased(study._id)) - len(waiting)
            if len(optimizer.state.finished) + running >= budget:
                return None
            trial = optimizer.trial(waiting[0]) if waiting else optimizer.ask()
            self._storage.lease(study._id, trial.number, self._me)
            return trial

        return study._change(act)

    def give_back(self) -> None:
        study = self._study
        with suppress(StorageError):  # then the others will find out that this run is dead
            study._change(lambda _: self._storage.give_back(study._id, self._me))

    def settle(self, trial: Trial, value: Any, reason: str | None) -> None:
        study = self._study
        try:
            if reason is None:
                study.tell(trial, value)
            else:
                study.fail(trial, reason)
        except TrialError:
            # Somebody took us for dead, evaluated it again and told: a second measurement at the same point. Or we told
            # it ourselves, and Ctrl-C came just then.
            if reason is None and study._known().trial(trial.number).y != value:
                study.add(trial.x, value)

    def beat(self) -> None:
        with self._study._lock:
            self._storage.beat(self._study._id, self._me)

    def progress(self) -> Progress:
        optimizer = self._study._known()
        state, best = optimizer.state, optimizer.best
        failed = sum(state.evaluations[number].status == "failed" for number in state.finished)
        return Progress(
            state, len(state.finished) - failed, failed, None if best is None else best.y, optimizer.selected
        )

    def argument(self, trial: Trial) -> Any:
        return self._study.space.argument(trial.x)
