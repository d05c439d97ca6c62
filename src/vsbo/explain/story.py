"""`history_of(state)`: the log of a search as a story."""

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vsbo.arrays import Array, frozen
from vsbo.errors import NumericalError
from vsbo.explain.choices import Chosen, choices_of
from vsbo.explain.history import Fallback, History, Outlook, Period, Predictions, SearchRecord, Seconds, StepRecord
from vsbo.explain.leave_one_out import leave_one_out
from vsbo.linalg import single_thread
from vsbo.models import expected_gain, posterior_of, to_values
from vsbo.selection import Step
from vsbo.state import Added, Asked, Failed, Fell, Fitted, Selected, State, Told

#: A normal observation lies within so many deviations in 90 of 100 cases.
NINETY = 1.6448536269514722


def history_of(state: State, evaluating: Mapping[int, float] | None = None) -> History:
    """The story of a state. evaluating: seconds that trials took, by number, where that is known.

    Read from the log; the past is not fitted again. Leave-one-out and outlook are those of the last model.
    """
    sign = 1.0 if state.direction == "maximize" else -1.0
    chapters = _chapters(state)
    best: float | None = None
    convergence: list[tuple[int, float | None, float | None]] = []
    periods = []
    proposed, improved = Counter[str](), Counter[str]()
    for number, chapter in enumerate(chapters):
        before, improvements = best, 0
        for trial in chapter.trials:
            y = state.evaluations[trial].y
            counts = state.evaluations[trial].status == "done"
            proposed[state.evaluations[trial].origin] += 1
            if counts and (best is None or y > best):
                best, improvements = y, improvements + 1
                improved[state.evaluations[trial].origin] += 1
            convergence.append((trial, sign * y if counts else None, None if best is None else sign * best))
        periods.append(_period(state, number, chapters, before, best, improvements, sign, evaluating))
    done = [one for one in state.evaluations if one.status == "done"]
    note = "no evaluation has finished yet" if not state.finished else "every evaluation failed" if not done else ""
    with single_thread(), np.errstate(all="ignore"):
        predictions, outlook = _predictions(state, sign), _outlook(state)
    if not note and predictions is None:
        equal = len({one.y for one in done}) == 1 < len(done)
        note = f"all {len(done)} values are equal" if equal else "there is no model of the values yet"
    several = state.config.searches if len(state.config.searches) > 1 else ()
    beside = [name for name in ("bare", "leap") if proposed[name]]
    return History(
        periods=tuple(periods),
        convergence=tuple(convergence),
        fallbacks=tuple(fallback for period in periods for fallback in period.fallbacks),
        seconds=_sum(period.seconds for period in periods),
        predictions=predictions,
        outlook=outlook,
        note=note,
        searches=tuple(SearchRecord(name, proposed[name], improved[name]) for name in (*several, *beside)),
    )


@dataclass(eq=False)
class _Chapter:
    """What the log has between two choices; choices: the one that began it and, of fits, those that it has in all."""

    n: int
    active: tuple[int, ...]
    choices: list[Chosen] = field(default_factory=list)
    trials: list[int] = field(default_factory=list)
    fallbacks: list[Fallback] = field(default_factory=list)
    fit: float = 0.0
    acquisition: float = 0.0

    @property
    def selection(self) -> Selected | None:
        """The selection that began it, if one did."""
        event = self.choices[0].event if self.choices else None
        return event if isinstance(event, Selected) else None


def _chapters(state: State) -> list[_Chapter]:
    every = range(state.D) if state.config.variables is None else sorted(state.config.variables)
    chapters = [_Chapter(0, tuple(every))]
    waiting: list[Fallback] = []
    asked = 0
    choices = deque(choices_of(state))
    for event in state.log:
        now = chapters[-1]
        if choices and choices[0].event is event:
            choice = choices.popleft()
            if isinstance(event, Selected):
                active = now.active if event.theta is None else event.active
                now = _Chapter(choice.n, active, fallbacks=waiting)
                waiting = []
                chapters.append(now)
            elif not now.choices or choice.n - now.n >= state.config.select_every:
                now = _Chapter(choice.n, ())
                chapters.append(now)
            now.choices.append(choice)
        match event:
            case Fell(stage, to, reason):
                fallback = Fallback(asked, stage, to, reason)
                # What made a selection fail comes just before it, and belongs to it.
                (waiting if stage == "selection" else now.fallbacks).append(fallback)
            case Asked():
                now.acquisition, asked = now.acquisition + event.seconds, event.number + 1
            case Added(number):
                now.trials.append(number)
                asked = number + 1
            case Told(number) | Failed(number):
                now.trials.append(number)
            case Fitted():
                now.fit += event.seconds
    chapters[-1].fallbacks += waiting
    for chapter in chapters:
        if chapter.choices and chapter.selection is None:
            chapter.active = _mostly([choice.variables for choice in chapter.choices])
    return chapters


