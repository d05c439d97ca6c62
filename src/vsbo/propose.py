"""The method on one page: given the state of a search, the next point, and what was learned on the way.

`propose` is Algorithm 1 with its lines numbered; the functions below it are those lines. It is pure: the same state
gives the same state, but for the seconds it took. The default, vanilla BO, VS-GP-UCB (Algorithm 6) and GP-UCB
(Algorithm 7) are configurations of it; the default works on all variables, so that it has lines 4, 11 and 12 alone.
"""

import time
from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from vsbo import acquisition as acq
from vsbo import complement, selection
from vsbo.arrays import Array, frozen
from vsbo.config import ModelName
from vsbo.data import is_new
from vsbo.errors import NumericalError
from vsbo.models import (
    cold_due,
    doubted,
    fit_due,
    fit_form,
    full_model,
    importance_of,
    lattice_of,
    model_values,
    posterior_of,
    utility_of,
    weights_of,
)
from vsbo.rng import Purpose, stream
from vsbo.state import Adapted, Asked, Event, Fell, Fitted, Selected, State, extend
from vsbo.turns import ahead, as_seen_by, model_of, models_of, next_search, side_of_box

#: Uniform points tried, in the design and by the last fallback, until one is new.
TRIES = 100
#: How many times as uncertain of leaps as it says the model is taken to be. With main effects its errors at its own
#: proposals were 1.4 to 4.5 deviations, root mean square (docs/experiments.md, 14). The bare one is taken at its word.
DOUBT = 3.0


def propose(state: State) -> State:
    """The state after a point was asked for. What happened is new in its log; the last of it is the point."""
    if design_left(state):
        return extend(state, [design_point(state)])  # line 4
    state = extend(state, adapt(state))  # lines 5, 9
    if selection_due(state):  # line 7
        state = extend(state, reselect(state))  # line 8
    began = time.perf_counter()
    origin: str = next_search(state)
    try:
        state = extend(state, fit_active(state, origin))  # line 11
        if origin == "leap" and not leaps_left(state):
            origin = "model"
        began = time.perf_counter()
        candidates = maximize_acquisition(state, origin)  # line 12
        x = complete(state, candidates)  # line 13
    except NumericalError as error:
        state = extend(state, [Fell("model", "evolution strategy alone, or chance before it begins", str(error))])
        x, origin = evolve(state), "evolution"
    spent = time.perf_counter() - began
    return extend(state, [Asked(state.next_number, frozen(x), origin, spent)])  # line 14 is the user's


# ------------------------------------------------------------------------------ the initial design (line 4)


def design_left(state: State) -> bool:
    """Until N_init points were given out, the center among them, and one came back with a value.

    Where only some variables are modelled from the start, the strategy for the others needs the whole design.
    """
    waiting = needs_strategy(state) and not state.all_active and len(state.finished) < state.config.n_initial
    few = state.next_number < state.config.n_initial or state.best is None
    return few or waiting or (state.config.center and is_new(center(state), asked_for(state)))


def design_point(state: State) -> Asked:
    """The center, then uniform points; with fixed complements the variables that are not active stay where they are."""
    rng = stream(state.seed, state.next_number, Purpose.DESIGN)
    points = with_fixed(state, rng.random((TRIES, state.D)))
    x = first_new(state, np.vstack([center(state), points]) if state.config.center else points)
    return Asked(state.next_number, frozen(x), "design")


def center(state: State) -> Array:
    """The middle of all ranges (D,)."""
    return state.space.snap(with_fixed(state, np.full(state.D, 0.5)))


def with_fixed(state: State, x: Array) -> Array:
    """x (..., D) with the variables that are not active where the configuration fixes them, if it does."""
    if state.config.complement != "fixed":
        return x
    return np.where(np.isin(np.arange(state.D), state.active), x, state.config.fixed_value)


# ------------------------------------------------------------------------------- variable selection (line 8)


def selection_due(state: State) -> bool:
    """N_vs evaluations finished since the last selection, or since the design (note 2)."""
    since = len(state.finished) - max(state.selected_at, state.config.n_initial)
    return state.config.selection != "fixed" and since >= state.config.select_every


