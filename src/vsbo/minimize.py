"""One call: `minimize` and `maximize`, with the names that SciPy's users know."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from vsbo.arrays import as_floats
from vsbo.config import Config
from vsbo.errors import InputError, ObjectiveError
from vsbo.explain import importance_of
from vsbo.optimizer import Optimizer, Trial
from vsbo.space import Space
from vsbo.state import Direction, State

#: Called after every evaluation with what is known so far; StopIteration, or a true return value, ends the run.
Callback = Callable[[OptimizeResult], Any]

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
    f: Callable[[Any], Any],
    bounds: Any,
    *,
    budget: int,
    rng: Any = None,
    config: Config | None = None,
    callback: Callback | None = None,
    x0: Any = None,
    y0: Any = None,
) -> OptimizeResult:
    """Minimize f over a box, in at most `budget` evaluations.

    f: takes an array (D,), or a dict if the space is named; returns a number. An exception, NaN or infinity is a
        failure, which the search learns to avoid.
    bounds: pairs (low, high), `scipy.optimize.Bounds`, a Space, or a mapping from name to Real.
    rng: None, a whole number, a Generator or a SeedSequence. callback(intermediate_result): see `Callback`.
    x0: points to begin with, (D,) or (k, D); y0: their values, one each, where they are known already.

    Returns an OptimizeResult: x (D,), fun, params, nfev, n_failed, success, message, importance, selected, X (n, D),
    y (n,) in the order of evaluation, and optimizer, with which the run can go on. Ctrl-C ends the run, not the result.
    """
    return _run(f, bounds, "minimize", budget, rng, config, callback, x0, y0)


def maximize(
    f: Callable[[Any], Any],
    bounds: Any,
    *,
    budget: int,
    rng: Any = None,
    config: Config | None = None,
    callback: Callback | None = None,
    x0: Any = None,
    y0: Any = None,
) -> OptimizeResult:
    """Maximize f over a box, in at most `budget` evaluations; everything else as in `minimize`."""
    return _run(f, bounds, "maximize", budget, rng, config, callback, x0, y0)


def _run(
    f: Callable[[Any], Any],
    bounds: Any,
    direction: Direction,
    budget: int,
    rng: Any,
    config: Config | None,
    callback: Callback | None,
    x0: Any,
    y0: Any,
) -> OptimizeResult:
    if not callable(f):
        raise InputError(f"f must be callable; got {type(f).__name__}")
    if isinstance(budget, bool) or not isinstance(budget, (int, np.integer)) or budget < 1:
        raise InputError(f"budget must be a whole number >= 1; got {budget!r}")
    optimizer = Optimizer(Space.from_bounds(bounds), direction=direction, seed=rng, config=config)
    given = _add_known(optimizer, x0, y0)

    evaluated: list[int] = []
    patience = max(optimizer.state.config.n_initial, LEAST_PATIENCE)
    message = f"the budget of {budget} evaluations is spent"
    try:
        while len(evaluated) < budget:
            trial = optimizer.ask(given.pop(0) if given else None)
            error = _evaluate(f, optimizer, trial)
            evaluated.append(trial.number)
            if len(evaluated) == min(patience, budget) and optimizer.best is None:
                reason = optimizer.state.evaluations[trial.number].reason
                raise ObjectiveError(
                    f"f failed at each of the first {len(evaluated)} points; the last time: {reason}"
                ) from error
            if callback is not None and callback(_result(optimizer, evaluated, "running")):
                message = "the callback ended the run"
                break
    except StopIteration:
        message = "the callback ended the run"
    except KeyboardInterrupt:
        message = f"interrupted after {len(evaluated)} of {budget} evaluations"
    return _result(optimizer, evaluated, message)


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


def _evaluate(f: Callable[[Any], Any], optimizer: Optimizer, trial: Trial) -> Exception | None:
    """Tell what f says; an exception, or an answer that is no number, is a failure. Returns what was raised."""
    try:
        optimizer.tell(trial, f(optimizer.space.argument(trial.x)))
    except Exception as error:
        optimizer.fail(trial, f"{type(error).__name__}: {error}")
        return error
    return None


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
