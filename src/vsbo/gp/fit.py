"""Hyper-parameters by maximum likelihood (or posterior), with L-BFGS-B on their logarithms and a ladder of starts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from vsbo.arrays import Array
from vsbo.config import Config
from vsbo.errors import NumericalError
from vsbo.gp.likelihood import Hyperparameters, Likelihood
from vsbo.gp.prior import prior_for, prior_mode

#: The search box. At a length-scale of 5e-3 even neighbours among thousands are independent; one of 1e7 is a variable
#: without effect even under the largest output scale. The noise's lower end is `Config.noise_floor`.
LENGTHSCALES = (5e-3, 1e7)
OUTPUTSCALES = (1e-3, 1e4)
LARGEST_NOISE = 10.0
#: The same where the output scale has a floor: y is standardized, and f varies no less than what was seen of it.
FLOORED = (1.0, 20.0)
#: Of a failure: no more than the variance of all values. Without that limit what failed is as good as forgotten, and
#: the search goes there again and again where it was no chance (docs/experiments.md, seventeenth round).
DOUBTS = (1e-4, 1.0)
#: Log-odds of the main effects' share of the variance: from a four-hundredth to all but a twenty-thousandth. A sum of
#: functions has next to nothing else, and at 6 it was the limit that decided: small effects were lost in what is left
#: to the product (docs/experiments.md, 190).
SHARES = (-6.0, 10.0)
#: Those at which a warm start begins at the least: below there is no slope to come back by.
LEAST_START = -4.0
#: What is doubted of failures at first, and at which a warm start begins at the least.
FIRST_DOUBT, LEAST_DOUBT = 0.1, 0.02

#: Relative decrease of the NLL in a step that counts as convergence.
TOLERANCE = 1e-8
#: Pairs that L-BFGS-B remembers. 30 instead of its 10 saves a quarter of the evaluations on the recorded data.
MEMORY = 30
MOST_EVALUATIONS = 600

#: The cold starts without a prior, by name. With one there is one, its mode, and its name is the prior's.
COLD = ("unit", "scaled")


@dataclass(frozen=True, eq=False)
class Fit:
    """What a fit found. `loss` is the NLL without the prior: losses of different models are compared by it. `penalty`:
    what the prior adds.
    """

    theta: Hyperparameters
    loss: float
    start: str
    evaluations: int
    failures: int = 0
    """Starts that led nowhere."""
    penalty: float = 0.0


def fit(
    X: Array,
    y: Array,
    config: Config,
    *,
    warm: Sequence[Hyperparameters] = (),
    cold: Sequence[str] | None = None,
    tolerance: float = TOLERANCE,
    main: tuple[int, ...] = (),
    levels: tuple[int, ...] = (),
    doubted: Sequence[int] = (),
) -> Fit:
    """The best local optimum reached from the warm and the named cold starts (None: all); X (n, d), y (n,).

    main: the columns that have a main effect of their own; levels: of choices, as in choices.py; doubted: the
    observations that failed, if what they are worth is doubted. Where none of the starts leads anywhere, all cold ones
    are tried; then it raises NumericalError.
    """
    (n, d), doubts = X.shape, len(doubted) > 0
    limits = _limits(d, config, bool(main), doubts)
    if np.ptp(y) == 0.0:
        # Nothing to learn: any output scale explains a constant. The plain start makes a model that explores.
        theta = Hyperparameters.from_log(np.clip(cold_start("scaled", d, main, doubts), *limits.T), main, doubts)
        return Fit(theta, np.nan, "constant", 0)
    prior = prior_for(config.prior, d, bool(main), doubts)
    likelihood = Likelihood(X, y, config.kernel, config.mean, prior, main, levels, doubted)
    every = cold_names(config)
    starts = [("warm", _warm_start(theta, main, doubts)) for theta in warm]
    starts += [(name, cold_start(name, d, main, doubts)) for name in (every if cold is None else cold)]
    reached = _search(likelihood, starts, limits, tolerance)
    failures = len(starts) - len(reached)
    if not reached:
        reached = _search(likelihood, [(name, cold_start(name, d, main, doubts)) for name in every], limits, tolerance)
    if not reached:
        raise NumericalError(f"fit: no start led to a finite likelihood (n = {n}, d = {d})")
    value, start, log_theta = min(reached, key=lambda found: found[0])
    penalty = 0.0 if prior is None else prior.negative_log_density(log_theta)[0]
    theta = Hyperparameters.from_log(log_theta, main, doubts)
    return Fit(theta, value - penalty, start, likelihood.evaluations, failures, penalty)


def _search(
    likelihood: Likelihood, starts: Sequence[tuple[str, Array]], limits: Array, tolerance: float
) -> list[tuple[float, str, Array]]:
    """(value, start, log theta) of the optimum reached from each start that leads to one."""
    options = {
        "ftol": tolerance,
        "gtol": 1e-5,
        "maxcor": MEMORY,
        "maxfun": MOST_EVALUATIONS,
        "maxiter": MOST_EVALUATIONS,
    }
    reached = []
    for name, log_theta in starts:
        try:
            start = np.clip(log_theta, *limits.T)
            found = minimize(likelihood, start, jac=True, method="L-BFGS-B", bounds=limits, options=options)
        except NumericalError:
            continue
        if np.isfinite(found.fun) and np.isfinite(found.x).all():
            reached.append((float(found.fun), name, found.x))
    return reached


def cold_names(config: Config) -> tuple[str, ...]:
    """Which cold starts the configuration has. A prior has one: its mode."""
    return COLD if config.prior == "none" else (config.prior,)


def cold_start(name: str, d: int, main: tuple[int, ...] = (), doubts: bool = False) -> Array:
    """log theta, as long as `main` and doubts make it. "unit" is the authors' start; "scaled" has the reach of the data
    in d dimensions; the name of a prior is its mode, with a noise of a tenth of the deviation.

    On the recorded data the likelihood of 50 variables has many optima, and each of the first two finds the better one
    about as often as the other (docs/differences.md).
    """
    scale, variance, noise = {
        "unit": (np.log(0.693),) * 3,
        "scaled": (0.5 * np.log(d), 0.0, np.log(0.1)),
        "dimension_scaled": (prior_mode("dimension_scaled", d), 0.0, np.log(0.01)),
        "alike": (prior_mode("alike", d), 0.0, np.log(0.01)),
    }[name]
    return np.array([scale] * d + [variance, noise] + [0.0] * bool(main) + [np.log(FIRST_DOUBT)] * doubts)


def _warm_start(theta: Hyperparameters, main: tuple[int, ...], doubts: bool) -> Array:
    """log theta of a fit as a start of a model with these main effects."""
    log_theta, d = theta.to_log(), len(theta.lengthscales)
    share = [max(log_theta[d + 2], LEAST_START) if theta.main else 0.0] if main else []
    doubt = [np.log(max(theta.failure_noise, LEAST_DOUBT) if theta.failure_noise > 0.0 else FIRST_DOUBT)]
    start: Array = np.r_[log_theta[: d + 2], share, doubt * doubts]
    return start


def _limits(d: int, config: Config, main: bool, doubts: bool) -> Array:
    variance = {"learned": OUTPUTSCALES, "floored": FLOORED, "one": (1.0, 1.0)}[config.outputscale]
    logs = np.log([*[LENGTHSCALES] * d, variance, (config.noise_floor, LARGEST_NOISE)])
    return np.vstack([logs, *[SHARES] * main, *[np.log(DOUBTS)] * doubts])
