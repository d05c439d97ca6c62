"""What each picture shows, as numbers in the user's units: drawn by matplotlib (draw.py) and by the page.

A view that has nothing to show raises `NothingYet`, whose text says why.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from vsbo.arrays import Array
from vsbo.data import standardize
from vsbo.errors import InputError, NumericalError
from vsbo.explain import Chosen, History, Importance, choices_of
from vsbo.gp import Posterior
from vsbo.linalg import single_thread
from vsbo.models import posterior_of, to_values
from vsbo.space import Choice
from vsbo.state import Evaluation, Selected, State

#: A normal value lies within so many deviations in 90 of 100 cases.
NINETY = 1.6448536269514722
#: Positions along a slice, and along each side of a contour.
FINE, COARSE = 81, 31
#: Columns of a picture over time.
MOST_COLUMNS = 120


class NothingYet(Exception):  # noqa: N818 - not an error: there is just nothing to show
    """Why there is nothing to show."""


class Explained(Protocol):
    """A search that can be looked at: a Study or an Optimizer."""

    @property
    def state(self) -> State:
        """The current state."""

    def importance(self) -> Importance:
        """How much each variable matters."""

    def history(self) -> History:
        """The story."""


def sign_of(state: State) -> float:
    """By which values inside are multiplied to be the user's."""
    return 1.0 if state.direction == "maximize" else -1.0


def done_of(state: State) -> list[Evaluation]:
    """The evaluations that have a value, in the order in which they finished; NothingYet if there is none."""
    if not state.finished:
        raise NothingYet("no evaluation has finished yet")
    done = [state.evaluations[number] for number in state.finished if state.evaluations[number].status == "done"]
    if not done:
        raise NothingYet(
            "the only evaluation failed"
            if len(state.finished) == 1
            else f"all {len(state.finished)} evaluations failed"
        )
    return done


def _check_different(state: State) -> None:
    """NothingYet if no two values differ: then nothing tells the variables apart."""
    done = done_of(state)
    if len(done) == 1:
        raise NothingYet("there is one value only")
    if not standardize(np.array([one.y for one in done])).any():
        raise NothingYet(
            f"all values are equal ({sign_of(state) * done[0].y:.6g}): there is nothing to learn from them"
        )


@dataclass(frozen=True)
class Axis:
    """An axis of one variable. labels: the values of a choice, whose positions are 0, 1, 2, ...; else empty."""

    name: str
    low: float
    high: float
    log: bool
    labels: tuple[str, ...]


def axis_of(state: State, j: int) -> Axis:
    """The axis of variable j."""
    name = state.space.names[j]
    variable = state.space.variables[name]
    labels = tuple(map(str, variable.values)) if isinstance(variable, Choice) else ()
    return Axis(name, float(variable.low), float(variable.high), variable.log, labels)


# ------------------------------------------------------------------------------------------------------ the search


@dataclass(frozen=True)
class Convergence:
    """Of each finished trial, in order: number, value (None if it failed) and the best value so far."""

    numbers: tuple[int, ...]
    values: tuple[float | None, ...]
    best: tuple[float | None, ...]


def convergence(state: State) -> Convergence:
    """How the best value came about."""
    done_of(state)
    sign, best = sign_of(state), None
    values: list[float | None] = []
    bests: list[float | None] = []
    for number in state.finished:
        one = state.evaluations[number]
        value = sign * one.y if one.status == "done" else None
        if value is not None and (best is None or sign * value > sign * best):
            best = value
        values.append(value)
        bests.append(best)
    return Convergence(state.finished, tuple(values), tuple(bests))


@dataclass(frozen=True)
class OverTime:
    """The search's own scores at each choice of variables, as parts of their sum. at: evaluations then.

    scores (names, at); unit: what they are.
    """

    at: tuple[int, ...]
    names: tuple[str, ...]
    scores: tuple[tuple[float, ...], ...]
    unit: str


def importance_over_time(state: State, top: int) -> OverTime:
    """Of the `top` variables with the largest scores on average.

    Scores: a selection's own; of a fit with main effects 1 / l^2, the weight of a variable in the model's squared
    distance. Of many fits, averages over a few at a time.
    """
    choices = choices_of(state)
    scores = np.array([_scores(state, choice) for choice in choices]).reshape(-1, state.D)
    useful = scores.sum(axis=1) > 0.0
    if not useful.any():
        raise _no_choice(state)
    parts = scores[useful] / scores[useful].sum(axis=1, keepdims=True)
    at, parts = _binned([choice.n for choice, good in zip(choices, useful, strict=True) if good], parts)
    leading = np.argsort(-parts.mean(axis=0), kind="stable")[:top]
    return OverTime(
        at,
        tuple(state.space.names[j] for j in leading),
        tuple(_plain(parts[:, j]) for j in leading),
        "weight in the model's squared distance" if choices[0].scales is not None else "part of the selection's scores",
    )