def reselect(state: State) -> tuple[Event, ...]:
    """Fit all variables, score them, choose (Algorithms 2-5). Where that is impossible the old choice stays."""
    began = time.perf_counter()
    data, config = state.data, state.config
    z = model_values(state, data)
    known = {state.active: state.theta} if config.warm_start and state.theta is not None else {}
    models = selection.NestedModels(data.X, z, config, known, data.levels, doubted(state, data))

    def order_within(variables: Sequence[int]) -> tuple[int, ...]:
        key = sorted(variables)
        scores = importance_of(state, posterior_of(state, data.columns(key), models.fit(key).theta))
        return tuple(key[j] for j in selection.ranked(scores))

    try:
        full, scores = full_model(state)
        before, since = np.split(data.values, [state.selected_at])
        case = selection.case_of(before, since, state.active, state.D)
        if config.selection == "stepwise":
            case = selection.Case.FIRST
        active, steps = selection.select(case, selection.ranked(scores), state.active, models.loss, order_within)
    except NumericalError as error:
        kept = Selected(data.n, "kept", state.active, frozen(np.zeros(state.D)), np.nan, (), None, None)
        return Fell("selection", "the previous variables", str(error)), kept
    spent, theta = time.perf_counter() - began, models.fit(active).theta
    return (Selected(data.n, str(case), active, frozen(scores), full.loss, steps, full.theta, theta, spent),)


# --------------------------------------------------------------------------- the evolution strategy (lines 5, 9)


def adapt(state: State) -> tuple[Event, ...]:
    """Tell the strategy the design once, then every full generation of N_vs finished evaluations."""
    if not needs_strategy(state):
        return ()
    events: list[Event] = []
    told = state.adapted_at
    while True:
        size = state.config.n_initial if told == 0 else state.config.select_every
        if len(state.finished) - told < size:
            return tuple(events)
        events.append(Adapted(state.finished[told : told + size]))
        told += size


def needs_strategy(state: State) -> bool:
    """Whether there are, or may come to be, variables that the evolution strategy moves."""
    return state.config.complement == "cma" and not (state.config.selection == "fixed" and state.all_active)


# ---------------------------------------------------------------------- model and acquisition (lines 11, 12)


def fit_active(state: State, search: str) -> tuple[Event, ...]:
    """Fit the models of this search where that is due."""
    return tuple(event for model in models_of(search, state) for event in fit_one(state, model))


def fit_one(state: State, model: ModelName) -> tuple[Event, ...]:
    """Fit a model of the active variables: warm start, cold starts, and at last the previous hyper-parameters."""
    began, n, seen = time.perf_counter(), len(state.finished), as_seen_by(model, state)
    if not fit_due(seen):
        return ()
    warm = [seen.theta] if seen.config.warm_start and seen.theta is not None else []
    cold = cold_due(seen)
    try:
        found = fit_form(seen, warm, None if cold else ())
    except NumericalError as error:
        if seen.theta is None:
            raise
        return (Fell("fit", "the previous hyper-parameters", str(error)),)
    known = ahead(state) if model == "bare" else 0.0
    spent = time.perf_counter() - began
    fitted = Fitted(found.theta, found.loss, found.start, found.evaluations, n if cold else 0, spent, model, known)
    if found.failures:
        return Fell("fit", f"the start {found.start!r}", f"{found.failures} starts led nowhere"), fitted
    return (fitted,)


def maximize_acquisition(state: State, search: str) -> Array:
    """Candidates (r, p) along the active variables, best first: the local maxima of the acquisition.

    Pending points repel: each is added to the model as if it had brought what the model expects there, but no more
    than the best value. (With more, EI stays where it was largest. With less than is expected, the model sees a hole
    where it is best: with the average at most, eight workers needed twice the evaluations.)
    """
    main, model = () if state.theta is None else state.theta.main, model_of(search, state)
    side, state = side_of_box(state), as_seen_by(model, state)
    if state.theta is None:
        raise NumericalError("there is no model of the active variables")
    data, config = state.data.columns(state.active), state.config
    posterior = posterior_of(state, data, state.theta)
    z, best = posterior.y, float(np.max(posterior.y))
    for x in data.pending:
        posterior = posterior.extend(x, min(float(posterior.mean(x[None, :])[0]), best))
    rng = stream(state.seed, state.next_number, Purpose.ACQUISITION)
    lattice = lattice_of(state)
    leaders, weights = data.X[np.argsort(-z, kind="stable")[:5]], weights_of(state, posterior)
    if search == "leap":
        leaps, doubt = acq.leaps(leaders[0], main, lattice), DOUBT
        if model == "bare" and len(main) > 1:
            leaps, doubt = acq.double_leaps(leaders[0], main, rng, lattice), 1.0
        mu, sigma = posterior.predict(leaps)
        promise = acq.log_expected_improvement(mu, doubt * sigma, best)[0]
        return leaps[np.argsort(-promise, kind="stable")]
    if search == "near":
        box = box_around(leaders[0], side, state.theta.lengthscales, weights)
        if lattice is not None:  # a side of 0.8 moves a variable by 0.4 at most
            lattice = lattice.near(leaders[0], 0.5 * side, asked_for(state)[:, state.active])
        starts = acq.points_within(leaders[0], box, config.n_raw, rng, weights, lattice)
    else:
        box, starts = None, acq.start_points(leaders, config.n_raw, rng, weights, lattice)
    acquisition = acq.over(posterior, utility_of(state, best))
    scales = state.theta.lengthscales
    found = acq.maximize(acquisition, starts, leaders[:1], config.n_restarts, scales, box, lattice)
    if search != "model" or config.thrift == 0.0 or config.acquisition != "log_ei":
        return found
    return np.vstack([acq.thrifty(acquisition, found[0], leaders[0], config.thrift), found])


