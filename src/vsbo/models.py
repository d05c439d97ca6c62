"""The models and scores of a state, as its configuration wants them: what `propose` is made of."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from vsbo import acquisition as acq
from vsbo import gp, selection
from vsbo.arrays import Array, frozen
from vsbo.config import Config
from vsbo.data import Data, levels_of, squeeze, standardize, stretch
from vsbo.errors import NumericalError
from vsbo.rng import Purpose, stream
from vsbo.state import State

#: Of fits whose loss is not compared with another's. A warm fit may be coarser: the next one goes on from it, one point
#: later. A cold start crosses plateaus, on which it would stop too early.
COLD_TOLERANCE, WARM_TOLERANCE = 1e-5, 1e-4
#: So much coarser they are with a prior, which leaves no plateaus: that saves 6 to 18 % of a run, and over six seeds of
#: four problems the values were no worse.
COARSER_WITH_PRIOR = 10.0
#: Growth of the data after which the cold starts of a fit compete again: 24 times in a run of 205 evaluations.
COLD_GROWTH = 1.15


#: Nats by which squeezed values must be more likely than main effects are before a model of them is taken: the evidence
#: is mostly that of many points near the best, and squeezing takes from a sum of functions that it is one.
SQUEEZE_PRICE = 10.0
#: Observations before that is asked: fewer have no shape.
SQUEEZE_FROM = 10


def model_values(state: State, data: Data, squeezed: bool = False) -> Array:
    """The values that are modelled: standardized unless the kernel is known; squeezed, if wanted."""
    if not state.config.standardize:
        return data.values
    z = standardize(data.values)
    return standardize(squeeze(z)[0]) if squeezed else z


def to_values(state: State, theta: gp.Hyperparameters, z: Array) -> Array:
    """What is modelled, z (k,), as values of the search: the inverse of `model_values`."""
    values = state.data.values
    u = model_values(state, state.data)
    if theta.squeezed:
        v = squeeze(u)[0]
        z = stretch(_moved(z, standardize(v), v), u)
    return _moved(z, u, values)


def _moved(z: Array, before: Array, after: Array) -> Array:
    """z (k,), moved and stretched as the values `before` (n,) must be to become those `after` (n,)."""
    size = float(np.ptp(before))
    scale = float(np.ptp(after)) / size if size > 0.0 else 1.0
    return float(np.mean(after)) + scale * (z - float(np.mean(before)))


def main_effects(state: State) -> tuple[int, ...]:
    """The active variables, as columns of their model, that get a main effect of their own in the next fit: the few
    with the shortest length-scales so far. They change with the cold starts only: a warm start of the same variables
    is nearer to its end.
    """
    if state.theta is None:
        return ()
    if state.theta.main and not cold_due(state):
        return state.theta.main
    order = np.argsort(state.theta.lengthscales, kind="stable")
    return tuple(sorted(int(j) for j in order[: state.config.main_effects]))


def cold_due(state: State) -> bool:
    """Whether cold starts take part in the next fit of the active variables.

    A warm start alone would stay for ever in an optimum that was good once: a length-scale that ran away has no slope
    to come back by. So whenever the data have grown by COLD_GROWTH, the cold starts compete again.
    """
    warm = state.config.warm_start and state.theta is not None
    return not warm or len(state.finished) >= COLD_GROWTH * state.cold_at


def fit_due(state: State) -> bool:
    """Whether the active variables are fitted anew: the data have grown enough since they were, or cold starts are due.

    One point more among many changes the hyper-parameters little, and the posterior knows it without a fit. But that
    evaluations can fail is news.
    """
    if state.theta is not None and state.theta.failure_noise == 0.0 and len(doubted(state, state.data)):
        return True
    return cold_due(state) or len(state.finished) >= state.config.refit_growth * state.fitted_at


def doubted(state: State, data: Data) -> tuple[int, ...]:
    """The observations that have a variance of their own since the evaluation failed: none if the configuration doubts
    no failure, or where all is known of the kernel.
    """
    if not state.config.doubt_failures or state.config.known_kernel is not None:
        return ()
    return tuple(int(i) for i in np.flatnonzero(data.failed))


def fit_tolerance(config: Config, *, warm: bool) -> float:
    """Relative decrease of the NLL at which a fit in a run ends."""
    tolerance = WARM_TOLERANCE if warm else COLD_TOLERANCE
    return tolerance * (1.0 if config.prior == "none" else COARSER_WITH_PRIOR)


def fit_model(
    state: State,
    variables: Sequence[int],
    warm: Sequence[gp.Hyperparameters],
    cold: Sequence[str] | None,
    main: tuple[int, ...] = (),
    squeezed: bool = False,
) -> gp.Fit:
    """The model of some variables: fitted, unless the kernel is known; from warm starts and the named cold ones (None:
    all of them). squeezed: of squeezed values.
    """
    data, known = state.data.columns(variables), state.config.known_kernel
    if known is not None:
        scales = np.broadcast_to(np.asarray(known.lengthscale, dtype=np.float64), state.D)[list(variables)]
        return gp.Fit(gp.Hyperparameters(frozen(scales), known.outputscale, known.noise), np.nan, "known", 0)
    tolerance = fit_tolerance(state.config, warm=cold == ())
    z = model_values(state, data, squeezed)
    found = gp.fit(
        data.X, z, state.config, warm=warm, cold=cold, tolerance=tolerance, main=main, levels=data.levels,
        doubted=doubted(state, data),
    )  # fmt: skip
    return replace(found, theta=replace(found.theta, squeezed=squeezed))


def fit_form(state: State, warm: Sequence[gp.Hyperparameters], cold: Sequence[str] | None) -> gp.Fit:
    """The model of the active variables, of the values as they are or of squeezed ones.

    Whenever all cold starts take part, two explanations of the values compete, by their posterior densities in the
    same units: main effects, and squeezing. Where squeezing alone explains more than main effects alone, and by
    SQUEEZE_PRICE, the model has both. Branin's values span 300 where 0.01 decides, and Lasso's first values are fifty
    times its last; a sum of functions, squeezed, is none any more.
    """
    main, allowed = main_effects(state), state.config.squeeze and state.config.standardize
    if not allowed or cold is not None or len(state.finished) < SQUEEZE_FROM:
        as_before = allowed and state.theta is not None and state.theta.squeezed
        return fit_model(state, state.active, warm, cold, main, as_before)
    found = fit_model(state, state.active, warm, cold, main)
    v, log_slope = squeeze(model_values(state, state.data))
    # The density of the values as they are: the squeezed ones' times the slope of squeezing and standardizing.
    moved = len(v) * float(np.log(np.std(v, ddof=1) or 1.0)) - log_slope
    with suppress(NumericalError):  # there is a model
        rival = fit_model(state, state.active, warm, (), (), squeezed=True)
        if rival.loss + rival.penalty + moved + SQUEEZE_PRICE < found.loss + found.penalty:  # never where they are NaN
            return fit_model(state, state.active, [*warm, rival.theta], cold, main, squeezed=True)
    return found


def posterior_of(state: State, data: Data, theta: gp.Hyperparameters) -> gp.Posterior:
    """The posterior of these observations under given hyper-parameters."""
    z = model_values(state, data, theta.squeezed)
    return gp.condition(data.X, z, theta, state.config.kernel, state.config.mean, data.levels, doubted(state, data))


def foretold(state: State, since: int) -> Array:
    """Log densities (n - since,), in nats, that the model of the state gave to the values after the first `since`: to
    each of them from all before it, with the hyper-parameters that the state has.
    """
    if state.theta is None:
        raise NumericalError("there is no model of the active variables")
    data = state.data.columns(state.active)
    before = data.first(since)
    posterior = posterior_of(state, before, state.theta)
    z = _moved(data.values[since:], before.values, posterior.y)
    densities, doubts = np.empty(len(z)), doubted(state, data)
    for i, (x, one) in enumerate(zip(data.X[since:], z, strict=True)):
        mu, sigma = posterior.predict(x[None, :])
        failed = since + i in doubts
        variance = float(sigma[0]) ** 2 + state.theta.noise + failed * state.theta.failure_noise
        densities[i] = -0.5 * (np.log(2.0 * np.pi * variance) + (one - float(mu[0])) ** 2 / variance)
        posterior = posterior.extend(x, float(one), failed)
    return densities


def full_model(state: State) -> tuple[gp.Fit, Array]:
    """The model of all variables and their importance (D,). Raises NumericalError if y is constant."""
    z = model_values(state, state.data)
    if np.ptp(z) == 0.0:
        raise NumericalError("all values are equal: nothing tells the variables apart")
    if state.all_active and state.theta is not None:
        warm, main = [state.theta], main_effects(state)
    else:
        warm, main = [state.theta_full] if state.config.warm_start and state.theta_full is not None else [], ()
    full = fit_model(state, range(state.D), warm, gp.cold_names(state.config)[:1] if warm else None, main)
    return full, importance_of(state, posterior_of(state, state.data, full.theta))


def importance_of(state: State, posterior: gp.Posterior) -> Array:
    """The configured score of each variable of a model."""
    if state.config.importance == "kl":
        return selection.kl_importance(posterior)
    rng = stream(state.seed, len(state.finished), Purpose.IMPORTANCE)  # by what is known: asking changes no score
    return selection.gradient_importance(posterior, state.config.n_importance, rng)


def lattice_of(state: State) -> acq.Lattice | None:
    """The active variables that take few values; None if there are none, or if they are searched as real ones."""
    places = tuple(state.space.places[j] for j in state.active)
    if not state.config.discrete or all(at is None for at in places):
        return None
    return acq.Lattice(places, levels_of(state.data.levels, state.active))


def utility_of(state: State, best: float) -> acq.Utility:
    """The configured acquisition as a function of mu and sigma; best: the largest value so far."""
    match state.config.acquisition:
        case "ei":
            return lambda mu, sigma: acq.expected_improvement(mu, sigma, best)
        case "log_ei":
            return lambda mu, sigma: acq.log_expected_improvement(mu, sigma, best)
        case "ucb":
            weight = beta(state)
            return lambda mu, sigma: acq.upper_confidence_bound(mu, sigma, weight)


def weights_of(state: State, posterior: gp.Posterior) -> Array | None:
    """How much each variable matters where the search has been: root mean square slopes (d,), summing to 1."""
    if not state.config.weighted_starts:
        return None
    slopes = np.sqrt(np.mean(posterior.slope(posterior.X) ** 2, axis=0))
    total = float(slopes.sum())
    return slopes / total if 0.0 < total < np.inf else np.full(len(slopes), 1.0 / len(slopes))


def beta(state: State) -> float:
    """The constant beta, or Theorem 1's beta_t for the coming evaluation."""
    if state.config.beta is not None:
        return state.config.beta
    return acq.theorem_beta(state.next_number + 1, state.D, len(state.active), state.config.smoothness)


