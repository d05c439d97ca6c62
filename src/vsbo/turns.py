"""Where the next point is sought: several searches take turns, by what each has brought lately.

No one model is right everywhere: length-scales of their own and main effects find the few variables that matter and the
modes of functions that are nearly sums, and trust themselves too much on others; a plain model, in which all variables
are nearly alike, follows what many of them do together; and late in a run small gains lie around the best point, where
expected improvement over the whole cube does not look. So each gets turns by its successes, drawn by
Thompson sampling (Beta-Bernoulli, in which the past fades). Nothing is stored for it: it follows from the trials.

A third model is between the two: length-scales of their own, but no main effects ("bare"). Where few variables matter
it foretells better than the plain one from the first points on, and then it takes its place for a while: which of the
two a search goes by follows from the densities that they gave to the values before those came.

While the model is of squeezed values, there is no plain search over the cube: plain and bare are of the values as they
are, and far from the best point a few outliers decide what they expect. But squeezed values make a model too sure of
what it has not seen, so that every tenth point is by the bare one then.

And from 60 evaluations on every tenth point is a leap: the best point with one variable, of those with main effects,
far from where it is. Late in a run a part of the range of a variable that matters may not have been seen at all, while
the model is sure of it. While that is of squeezed values it is surer still: then every fifth point is a leap, goes by
the bare model, and moves two variables together.
"""

from dataclasses import replace
from typing import Literal

import numpy as np

from vsbo.arrays import Array
from vsbo.config import ModelName, SearchName
from vsbo.data import standardize
from vsbo.errors import NumericalError
from vsbo.models import foretold
from vsbo.rng import Purpose, stream
from vsbo.state import State

#: What a success or a forecast counts an evaluation later: of the last 33 evaluations, about.
FADING = 0.97
#: Part of what was gained over the median so far that counts as a success.
NOTICED = 1e-3
#: The box around the best point, on average over the variables that matter: its side at first, at the least and at the
#: most. A success doubles it, four failures halve it: TuRBO's sides, by single steps.
FIRST_SIDE, LEAST_SIDE, MOST_SIDE = 0.8, 0.01, 1.6
#: Its side at first while the model is of squeezed values. The plain one is of the values as they are, in which a few
#: outliers decide; that this is why a small box is better there is a guess. 0.2 and 0.05 bring as much.
FIRST_SIDE_SQUEEZED = 0.1
GROWTH, SHRINKAGE = 2.0, 2.0**-0.25
#: The most that one forecast can count, in nats: an outlier surprises every model, and some of them by hundreds. With 5
#: the gains were no different beyond their errors.
TELLING = 2.0
#: Evaluations until which the bare model may take the plain one's place. With 100 values are worse from there on: we
#: suppose that the model with main effects knows by then what the bare one does, and that another one is of more use.
BARE_UNTIL = 60
#: While the model is of squeezed values, one of so many points is by the bare one. Where runs of Branin50 are stuck at
#: a lesser maximum, the model excludes the better place by four deviations, the bare one by one.
BARE_EVERY = 10
#: After so many evaluations, one of so many points is a leap. One of five found no more on Styblinski-Tang4-50 and cost
#: MOPTA08 and Cosines100 more; leaps of another kind that began at 30 cost three functions their first 50 evaluations
#: (docs/experiments.md, tenth and fifteenth round).
LEAPS_FROM, LEAP_EVERY = 60, 10
#: The same while the model is of squeezed values. With one of ten, three of sixty runs of Branin50 ended at a lesser
#: maximum of the second block, with one of five one, with one of three none; what it costs is evaluations, on Lasso300
#: (docs/experiments.md, 192).
LEAP_EVERY_SQUEEZED = 5


def next_search(state: State) -> SearchName | Literal["bare", "leap"]:
    """Which search proposes the next point. The configured model comes first: without it there is nothing to tell."""
    searches = state.config.searches
    if len(searches) == 1 or state.theta is None:
        return "model"
    if leap_due(state):
        return "leap"
    if state.theta.squeezed:  # the evidence is against values as they are, and the plain model is of those
        if state.config.bare and state.next_number % BARE_EVERY == 0:
            return "bare"
        searches = tuple(search for search in searches if search != "plain")
    origins, success = successes(state)
    weights = FADING ** np.arange(len(success))[::-1]
    gained = [float(weights[success & (origins == search)].sum()) for search in searches]
    spent = [float(weights[origins == search].sum()) for search in searches]
    rng = stream(state.seed, state.next_number, Purpose.TURN)
    drawn = [rng.beta(1.0 + won, 1.0 + used - won) for won, used in zip(gained, spent, strict=True)]
    return searches[int(np.argmax(drawn))]