def _scores(state: State, choice: Chosen) -> Array:
    """(D,), zero where nothing is known."""
    scores = np.zeros(state.D)
    if choice.scales is not None:
        scores[list(state.active)] = choice.scales**-2.0
    elif isinstance(choice.event, Selected) and len(choice.event.scores) == state.D:
        scores = np.maximum(choice.event.scores, 0.0)
    return scores if np.isfinite(scores).all() else np.zeros(state.D)


def _no_choice(state: State) -> NothingYet:
    """Why no variables were chosen."""
    _check_different(state)
    if state.config.selection == "fixed" and not state.config.main_effects:
        return NothingYet("this method treats all variables alike: it chooses none")
    return NothingYet(f"no variables were chosen yet, after {len(state.finished)} evaluations")


def _binned(at: Sequence[int], rows: Array) -> tuple[tuple[int, ...], Array]:
    """Averages (k, D) of consecutive rows (m, D), and where each begins: no more than MOST_COLUMNS, and no two at the
    same number of evaluations (several workers may ask before one of them tells).
    """
    known, place = np.unique(at, return_inverse=True)
    place //= -(-len(known) // MOST_COLUMNS)
    first = np.searchsorted(place, np.arange(place[-1] + 1))
    counts = np.diff([*first, len(rows)])
    return tuple(at[i] for i in first), np.add.reduceat(rows, first, axis=0) / counts[:, None]


#: Titles of the raster, and what is filled in it.
_SELECTED = "Selected variables", "Filled while a variable was selected: the others were not modelled."
_MAIN = (
    "Variables with a main effect of their own",
    "Filled while the model had one of it: the few with the shortest length-scales get it as fits start anew.",
)


@dataclass(frozen=True)
class Raster:
    """Which variables were chosen when. at: evaluations at each choice, and now; cells (names, at - 1): 1 where a
    variable was chosen, 0 where not, and of several choices in one column the part that chose it.

    hidden: variables that were chosen, too, and are left out: those chosen least often. title, says: what a choice is.
    """

    at: tuple[int, ...]
    names: tuple[str, ...]
    cells: tuple[tuple[float, ...], ...]
    hidden: int
    title: str
    says: str


def selected(state: State, top: int) -> Raster:
    """Of the `top` variables chosen most often, the most often first."""
    choices = choices_of(state)
    if not choices:
        raise _no_choice(state)
    chosen = np.zeros((len(choices), state.D))
    for i, choice in enumerate(choices):
        chosen[i, list(choice.variables)] = 1.0
    often, start = chosen.sum(axis=0), np.argmax(chosen, axis=0)
    order = [j for j in np.lexsort((start, -often)) if often[j]]
    at, cells = _binned([choice.n for choice in choices], chosen)
    return Raster(
        (*at, max(len(state.finished), choices[-1].n + 1)),
        tuple(state.space.names[j] for j in order[:top]),
        tuple(_plain(cells[:, j]) for j in order[:top]),
        max(0, len(order) - top),
        *(_SELECTED if choices[0].scales is None else _MAIN),
    )


# ------------------------------------------------------------------------------------------------------- the model


