"""The state of a search: a value, the events that change it, and how a log of events becomes a state again.

    state = extend(state, events)          State.new(...) is the empty one
    text  = state.to_json()                the header and the log, as plain JSON
    state = State.from_json(text)          replays the log; nothing is fitted again

Inside, points are in the unit cube and values are maximized. What the search did and why is in `state.log`.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from vsbo._version import __version__
from vsbo.arrays import Array, frozen
from vsbo.complement import Cma, cma_from_design, cma_update
from vsbo.config import Config, ModelName
from vsbo.data import Data
from vsbo.errors import InputError, StateError, TrialError
from vsbo.gp import Hyperparameters
from vsbo.linalg import single_thread
from vsbo.rng import seed_from
from vsbo.selection import Step
from vsbo.space import Space

FORMAT = "vsbo-state"
VERSION = 1

Direction = Literal["minimize", "maximize"]
Status = Literal["pending", "done", "failed"]


# ---------------------------------------------------------------------------------------------------- events


@dataclass(frozen=True, eq=False)
class Asked:
    """A point was given out. origin: "design", a search of the configuration ("model", "plain", "near") or beside it
    ("bare", "leap"), "evolution" (the last fallback) or "given" (the user's).
    """

    number: int
    x: Array
    origin: str
    seconds: float = 0.0


@dataclass(frozen=True, eq=False)
class Added:
    """A point that was evaluated elsewhere; y is NaN if that failed."""

    number: int
    x: Array
    y: float
    reason: str = ""


@dataclass(frozen=True, eq=False)
class Told:
    """The value of a point, finite."""

    number: int
    y: float


@dataclass(frozen=True, eq=False)
class Failed:
    """A point without a value: an exception, a NaN, an infinity."""

    number: int
    reason: str


@dataclass(frozen=True, eq=False)
class Selected:
    """A selection, after n finished evaluations: which variables, and why.

    case: "first", "accurate", "inaccurate" (Algorithm 3), or "kept" where nothing could be learned.
    scores (D,): importance in the full model; loss, theta_full: that model's NLL and hyper-parameters; theta: those of
    the model of the selected variables, where the next fit starts.
    """

    n: int
    case: str
    active: tuple[int, ...]
    scores: Array
    loss: float
    steps: tuple[Step, ...]
    theta_full: Hyperparameters | None
    theta: Hyperparameters | None
    seconds: float = 0.0


@dataclass(frozen=True, eq=False)
class Adapted:
    """The evolution strategy was told these trials: the design if it is the first time, then a generation at a time.

    The new distribution follows from them and is not written down: D^2 numbers every N_vs evaluations would be most
    of the log, and replaying an update costs a matrix product and an eigendecomposition.
    """

    numbers: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Fitted:
    """The model of the active variables was fitted; the next fit starts there.

    cold_at: after how many evaluations, if cold starts took part; otherwise 0. of: "model", the configured one, or one
    of those that take turns with it (turns.py). ahead: of the bare one, the nats by which it has foretold values better
    than the plain one lately.
    """

    theta: Hyperparameters
    loss: float
    start: str
    evaluations: int
    cold_at: int = 0
    seconds: float = 0.0
    of: ModelName = "model"
    ahead: float = 0.0


@dataclass(frozen=True, eq=False)
class Fell:
    """A fallback was used: at which stage, to what, why."""

    stage: str
    to: str
    reason: str


Event = Asked | Added | Told | Failed | Selected | Adapted | Fitted | Fell
_EVENTS: dict[str, type[Event]] = {
    kind.__name__: kind for kind in (Asked, Added, Told, Failed, Selected, Adapted, Fitted, Fell)
}


# ----------------------------------------------------------------------------------------------------- state


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A trial as the state knows it: x (D,) in the cube, y maximized."""

    number: int
    x: Array
    origin: str
    status: Status = "pending"
    y: float = np.nan
    reason: str = ""


@dataclass(frozen=True)
class LastFit:
    """Of a model that takes turns with the configured one: its hyper-parameters, and how many evaluations were finished
    when it was last fitted, and with cold starts.
    """

    theta: Hyperparameters | None = None
    fitted_at: int = 0
    cold_at: int = 0


@dataclass(frozen=True, eq=False)
class State:
    """Everything the next proposal depends on.

    finished: trial numbers in the order in which they came back. active: the variables that are modelled.
    selected_at, adapted_at: how many evaluations were finished at the last selection, and told to the strategy so far.
    fitted_at, cold_at: how many were finished when the active variables were last fitted, and with cold starts.
    theta: hyper-parameters of the last fit of the active variables; theta_full: of the last full model. plain, bare:
    the last fits of those models; ahead: nats by which the bare one has foretold values better than the plain one.
    """

    space: Space
    direction: Direction
    seed: int
    config: Config
    active: tuple[int, ...]
    evaluations: tuple[Evaluation, ...] = ()
    finished: tuple[int, ...] = ()
    selected_at: int = 0
    adapted_at: int = 0
    fitted_at: int = 0
    cold_at: int = 0
    theta: Hyperparameters | None = None
    theta_full: Hyperparameters | None = None
    plain: LastFit = LastFit()
    bare: LastFit = LastFit()
    ahead: float = 0.0
    strategy: Cma | None = None
    log: tuple[Event, ...] = field(default=(), repr=False)

    @classmethod
    def new(cls, space: Space, direction: Direction, seed: int, config: Config) -> "State":
        """A search that has not begun. All variables are active at first (Algorithm 1, line 3)."""
        if direction not in get_args(Direction):
            raise InputError(f"direction must be one of {list(get_args(Direction))}; got {direction!r}")
        config.check_dimension(space.D)
        active = tuple(range(space.D)) if config.variables is None else tuple(sorted(config.variables))
        return cls(space, direction, seed, config, active)

    @property
    def D(self) -> int:
        """The number of variables."""
        return self.space.D

    @property
    def next_number(self) -> int:
        """The number of the next trial; it also addresses that trial's randomness."""
        return len(self.evaluations)

    @property
    def all_active(self) -> bool:
        """Whether every variable is modelled."""
        return len(self.active) == self.D

    @property
    def selected(self) -> tuple[int, ...]:
        """The variables that were picked out: those with a main effect of their own, where the model has such, and
        otherwise those that are modelled.
        """
        main = () if self.theta is None else self.theta.main
        return tuple(self.active[column] for column in main) or self.active

    @cached_property
    def data(self) -> Data:
        """The observations in the order in which they finished, and the pending points."""
        done = [self.evaluations[number] for number in self.finished]
        pending = [e.x for e in self.evaluations if e.status == "pending"]
        return Data(
            X=np.array([e.x for e in done]).reshape(-1, self.D),
            y=np.array([e.y for e in done], dtype=np.float64),
            pending=np.array(pending).reshape(-1, self.D),
            levels=self.space.levels if self.config.discrete else (),
        )

    @property
    def best(self) -> Evaluation | None:
        """The evaluation with the largest value; the first one if several are equal."""
        done = [e for e in self.evaluations if e.status == "done"]
        return max(done, key=lambda e: e.y, default=None)

    @property
    def selections(self) -> tuple[Selected, ...]:
        """All selections so far."""
        return tuple(event for event in self.log if isinstance(event, Selected))

    # ------------------------------------------------------------------------------------------------- JSON

    def to_json(self) -> str:
        """Header and log as JSON text, exact to the last bit of every number."""
        return json.dumps(
            {
                "format": FORMAT,
                "version": VERSION,
                "vsbo": __version__,
                "space": self.space.to_plain(),
                "direction": self.direction,
                "seed": self.seed,
                "config": self.config.to_plain(),
                "events": [event_to_plain(event) for event in self.log],
            }
        )

    @classmethod
    def from_json(cls, text: str) -> "State":
        """The inverse of `to_json`; a StateError says what is wrong with the text."""
        try:
            plain = json.loads(text)
        except ValueError as error:
            raise StateError(f"the saved state is not JSON: {error}") from None
        if not isinstance(plain, Mapping) or plain.get("format") != FORMAT:
            raise StateError(f'the text is JSON but no saved state: it lacks "format": "{FORMAT}"')
        if plain.get("version") != VERSION:
            raise StateError(
                f"the saved state has version {plain.get('version')!r} (written by vsbo {plain.get('vsbo')}); "
                f"this vsbo {__version__} reads version {VERSION}: use a vsbo that is at least as new"
            )
        try:
            empty = cls.new(
                Space.from_plain(plain["space"]),
                plain["direction"],
                seed_from(plain["seed"]),
                Config.from_plain(plain["config"]),
            )
            return extend(empty, [event_from_plain(event) for event in plain["events"]])
        except StateError:
            raise
        except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
            raise StateError(f"the saved state is damaged: {type(error).__name__}: {error}") from error


def extend(state: State, events: Iterable[Event], known: tuple[int, Cma] | None = None) -> State:
    """The state after these events.

    known: the evolution strategy as it was after so many evaluations were told to it, if the events pass that point:
    what came before need not be computed again, which takes a decomposition of a (D, D) matrix a generation.
    """
    events = tuple(events)
    if not events:
        return state  # with what it has worked out already
    for event in events:
        if known is not None and isinstance(event, Adapted) and state.adapted_at + len(event.numbers) <= known[0]:
            state = replace(state, strategy=known[1], adapted_at=state.adapted_at + len(event.numbers))
        else:
            state = _apply(state, event)
    return replace(state, log=state.log + events)


def _apply(state: State, event: Event) -> State:
    match event:
        case Asked(number, x, origin):
            return _with_new(state, Evaluation(number, x, origin))
        case Added(number, x, y, reason):
            status: Status = "failed" if np.isnan(y) else "done"
            state = _with_new(state, Evaluation(number, x, "added", status, y, reason))
            return replace(state, finished=(*state.finished, number))
        case Told(number, y):
            if not np.isfinite(y):
                raise TrialError(f"trial {number} must be told a finite value; got {y}")
            return _with_result(state, number, status="done", y=y)
        case Failed(number, reason):
            return _with_result(state, number, status="failed", reason=reason)
        case Selected():
            if event.theta is None:
                return replace(state, selected_at=event.n)
            same = event.active == state.active
            return replace(
                state,
                active=event.active,
                selected_at=event.n,
                theta=event.theta,
                theta_full=event.theta_full,
                plain=state.plain if same else LastFit(),
                bare=state.bare if same else LastFit(),
                ahead=state.ahead if same else 0.0,
            )
        case Adapted(numbers):
            told = [state.evaluations[number] for number in numbers]
            if state.strategy is None:  # the mean of the design's better half: of its successes, if there are any
                told = [evaluation for evaluation in told if evaluation.status == "done"] or told
            X = np.array([evaluation.x for evaluation in told])
            # A failure is the worst of its generation.
            ranks = np.array([evaluation.y if evaluation.status == "done" else -np.inf for evaluation in told])
            with single_thread():  # as in `ask`: a replay must round as the search did
                if state.strategy is None:
                    strategy = cma_from_design(X, ranks, state.config.cma_sigma)
                else:
                    strategy = cma_update(state.strategy, X, ranks)
            return replace(state, strategy=strategy, adapted_at=state.adapted_at + len(numbers))
        case Fitted(theta, of="plain"):
            last = LastFit(theta, len(state.finished), event.cold_at or state.plain.cold_at)
            return replace(state, plain=last)
        case Fitted(theta, of="bare"):
            last = LastFit(theta, len(state.finished), event.cold_at or state.bare.cold_at)
            return replace(state, bare=last, ahead=event.ahead)
        case Fitted(theta):
            n, cold = len(state.finished), event.cold_at or state.cold_at
            return replace(state, theta=theta, fitted_at=n, cold_at=cold)
        case Fell():
            return state


def _with_new(state: State, evaluation: Evaluation) -> State:
    if evaluation.number != state.next_number:
        raise TrialError(f"trial {evaluation.number} is out of order: the next number is {state.next_number}")
    if evaluation.x.shape != (state.D,):
        raise TrialError(f"trial {evaluation.number} must have x of shape ({state.D},); got {evaluation.x.shape}")
    if not ((evaluation.x >= 0.0) & (evaluation.x <= 1.0)).all():
        raise TrialError(f"trial {evaluation.number} must have x in the unit cube")
    return replace(state, evaluations=(*state.evaluations, evaluation))


def _with_result(state: State, number: int, **result: Any) -> State:
    if not 0 <= number < state.next_number:
        raise TrialError(f"trial {number} is unknown: the next number is {state.next_number}")
    if state.evaluations[number].status != "pending":
        raise TrialError(f"trial {number} was told already")
    before, after = state.evaluations[:number], state.evaluations[number + 1 :]
    told = replace(state.evaluations[number], **result)
    return replace(state, evaluations=(*before, told, *after), finished=(*state.finished, number))


# ------------------------------------------------------------------------------------- events as plain values


def event_to_plain(event: Event, array: Callable[[Array], Any] = np.ndarray.tolist) -> dict[str, Any]:
    """JSON-able: {"event": name, field: value, ...}. NaN and infinities become strings: JSON has none.

    array: what stands for an array; a list, unless the caller keeps its numbers elsewhere.
    """
    return {"event": type(event).__name__, **_plain(event, array)}


def event_from_plain(plain: Mapping[str, Any]) -> Event:
    """The inverse of `event_to_plain`."""
    values = dict(plain)
    kind = _EVENTS.get(values.pop("event", ""))
    if kind is None:
        raise StateError(f"unknown event {plain.get('event')!r}; known are {sorted(_EVENTS)}")
    if kind is Fitted and values.pop("plain", False):  # as it was saved when there were two models
        values["of"] = "plain"
    for name, value in values.items():
        if name in ("x", "scores"):
            values[name] = frozen(value)
        elif name in ("theta", "theta_full") and value is not None:
            values[name] = Hyperparameters.from_plain(value)
        elif name == "steps":
            values[name] = tuple(_step_from_plain(step) for step in value)
        elif name in ("y", "loss"):
            values[name] = float(value)
        elif isinstance(value, list):
            values[name] = tuple(value)
    return kind(**values)


def _step_from_plain(plain: Mapping[str, Any]) -> Step:
    drop = plain["drop"]
    return Step(**{**plain, "loss": float(plain["loss"]), "drop": None if drop is None else float(drop)})


def _plain(value: Any, array: Callable[[Array], Any]) -> Any:
    if isinstance(value, np.ndarray):
        return array(value)
    if is_dataclass(value):
        return {item.name: _plain(getattr(value, item.name), array) for item in fields(value)}
    if isinstance(value, tuple):
        return [_plain(item, array) for item in value]
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value
