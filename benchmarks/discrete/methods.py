"""Who takes part: a method proposes the next point from all values so far. All begin with the same five."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import vsbo
from benchmarks.errors import BenchError
from benchmarks.methods.streams import stream
from vsbo import Choice, Config, Integer, Optimizer, Space

#: Yields points as dicts, and is sent the value of each (larger is better).
Search = Iterator[dict[str, Any]]
INITIAL = 5


def first_points(space: Space, seed: int) -> list[dict[str, Any]]:
    """Uniform ones."""
    U = np.random.default_rng([seed, 0]).random((INITIAL, space.D))
    return [space.params(space.from_unit(u)) for u in U]


def engine(config: Config, space: Space, seed: int) -> Any:
    """vsbo."""
    optimizer = Optimizer(space, direction="maximize", seed=seed, config=config)
    for params in first_points(space, seed):
        optimizer.add(params, (yield params))
    while True:
        trial = optimizer.ask()
        optimizer.tell(trial, (yield trial.params))


def evolution(space: Space, seed: int) -> Any:
    """(1+1) evolution: the best point with each variable drawn anew with probability 1/D, one at least; as good is good
    enough. The plainest method there is for such variables.
    """
    rng, best, value = stream(seed, "evolution"), np.zeros(space.D), -np.inf
    for params in first_points(space, seed):
        y = yield params
        if y >= value:
            best, value = space.to_unit(space.point(params)), y
    while True:
        moved = rng.random(space.D) < 1.0 / space.D
        moved[rng.integers(space.D)] |= not moved.any()
        u = space.snap(np.where(moved, rng.random(space.D), best))
        if np.array_equal(u, best):
            continue
        y = yield space.params(space.from_unit(u))
        if y >= value:
            best, value = u, y


def uniform(space: Space, seed: int) -> Any:
    """Chance."""
    rng = stream(seed, "random")
    for params in first_points(space, seed):
        _ = yield params
    while True:
        yield space.params(space.from_unit(rng.random(space.D)))


def tpe(space: Space, seed: int) -> Any:
    """Optuna's default sampler; five more points are uniform before it has a model."""
    try:
        import optuna
    except ImportError as missing:
        raise BenchError("the method 'optuna-tpe' needs optuna, which is not installed") from missing
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
    for params in first_points(space, seed):
        study.enqueue_trial(params)
    while True:
        trial = study.ask()
        study.tell(trial, (yield {name: _suggest(trial, name, v) for name, v in space.variables.items()}))


def _suggest(trial: Any, name: str, variable: Any) -> Any:
    if isinstance(variable, Choice):
        return trial.suggest_categorical(name, variable.values)
    if isinstance(variable, Integer):
        return trial.suggest_int(name, variable.low, variable.high)
    return trial.suggest_float(name, variable.low, variable.high)


METHODS: dict[str, Callable[[Space, int], Any]] = {
    "vsbo": partial(engine, vsbo.Config()),
    "vsbo-rounded": partial(engine, vsbo.Config(discrete=False)),
    "optuna-tpe": tpe,
    "evolution": evolution,
    "random": uniform,
}
