"""One call: `minimize` and `maximize`, with the names that users of `scipy.optimize.differential_evolution` know."""

import inspect
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.optimize import OptimizeResult

from vsbo.arrays import as_floats
from vsbo.config import Config
from vsbo.errors import InputError, ObjectiveError
from vsbo.explain import importance_of
from vsbo.optimizer import Optimizer, Trial
from vsbo.space import Space
from vsbo.state import Direction, State
from vsbo.workers import NotStarted, Workers, call, describe

#: Called after every evaluation: callback(intermediate_result) with what is known so far, or callback(x, convergence)
#: with the best point and the part of the budget that is spent. StopIteration, or a true return value, ends the run.
Callback = Callable[..., Any]

#: Failures in a row, from the first point on, after which the objective is taken to be broken.
LEAST_PATIENCE = 5


class Result(OptimizeResult):  # type: ignore[misc]
    """SciPy's result, and more. `importance` is computed when it is first looked at, as of the end of the run."""

    def __init__(self, state: State, **entries: Any) -> None:
        super().__init__(**entries)
        self.__dict__["state"] = state  # not an entry: `print(result)` would show all of it

    def __missing__(self, key: str) -> Any:
        if key != "importance":
            raise KeyError(key)
        self["importance"] = importance_of(self.__dict__["state"])
        return self["importance"]


def minimize(
    f: Callable[..., Any],
    bounds: Any,
    args: Any = (),
    *,
    budget: int,
    rng: Any = None,
    config: Config | None = None,
    callback: Callback | None = None,
    workers: Any = 1,
    integrality: Any = None,
    x0: Any = None,
    y0: Any = None,
) -> OptimizeResult:
    """Minimize f over a box, in at most `budget` evaluations.

    f(x, *args): takes an array (D,), or a dict if the space is named; returns a number. An exception, NaN or infinity
        is a failure, which the search learns to avoid; if all of the first evaluations fail (n_initial, at least 5),
        f is taken to be broken: ObjectiveError.
    bounds: pairs (low, high), `scipy.optimize.Bounds`, a Space, or a mapping from name to Real, Integer or Choice.
    integrality: which variables of pairs or Bounds are whole numbers; one boolean for all, or one for each.
    rng: None, a whole number, or one of NumPy's: a Generator, a SeedSequence, a BitGenerator, a RandomState.
    callback: see `Callback`.
    workers: evaluations at a time, in processes of their own, where a free one gets the next point at once; -1 for as
        many as there are processors. Or a map, as multiprocessing.Pool(...).map: points then come in batches, one for
        each processor, so that a seed gives the same run again.
    x0: points to begin with, (D,) or (k, D); y0: their values, one each, where they are known already.

    Returns an OptimizeResult: x (D,), fun, params, nfev, n_failed, success, message, importance, selected, X (n, D),
    y (n,) in the order of evaluation, and optimizer, with which the run can go on. Ctrl-C ends the run, not the result.
    """
    optimizer = _optimizer(bounds, integrality, "minimize", rng, config)
    return _run(f, args, optimizer, budget, callback, workers, x0, y0)


def maximize(
    f: Callable[..., Any],
    bounds: Any,
    args: Any = (),
    *,
    budget: int,
    rng: Any = None,
    config: Config | None = None,
    callback: Callback | None = None,
    workers: Any = 1,
    integrality: Any = None,
    x0: Any = None,
    y0: Any = None,
) -> OptimizeResult:
    """Maximize f over a box, in at most `budget` evaluations; everything else as in `minimize`."""
    optimizer = _optimizer(bounds, integrality, "maximize", rng, config)
    return _run(f, args, optimizer, budget, callback, workers, x0, y0)


def _optimizer(bounds: Any, integrality: Any, direction: Direction, rng: Any, config: Config | None) -> Optimizer:
    return Optimizer(Space.from_bounds(bounds, integrality), direction=direction, seed=rng, config=config)


