"""Where the next point is sought: several searches take turns, by what each has brought lately.

No one model is right everywhere: length-scales of their own and main effects find the few variables that matter and the
modes of functions that are nearly sums, and trust themselves too much on others; a plain model, in which all variables
are nearly alike, follows what many of them do together; and late in a run small gains lie around the best point, where
expected improvement over the whole cube does not look. So each gets turns by its successes, drawn by
Thompson sampling (Beta-Bernoulli, in which the past fades). Nothing is stored for it: it follows from the trials.
While the model is of squeezed values, the plain one searches near the best point only: it is of the values as they are,
and far from the best point a few outliers decide what it expects. But squeezed values make a model too sure of what it
has not seen, so every tenth point is then by one of the values as they are ("unsqueezed"), without main effects.
"""

from dataclasses import replace
from typing import Literal

import numpy as np

from vsbo.arrays import Array
from vsbo.config import SearchName
from vsbo.rng import Purpose, stream
from vsbo.state import State

#: What a success counts an evaluation later: of the last 33 evaluations, about.
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
#: While the model is of squeezed values, one of so many points is by a model of the values as they are. Where runs of
#: Branin50 are stuck at a lesser maximum, the first excludes the better place by four deviations, the second by one.
UNSQUEEZED_EVERY = 10


def next_search(state: State) -> SearchName | Literal["unsqueezed"]:
    """Which search proposes the next point. The configured model comes first: without it there is nothing to tell."""
    searches = state.config.searches
    if len(searches) == 1 or state.theta is None:
        return "model"
    if state.theta.squeezed:  # the evidence is against values as they are, and the plain model is of those
        if state.next_number % UNSQUEEZED_EVERY == 0:
            return "unsqueezed"
        searches = tuple(search for search in searches if search != "plain")
    origins, success = successes(state)
    weights = FADING ** np.arange(len(success))[::-1]
    gained = [float(weights[success & (origins == search)].sum()) for search in searches]
    spent = [float(weights[origins == search].sum()) for search in searches]
    rng = stream(state.seed, state.next_number, Purpose.TURN)
    drawn = [rng.beta(1.0 + won, 1.0 + used - won) for won, used in zip(gained, spent, strict=True)]
    return searches[int(np.argmax(drawn))]


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


def uses_plain_model(search: str, state: State) -> bool:
    """Whether this search goes by the plain model. A known kernel is the only model there is."""
    return search in ("plain", "near") and state.config.known_kernel is None


def as_seen_by(search: str, state: State) -> State:
    """The state with the model of this search in it. The plain one: a squared exponential with variance 1, in which all
    variables are nearly alike, of the values as they are. The unsqueezed one is made when it is needed, and not kept.
    """
    if search == "unsqueezed":
        return replace(state, config=replace(state.config, main_effects=0, squeeze=False), theta=None)
    if not uses_plain_model(search, state):
        return state
    config = replace(
        state.config, kernel="squared_exponential", outputscale="one", prior="alike", main_effects=0, squeeze=False
    )
    fitted_at, cold_at = state.fitted_plain_at, state.cold_plain_at
    return replace(state, config=config, theta=state.theta_plain, fitted_at=fitted_at, cold_at=cold_at)