def leap_due(state: State) -> bool:
    """Whether the next point is a leap: one variable that has a main effect far away, all others at the best point."""
    if not (state.config.leaps and state.all_active and state.theta is not None and state.theta.main):
        return False
    every = LEAP_EVERY_SQUEEZED if state.theta.squeezed else LEAP_EVERY
    return len(state.finished) >= LEAPS_FROM and state.next_number % every == every - 1


def successes(state: State) -> tuple[Array, Array]:
    """Of the finished trials that a search proposed, in their order: which one (k,), and whether the value was
    noticeably better than all before it (k,).
    """
    done = [state.evaluations[number] for number in state.finished]
    values = np.array([e.y if e.status == "done" else -np.inf for e in done])
    origins = np.array([e.origin for e in done])
    best = np.maximum.accumulate(values)
    least = NOTICED * (best[-1] - np.median(values[np.isfinite(values)]))
    before = np.r_[-np.inf, best[:-1]]
    proposed = np.isin(origins, state.config.searches)
    return origins[proposed], (values > before + least)[proposed]


def side_of_box(state: State) -> float:
    """The average side of the box around the best point, after what was found near it so far."""
    origins, success = successes(state)
    squeezed = state.theta is not None and state.theta.squeezed
    side = FIRST_SIDE_SQUEEZED if squeezed else FIRST_SIDE
    for found in success[origins == "near"]:
        side = min(side * GROWTH, MOST_SIDE) if found else max(side * SHRINKAGE, LEAST_SIDE)
    return side


def models_of(search: str, state: State) -> tuple[ModelName, ...]:
    """The models that are fitted for a search. A known kernel is the only model there is."""
    if search == "model" or state.config.known_kernel is not None:
        return ("model",)
    if search == "leap":
        squeezed = state.theta is not None and state.theta.squeezed
        # A fit may find in the midst of an ask that values are to be squeezed; the bare model must be there by then.
        double = state.config.bare and state.config.double_leaps and state.bare.theta is not None
        return ("bare",) if squeezed and double else ("model",)
    if search == "bare":
        return ("bare",)
    contest = state.config.bare and len(state.finished) < BARE_UNTIL
    return ("plain", "bare") if contest else ("plain",)


def model_of(search: str, state: State) -> ModelName:
    """The one of them that a search goes by."""
    return models_of(search, state)[-1 if state.ahead > 0.0 else 0]


def as_seen_by(model: ModelName, state: State) -> State:
    """The state with this model in it, in place of the configured one. The plain one: a squared exponential with
    variance 1, in which all variables are nearly alike. The bare one: the configured one without main effects. Both are
    of the values as they are.
    """
    if model == "model":
        return state
    config = replace(state.config, main_effects=0, squeeze=False)
    if model == "plain":
        config = replace(config, kernel="squared_exponential", outputscale="one", prior="alike")
    last = state.plain if model == "plain" else state.bare
    return replace(state, config=config, theta=last.theta, fitted_at=last.fitted_at, cold_at=last.cold_at)


def ahead(state: State) -> float:
    """Nats by which the bare model has foretold values better than the plain one lately, with those that came since
    both were last fitted. Where all values were equal until then, nothing was foretold: there was no unit.
    """
    since, n, known = max(state.plain.fitted_at, state.bare.fitted_at), len(state.finished), state.ahead
    if state.plain.theta is None or state.bare.theta is None or since == n or n >= BARE_UNTIL:
        return known
    if not standardize(state.data.values[:since]).any():
        return known
    try:
        better = foretold(as_seen_by("bare", state), since) - foretold(as_seen_by("plain", state), since)
    except NumericalError:
        return known
    for nats in np.clip(np.nan_to_num(better), -TELLING, TELLING):
        known = FADING * known + float(nats)
    return known