def _run(
    f: Callable[..., Any],
    args: Any,
    optimizer: Optimizer,
    budget: int,
    callback: Callback | None,
    workers: Any,
    x0: Any,
    y0: Any,
) -> OptimizeResult:
    if not callable(f):
        raise InputError(f"f must be callable; got {type(f).__name__}")
    if isinstance(budget, bool) or not isinstance(budget, (int, np.integer)) or budget < 1:
        raise InputError(f"budget must be a whole number >= 1; got {budget!r}")
    # As in SciPy, a single further argument need not be in a tuple.
    further = () if args is None else tuple(args) if isinstance(args, (tuple, list)) else (args,)
    objective = _With(f, further) if further else f
    report = None if callback is None else _reporter(callback, budget)
    given = _add_known(optimizer, x0, y0)

    evaluated: list[int] = []
    patience = max(optimizer.state.config.n_initial, LEAST_PATIENCE)
    message = f"the budget of {budget} evaluations is spent"
    try:
        with _evaluator(objective, workers) as (evaluator, at_once):
            running: dict[Future[Any], Trial] = {}
            ended = False
            while not ended and len(evaluated) < budget:
                while len(running) < min(at_once, budget - len(evaluated)):
                    trial = optimizer.ask(given.pop(0) if given else None)
                    running[evaluator.submit(optimizer.space.argument(trial.x))] = trial
                evaluator.flush()
                done = wait(running, return_when=FIRST_COMPLETED).done
                for future in sorted(done, key=lambda one: running[one].number):
                    trial = running.pop(future)
                    error = _tell(optimizer, trial, future)
                    evaluated.append(trial.number)
                    if len(evaluated) == min(patience, budget) and optimizer.best is None:
                        reason = optimizer.state.evaluations[trial.number].reason
                        raise ObjectiveError(
                            f"f failed at each of the first {len(evaluated)} points; the last time: {reason}"
                        ) from error
                    # What has ended together is told together, even if the callback has had enough.
                    if report is not None and not ended and report(optimizer, evaluated):
                        message, ended = "the callback ended the run", True
    except KeyboardInterrupt:
        message = f"interrupted after {len(evaluated)} of {budget} evaluations"
    return _result(optimizer, evaluated, message)


@dataclass(frozen=True)
class _With:
    """f with further arguments behind the point; a class, since processes need to be sent it."""

    f: Callable[..., Any]
    args: tuple[Any, ...]

    def __call__(self, x: Any) -> Any:
        return self.f(x, *self.args)


def _reporter(callback: Callback, budget: int) -> Callable[[Optimizer, list[int]], bool]:
    """Calls the callback as its signature wants it; whether it ends the run."""
    if not callable(callback):
        raise InputError(f"callback must be callable, or None; got {type(callback).__name__}")
    try:
        names = list(inspect.signature(callback).parameters)
    except (TypeError, ValueError):  # a builtin without a signature
        names = ["intermediate_result"]
    of_result, by_name = len(names) == 1, names == ["intermediate_result"]

    def report(optimizer: Optimizer, evaluated: list[int]) -> bool:
        result = _result(optimizer, evaluated, "running")
        try:
            if by_name:
                return bool(callback(intermediate_result=result))
            return bool(callback(result) if of_result else callback(result.x, len(evaluated) / budget))
        except StopIteration:
            return True

    return report


# ------------------------------------------------------------------------------------------------------ evaluation


class _Evaluator(Protocol):
    """Where f is evaluated."""

    def submit(self, x: Any) -> "Future[Any]":
        """A future of f(x)."""
        ...

    def flush(self) -> None:
        """Nothing more is submitted until something is done."""
        ...


