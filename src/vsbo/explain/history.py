"""The story of a search, from its log alone: what was selected and why, what came of it, what it cost, what is left."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from vsbo.arrays import Array
from vsbo.explain.importance import dataframe
from vsbo.explain.words import listed, number, plural, times


@dataclass(frozen=True)
class StepRecord:
    """One model that a selection tried: the variable added or removed, the loss (NLL) then, the gain (how much the loss
    fell; None where there was nothing to compare with), whether the variable is in afterwards, and why.
    """

    action: str
    variable: str
    loss: float
    gain: float | None
    kept: bool
    reason: str


@dataclass(frozen=True)
class Fallback:
    """Something did not work and something simpler was done: before which trial, at which stage, to what, why."""

    trial: int
    stage: str
    to: str
    reason: str


@dataclass(frozen=True)
class SearchRecord:
    """One of the searches that take turns: its name in `Config.searches`, or "bare" or "leap" (`Config.bare`,
    `Config.leaps`), how many finished points were its proposals, and how many of them were the best so far.
    """

    name: str
    points: int
    improvements: int


@dataclass(frozen=True)
class Seconds:
    """Where the time went. evaluation: the user's own, summed over trials; None where the log has no clock."""

    selection: float
    fit: float
    acquisition: float
    evaluation: float | None = None

    @property
    def own(self) -> float:
        """All but the evaluations."""
        return self.selection + self.fit + self.acquisition


@dataclass(frozen=True)
class Period:
    """The time from one choice of variables (or from the start) to the next.

    A selection is a choice. Where there are none, as with the default, a few variables have main effects in each fit:
    then a period has N_vs evaluations, and chosen are those that had one in more than half of its fits.

    number: 0 is before the first choice. n: finished evaluations when it began; trials: evaluated in it (finished).
    case: "design" for number 0, then "first", "accurate", "inaccurate" or "kept" of a selection, or "main effects";
    accurate: whether the selection before had brought a better value, None where that does not say.
    active, came_in, went_out: names of the variables chosen, and how they differ from the period before.
    gains: by how much the loss fell with each variable that came in or stayed, as far as a selection tested it.
    scales: of variables with main effects, or that lost theirs, their length-scales in the period before (None in the
    first) and in this one, medians, as parts of their ranges: those with the shortest are chosen.
    loss: the NLL of the model of all variables that a selection made, or of the period's last fit; steps: every model
    that a selection tried.
    best_before, best_after: in the user's units, None before there is one; gained: their distance, never negative;
    improvements: how many trials in it were the best so far. fallbacks and seconds: of this period.
    """

    number: int
    n: int
    trials: tuple[int, ...]
    case: str
    accurate: bool | None
    active: tuple[str, ...]
    came_in: tuple[str, ...]
    went_out: tuple[str, ...]
    gains: Mapping[str, float]
    scales: Mapping[str, tuple[float | None, float]]
    loss: float | None
    steps: tuple[StepRecord, ...]
    best_before: float | None
    best_after: float | None
    gained: float
    improvements: int
    fallbacks: tuple[Fallback, ...]
    seconds: Seconds

    @property
    def sentence(self) -> str:
        """What happened, in words."""
        return sentence_of(self)


@dataclass(frozen=True, eq=False)
class Predictions:
    """Leave-one-out: each value as the model of the active variables predicts it from all the others.

    trials: numbers (n,); observed, predicted, deviation (n,): in the user's units and sign, the deviation that of an
    observation. r2: 1 - the sum of squared errors, as the model sees values, over that of the mean of the others;
    coverage: the part of the values within their 90 % interval; rank: Spearman's correlation of predicted and observed.
    """

    trials: tuple[int, ...]
    observed: Array
    predicted: Array
    deviation: Array
    r2: float
    coverage: float
    rank: float


@dataclass(frozen=True)
class Outlook:
    """What the model expects of going on, in the user's units.

    expected: the expected improvement of the best next point over the best value; part: the same as a part of what was
    gained so far (from the median of the first values to the best); since: evaluations since the last improvement.
    """

    expected: float
    part: float
    since: int


@dataclass(frozen=True, eq=False)
class History:
    """The story. periods: one for each choice of variables, and one for the time before the first.

    convergence: (number, value, best so far) of each finished trial, in order of finishing; value None if it failed.
    predictions, outlook: None while there is no model. note: why little is known, or empty. searches: what each of
    those that take turns has brought; empty where there is one only.
    """

    periods: tuple[Period, ...]
    convergence: tuple[tuple[int, float | None, float | None], ...] = field(repr=False)
    fallbacks: tuple[Fallback, ...]
    seconds: Seconds
    predictions: Predictions | None = field(repr=False)
    outlook: Outlook | None
    note: str = ""
    searches: tuple[SearchRecord, ...] = ()

    def records(self) -> list[dict[str, Any]]:
        """One dict a period; JSON-able."""
        return [{**asdict(one), "sentence": one.sentence} for one in self.periods]

    def to_dataframe(self) -> Any:
        """The records as a pandas DataFrame; needs pandas."""
        return dataframe(self.records())

    @property
    def sentences(self) -> tuple[str, ...]:
        """The story in words: a sentence a period, then how good the model is, and what is still expected."""
        return sentences_of(self)