def leaps_left(state: State) -> bool:
    """Whether there is a leap from the best point that nobody has asked for; among choices there may be none."""
    main = () if state.theta is None else state.theta.main
    asked, leaps = asked_for(state), state.space.snap(acq.leaps(state.data.incumbent, main, lattice_of(state)))
    return any(is_new(x, asked) for x in leaps)


def box_around(best: Array, side: float, lengthscales: Array, weights: Array | None) -> tuple[Array, Array]:
    """Low (p,) and high (p,) of a box in the cube around the best point (p,): its sides in proportion to the
    length-scales (p,), and as long as `side` on average over the variables that matter, by their weights (p,).
    """
    scales = np.minimum(lengthscales, acq.LONGEST_SCALE)
    sides = side * scales / np.exp(np.average(np.log(scales), weights=weights))
    return np.maximum(best - 0.5 * sides, 0.0), np.minimum(best + 0.5 * sides, 1.0)


# ------------------------------------------------------------------------------ the other variables (line 13)


def complete(state: State, candidates: Array) -> Array:
    """The first of the candidates (r, p) that makes a point (D,) nobody has asked for, with the others filled in."""
    asked = asked_for(state)
    for x_active in candidates:
        x = state.space.snap(fill(state, x_active))
        if is_new(x, asked):
            return x
    raise NumericalError("every maximum of the acquisition is a point that was asked for already")


def fill(state: State, x_active: Array) -> Array:
    """The point (D,) whose active variables are x_active (p,), the others by the configured strategy."""
    x = np.empty(state.D)
    x[list(state.active)] = x_active
    others = np.setdiff1d(np.arange(state.D), state.active)
    if not len(others):
        return x
    config, data = state.config, state.data
    rng = stream(state.seed, state.next_number, Purpose.COMPLEMENT)
    if config.complement == "fixed":
        x = with_fixed(state, x)
    elif config.complement == "mix":
        x[others] = complement.mix(data.incumbent[others], config.mix_probability, rng)
    else:
        if state.strategy is None:
            raise NumericalError("the evolution strategy has not been told the design yet")
        mean, covariance = complement.conditional(
            state.strategy.mean, state.strategy.covariance, state.active, x_active
        )
        samples = complement.sample_in_box(mean, covariance, config.n_complement, rng)
        x[others] = samples[pick(state, x, others, samples)]
    return x


def pick(state: State, x: Array, others: Array, samples: Array) -> int:
    """Which of the samples (k, D - p) the last full model expects most of, with all data there are by now."""
    if len(samples) == 1 or state.theta_full is None:
        return 0
    Z = np.tile(x, (len(samples), 1))
    Z[:, others] = samples
    return int(np.argmax(posterior_of(state, state.data, state.theta_full).mean(Z)))


# --------------------------------------------------------------------------------------------- the last fallback


def evolve(state: State) -> Array:
    """A point (D,) without a model: from the evolution strategy, or uniform where there is none or it has collapsed."""
    rng = stream(state.seed, state.next_number, Purpose.FALLBACK)
    samples = with_fixed(state, rng.random((TRIES, state.D)))
    if state.strategy is not None:
        with suppress(NumericalError):  # a strategy that has collapsed: nothing is left but chance
            first = complement.sample_in_box(state.strategy.mean, state.strategy.covariance, 1, rng)
            samples = np.vstack([first, samples])
    return first_new(state, samples)


def asked_for(state: State) -> Array:
    """The points (n + p, D) that were given out or added so far."""
    return np.vstack([state.data.X, state.data.pending])


def first_new(state: State, points: Array) -> Array:
    """The first of the points (m, D) nobody has asked for; the first of all, if whole numbers and choices are so few
    that none is new.
    """
    asked, points = asked_for(state), state.space.snap(points)
    return next((x for x in points if is_new(x, asked)), points[0])