class _Here:
    def __init__(self, f: Callable[[Any], Any]) -> None:
        self._f = f

    def submit(self, x: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        try:
            future.set_result(self._f(x))
        except Exception as error:
            future.set_exception(error)
        return future

    def flush(self) -> None:
        """All is done already."""


class _Processes:
    def __init__(self, workers: Workers) -> None:
        self._workers = workers

    def submit(self, x: Any) -> "Future[Any]":
        return self._workers.submit(call, x)

    def flush(self) -> None:
        """The processes have begun already."""


class _Map:
    """A user's map evaluates what was submitted since the last time."""

    def __init__(self, f: Callable[[Any], Any], map_like: Callable[..., Any]) -> None:
        self._attempt, self._map = _Attempt(f), map_like
        self._waiting: list[tuple[Any, Future[Any]]] = []

    def submit(self, x: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        self._waiting.append((x, future))
        return future

    def flush(self) -> None:
        batch, self._waiting = self._waiting, []
        answers = list(self._map(self._attempt, [x for x, _ in batch]))
        if len(answers) != len(batch):
            raise InputError(f"workers must map: {len(batch)} points gave {len(answers)} answers")
        for (_, future), (value, reason) in zip(batch, answers, strict=True):
            if reason is None:
                future.set_result(value)
            else:
                future.set_exception(ObjectiveError(reason))


@dataclass(frozen=True)
class _Attempt:
    """f's value, or why there is none: an exception would take the whole map down."""

    f: Callable[[Any], Any]

    def __call__(self, x: Any) -> tuple[Any, str | None]:
        try:
            return call(self.f, x), None
        except ObjectiveError as error:
            return None, str(error)


@contextmanager
def _evaluator(f: Callable[[Any], Any], workers: Any) -> Iterator[tuple[_Evaluator, int]]:
    """Where f is evaluated, and at how many points at a time."""
    if callable(workers):
        yield _Map(f, workers), _processors()
        return
    if isinstance(workers, bool) or not isinstance(workers, (int, np.integer)) or (workers < 1 and workers != -1):
        raise InputError(
            f"workers must be a whole number >= 1, -1 for all processors, or a map as Pool(...).map; got {workers!r}"
        )
    n = _processors() if workers == -1 else int(workers)
    if n == 1:
        yield _Here(f), 1
        return
    pool = Workers(f, n)
    try:
        yield _Processes(pool), n
    finally:
        pool.close()


def _processors() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _tell(optimizer: Optimizer, trial: Trial, future: "Future[Any]") -> BaseException | None:
    """Tell what came of it; an exception, or an answer that is no number, is a failure. Returns what was raised.

    That no process can begin (NotStarted) is no point's failure, and ends the run.
    """
    error = future.exception()
    if isinstance(error, NotStarted):
        raise error
    if error is None:
        try:
            optimizer.tell(trial, future.result())
            return None
        except InputError as wrong:
            error = wrong
    optimizer.fail(trial, str(error) if isinstance(error, ObjectiveError) else describe(error))
    return error


def _add_known(optimizer: Optimizer, x0: Any, y0: Any) -> list[Any]:
    """Tell what is known already; return the points that are still to be evaluated first."""
    if x0 is None:
        if y0 is not None:
            raise InputError("y0 needs x0: the points whose values these are")
        return []
    space = optimizer.space
    if isinstance(x0, Mapping):
        x0 = [x0]
    if isinstance(x0, (list, tuple)) and any(isinstance(x, Mapping) for x in x0):
        points = [space.point(x, "x0") for x in x0]
    else:
        array = as_floats("x0", x0)
        if array.ndim not in (1, 2) or array.shape[-1] != space.D:
            raise InputError(f"x0 must have shape ({space.D},) or (k, {space.D}); got {array.shape}")
        points = [space.point(x, "x0") for x in np.atleast_2d(array)]
    if y0 is None:
        return list(points)
    values = np.atleast_1d(as_floats("y0", y0))
    if values.shape != (len(points),):
        raise InputError(f"y0 must have one value for each of the {len(points)} points x0; got shape {values.shape}")
    for x, y in zip(points, values, strict=True):
        optimizer.add(x, y)
    return []


def _result(optimizer: Optimizer, evaluated: list[int], message: str) -> OptimizeResult:
    state, best = optimizer.state, optimizer.best
    mine = [state.evaluations[number] for number in evaluated]
    sign = 1.0 if state.direction == "maximize" else -1.0
    return Result(
        state,
        x=None if best is None else np.array(best.x),
        fun=np.nan if best is None else best.y,
        params=None if best is None else best.params,
        nfev=len(mine),
        n_failed=sum(evaluation.status == "failed" for evaluation in mine),
        success=best is not None and not message.startswith("interrupted"),
        message=message,
        selected=optimizer.selected,
        X=optimizer.space.from_unit(np.array([evaluation.x for evaluation in mine]).reshape(-1, state.D)),
        y=sign * np.array([evaluation.y for evaluation in mine]),
        optimizer=optimizer,
    )