@dataclass(frozen=True, eq=False)
class Slice:
    """The model along one variable, through the best point: x, mean, low, high (g,), with a 90 % band of f.

    points: (x, y) of all evaluations, which differ in the other variables, too; best: of the best one.
    """

    axis: Axis
    x: tuple[float, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    points: tuple[tuple[float, float], ...]
    best: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Contour:
    """The model over two variables, around the best: mean (len(y), len(x)); points (x, y, value), best (x, y)."""

    first: Axis
    second: Axis
    x: tuple[float, ...]
    y: tuple[float, ...]
    mean: tuple[tuple[float, ...], ...]
    points: tuple[tuple[float, float, float], ...]
    best: tuple[float, float]


class Model:
    """The last model of the active variables, in the user's units; NothingYet if there is none."""

    def __init__(self, state: State) -> None:
        self.state = state
        self._done = done_of(state)
        _check_different(state)
        if state.theta is None:
            raise NothingYet(f"there is no model yet after {len(state.finished)} evaluations")
        self._theta = state.theta
        try:
            with single_thread():
                self._posterior: Posterior = posterior_of(state, state.data.columns(state.active), state.theta)
        except NumericalError as error:
            raise NothingYet(f"the model cannot be computed: {error}") from None

    @cached_property
    def _best(self) -> Evaluation:
        return max(self._done, key=lambda one: one.y)

    def leading(self, importance: Importance, count: int) -> tuple[int, ...]:
        """The most important of the active variables."""
        return tuple(one.index for one in importance.ranked if one.index in self.state.active)[:count]

    def index(self, name: str) -> int:
        """Of an active variable."""
        names = self.state.space.names
        if name not in names:
            raise InputError(f"variable must be one of the study's; got {name!r}")
        j = names.index(name)
        if j not in self.state.active:
            known = ", ".join(names[k] for k in self.state.active[:20])
            raise InputError(f"variable must be one that the model has now ({known}); got {name!r}")
        return j

    def slice(self, j: int) -> Slice:
        """Along variable j."""
        grid = self._grid(j, FINE)
        points = np.tile(self._best.x, (len(grid), 1))
        points[:, j] = grid
        low, mean, high = self._predict(points)
        x, every = self._units(grid, j), self._units(np.array([one.x[j] for one in self._done]), j)
        return Slice(
            axis_of(self.state, j), _plain(x), _plain(mean), _plain(low), _plain(high),
            tuple(zip(_plain(every), _plain(self._values()), strict=True)),
            (float(self._units(self._best.x[j : j + 1], j)[0]), sign_of(self.state) * self._best.y),
        )  # fmt: skip

    def contour(self, i: int, j: int) -> Contour:
        """Over variables i (across) and j (up)."""
        across, up = self._grid(i, COARSE), self._grid(j, COARSE)
        points = np.tile(self._best.x, (len(across) * len(up), 1))
        points[:, i], points[:, j] = np.tile(across, len(up)), np.repeat(up, len(across))
        _, mean, _ = self._predict(points)
        X = np.array([one.x for one in self._done])
        xs, ys = self._units(X[:, i], i), self._units(X[:, j], j)
        at = int(np.argmax([one.y for one in self._done]))
        return Contour(
            axis_of(self.state, i), axis_of(self.state, j),
            _plain(self._units(across, i)), _plain(self._units(up, j)),
            tuple(_plain(row) for row in mean.reshape(len(up), len(across))),
            tuple(zip(_plain(xs), _plain(ys), _plain(self._values()), strict=True)), (float(xs[at]), float(ys[at])),
        )  # fmt: skip

    def _values(self) -> Array:
        return sign_of(self.state) * np.array([one.y for one in self._done])

    def _grid(self, j: int, count: int) -> Array:
        """Positions (g,) in the cube; of whole numbers and choices no more than there are."""
        space = self.state.space
        grid = np.linspace(0.0, 1.0, count)
        if space.whole[j]:
            points = np.full((count, space.D), 0.5)
            points[:, j] = grid
            variable = space.variables[space.names[j]]
            levels = int(variable.high) - int(variable.low) + 1
            if levels <= count:
                points = np.full((levels, space.D), 0.5)
                x = space.from_unit(points)
                x[:, j] = np.arange(int(variable.low), int(variable.high) + 1)
                return np.asarray(space.to_unit(x)[:, j])
            grid = np.unique(space.snap(points)[:, j])
        return grid

    def _units(self, u: Array, j: int) -> Array:
        """Positions u (g,) of variable j in the user's units; a choice as its index."""
        points = np.full((len(u), self.state.D), 0.5)
        points[:, j] = u
        return np.asarray(self.state.space.from_unit(points)[:, j])

    def _predict(self, points: Array) -> tuple[Array, Array, Array]:
        """What the model expects (k,), between the edges of 90 %: lower, middle, upper."""
        with single_thread(), np.errstate(all="ignore"):
            mean, deviation = self._posterior.predict(points[:, list(self.state.active)])
            edge, sign = NINETY * deviation, sign_of(self.state)
            low, middle, high = (sign * to_values(self.state, self._theta, z) for z in (mean - edge, mean, mean + edge))
        return np.minimum(low, high), middle, np.maximum(low, high)


# ------------------------------------------------------------------------------------------------------ the points


@dataclass(frozen=True, eq=False)
class Parallel:
    """Of the best trials, the best last: positions (trials, axes) on [0, 1] along each axis, and their values."""

    axes: tuple[Axis, ...]
    numbers: tuple[int, ...]
    positions: tuple[tuple[float, ...], ...]
    values: tuple[float, ...]


def parallel(state: State, importance: Importance, best: int, top: int) -> Parallel:
    """The `best` trials along the `top` most important variables."""
    done = sorted(done_of(state), key=lambda one: (one.y, -one.number))[-best:]  # of equals, the first is the best
    chosen = [one.index for one in importance.ranked[:top]]
    return Parallel(
        tuple(axis_of(state, j) for j in chosen),
        tuple(one.number for one in done),
        tuple(_plain(one.x[chosen]) for one in done),
        tuple(sign_of(state) * one.y for one in done),
    )


def _plain(values: Array | Sequence[float]) -> tuple[float, ...]:
    return tuple(float(value) for value in values)