def _mostly(sets: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """What is in more than half of the sets."""
    counts = Counter(j for one in sets for j in one)
    return tuple(sorted(j for j, count in counts.items() if 2 * count > len(sets)))


def _period(
    state: State,
    number: int,
    chapters: Sequence[_Chapter],
    before: float | None,
    after: float | None,
    improvements: int,
    sign: float,
    evaluating: Mapping[int, float] | None,
) -> Period:
    chapter, event = chapters[number], chapters[number].selection
    names = state.space.names
    # Until the first choice all variables were modelled, none of them chosen: then nothing "went out".
    earlier = chapters[number - 1] if number and chapters[number - 1].choices else None
    last = set() if earlier is None else set(earlier.active)
    gone = sorted(last - set(chapter.active))
    case = "design" if not chapter.choices else "main effects" if event is None else event.case
    steps = () if event is None else event.steps
    losses = [event.loss] if event is not None else [choice.event.loss for choice in chapter.choices[-1:]]
    return Period(
        number=number,
        n=chapter.n,
        trials=tuple(chapter.trials),
        case=case,
        accurate={"accurate": True, "inaccurate": False}.get(case),
        active=tuple(names[j] for j in chapter.active),
        came_in=tuple(names[j] for j in chapter.active if j not in last) if chapter.choices else (),
        went_out=tuple(names[j] for j in gone),
        gains=_gains(steps, names),
        scales=_scales(state, chapter, earlier, (*chapter.active, *gone)),
        loss=next((loss for loss in losses if np.isfinite(loss)), None),
        steps=tuple(StepRecord(s.action, names[s.variable], s.loss, s.drop, s.kept, s.reason) for s in steps),
        best_before=None if before is None else sign * before,
        best_after=None if after is None else sign * after,
        gained=0.0 if before is None or after is None else after - before,
        improvements=improvements,
        fallbacks=tuple(chapter.fallbacks),
        seconds=Seconds(
            selection=0.0 if event is None else event.seconds,
            fit=chapter.fit,
            acquisition=chapter.acquisition,
            evaluation=None if evaluating is None else sum(evaluating.get(trial, 0.0) for trial in chapter.trials),
        ),
    )


def _scales(
    state: State, chapter: _Chapter, earlier: _Chapter | None, variables: Sequence[int]
) -> dict[str, tuple[float | None, float]]:
    """Median length-scales of some variables by which main effects were chosen: in the chapter before, and in this."""
    if not chapter.choices or chapter.selection is not None:
        return {}
    columns = [state.active.index(j) for j in variables]
    now = _median_scales(chapter, columns)
    before = [None] * len(columns) if earlier is None else _median_scales(earlier, columns)
    return {state.space.names[j]: (before[i], now[i]) for i, j in enumerate(variables)}


def _median_scales(chapter: _Chapter, columns: list[int]) -> list[Any]:
    scales = [choice.scales[columns] for choice in chapter.choices if choice.scales is not None]
    return [float(one) for one in np.median(scales, axis=0)]


def _gains(steps: Sequence[Step], names: Sequence[str]) -> dict[str, float]:
    """By how much the loss is lower with a variable than without it, as the last test of it says."""
    return {
        names[step.variable]: step.drop if step.action == "add" else -step.drop
        for step in steps
        if step.drop is not None
    }


def _sum(parts: Iterable[Seconds]) -> Seconds:
    every = list(parts)
    clock = [one.evaluation for one in every if one.evaluation is not None]
    return Seconds(
        sum(one.selection for one in every),
        sum(one.fit for one in every),
        sum(one.acquisition for one in every),
        sum(clock) if clock else None,
    )


# ----------------------------------------------------------------------------------------- the model, as it is now


def _predictions(state: State, sign: float) -> Predictions | None:
    values = state.data.values
    if state.theta is None or len(values) < 3 or not np.ptp(values) > 0.0:
        return None
    try:
        posterior = posterior_of(state, state.data.columns(state.active), state.theta)
    except NumericalError:
        return None
    mean, deviation = leave_one_out(posterior)
    # In the user's units; of squeezed values the deviation is half the way from one below to one above.
    low, middle, high = (to_values(state, state.theta, mean + k * deviation) for k in (-1.0, 0.0, 1.0))
    done = np.array([state.evaluations[number].status == "done" for number in state.finished])
    observed, predicted, spread = values[done], middle[done], (0.5 * (high - low))[done]
    n = len(observed)
    if n < 3 or not np.ptp(observed) > 0.0:
        return None
    # As the model sees the values: in their own units the few that were squeezed most would decide R2.
    z, errors = posterior.y[done], (posterior.y - mean)[done]
    # The mean of the others predicts z_i with the error (z_i - mean) n / (n - 1).
    plain = (z - z.mean()) * n / (n - 1.0)
    return Predictions(
        trials=tuple(number for number, good in zip(state.finished, done, strict=True) if good),
        observed=frozen(sign * observed),
        predicted=frozen(sign * predicted),
        deviation=frozen(spread),
        r2=1.0 - float(errors @ errors) / float(plain @ plain),
        coverage=float(np.mean(np.abs(errors) <= NINETY * deviation[done])),
        rank=_rank_correlation(observed, predicted),
    )


def _rank_correlation(a: Array, b: Array) -> float:
    """Spearman's; equal values share the average of their ranks."""
    if np.ptp(a) == 0.0 or np.ptp(b) == 0.0:
        return 0.0
    ordered = [(one, np.sort(one)) for one in (a, b)]
    ranks = [np.searchsorted(s, one, "left") + np.searchsorted(s, one, "right") for one, s in ordered]
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def _outlook(state: State) -> Outlook | None:
    part = expected_gain(state)
    if part is None or state.best is None:
        return None
    values = state.data.values
    gained = float(np.max(values) - np.median(values[: state.config.n_initial]))
    since = len(state.finished) - 1 - state.finished.index(state.best.number)
    return Outlook(part * gained, part, since)