# ------------------------------------------------------------------------------------------------------- in words

_WHY = {
    "first": "the first choice",
    "accurate": "the last choice had brought a better value, so it was pruned and extended",
    "inaccurate": "the last choice had brought nothing better, so only its leading part was kept",
    "kept": "nothing could be learned, so the choice stayed",
}
#: What proposed a point, by its origin.
ORIGINS = {
    "model": "the model",
    "plain": "the plain search",
    "near": "the search near the best",
    "bare": "the bare model",
    "leap": "leaps",
    "design": "the design",
}


def sentence_of(period: Period) -> str:
    """A period in words."""
    text = _chosen(period) + ". "
    if not period.trials:
        return text + "No evaluation has finished since."
    if period.best_after is None:
        return text + f"None of {plural(len(period.trials), 'evaluation')} brought a value."
    if period.best_before is None:
        return text + f"{plural(len(period.trials), 'evaluation').capitalize()} led to {number(period.best_after)}."
    if period.gained > 0.0:
        ends = number(period.best_before), number(period.best_after)
        way = f"from {ends[0]} to {ends[1]}" if ends[0] != ends[1] else f"by {number(period.gained)} to {ends[1]}"
        return text + (
            f"{plural(len(period.trials), 'evaluation').capitalize()} improved the best value "
            f"{times(period.improvements)}, {way}."
        )
    return text + f"{plural(len(period.trials), 'evaluation').capitalize()} brought nothing better."


def _chosen(period: Period) -> str:
    """What was chosen, how that differs from before, and why."""
    if period.number == 0:
        return f"The search began with all {plural(len(period.active), 'variable')}"
    count = plural(len(period.active), "variable")
    if period.case == "main effects":
        text = f"From evaluation {period.n + 1} on, {count} had a main effect in most fits, by short length-scales"
        notes = {name: _scales(*both) for name, both in period.scales.items()}
    else:
        why = _WHY.get(period.case, period.case)
        chosen = "was" if len(period.active) == 1 else "were"
        text = f"After {plural(period.n, 'evaluation')}, {count} {chosen} chosen ({why})"
        notes = {name: f"loss {-gain:+.3g}" for name, gain in period.gains.items()}
    parts = []
    if period.came_in:
        parts.append(f"in came {listed(period.came_in, notes)}")
    if period.went_out:
        # What the loss would be with them is of no interest any more; their length-scales say why they left.
        parts.append(f"out went {listed(period.went_out, notes if period.scales else None)}")
    return text + ": " + ("; ".join(parts) if parts else "the same as before")


def _proposed(search: SearchRecord) -> str:
    better = times(search.improvements) if search.improvements else "never"
    return f"{plural(search.points, 'point')} by {ORIGINS[search.name]} (the best so far {better})"


def _scales(before: float | None, now: float) -> str:
    return f"{now:.2g}" if before is None else f"{before:.2g} to {now:.2g}"


def sentences_of(history: History) -> tuple[str, ...]:
    """The whole story in words."""
    told = [period.sentence for period in history.periods if period.trials or period.number]
    proposed = [_proposed(one) for one in history.searches if one.points]
    if proposed:
        told.append(f"Proposed were {', '.join(proposed)}.")
    if history.fallbacks:
        stages = sorted({fallback.stage for fallback in history.fallbacks})
        used = "was" if len(history.fallbacks) == 1 else "were"
        told.append(f"{plural(len(history.fallbacks), 'fallback')} {used} used (in {listed(stages)}).")
    found = history.predictions
    if found is not None:
        good = "good" if found.r2 >= 0.8 else "fair" if found.r2 >= 0.4 else "poor"
        told.append(
            f"The model is {good}: left out, a value is predicted with R2 = {found.r2:.2f}, and "
            f"{100 * found.coverage:.0f} % lie within their 90 % interval."
        )
    if history.outlook is not None:
        told.append(
            f"The next evaluation is expected to improve the best value by {number(history.outlook.expected)}, "
            f"{100 * history.outlook.part:.2g} % of what was gained so far; the last improvement was "
            f"{plural(history.outlook.since, 'evaluation')} ago."
        )
    if history.note:
        told.append(history.note[0].upper() + history.note[1:] + ".")
    return tuple(told)