def expected_gain(state: State) -> float | None:
    """The improvement that the model of the active variables expects of the best next point, as a part of what was
    gained so far: the distance from the median of the first N_init values to the best. None while there is no such
    model.
    """
    if state.theta is None or state.best is None or state.config.known_kernel is not None:
        return None
    data = state.data.columns(state.active)
    posterior = posterior_of(state, data, state.theta)
    z, values = posterior.y, data.values
    # Not the median of all: a search that has converged has seen little else than values near the best.
    gained = float(np.max(values) - np.median(values[: state.config.n_initial]))
    if gained <= 0.0 or np.ptp(data.y[~data.failed]) == 0.0:
        return None
    rng = stream(state.seed, state.next_number, Purpose.STOPPING)
    leaders = data.X[np.argsort(-z, kind="stable")[:5]]
    lattice = lattice_of(state)
    starts = acq.start_points(leaders, state.config.n_raw, rng, lattice=lattice)
    best = float(np.max(z))
    log_gain = acq.over(posterior, lambda mu, sigma: acq.log_expected_improvement(mu, sigma, best))
    try:
        scales = state.theta.lengthscales
        found = acq.maximize(log_gain, starts, leaders[:1], state.config.n_restarts, scales, None, lattice)
    except NumericalError:
        return None
    hoped = best + float(np.exp(log_gain(found[:1], True)[0][0]))
    return float(np.diff(to_values(state, state.theta, np.array([best, hoped])))[0]) / gained
