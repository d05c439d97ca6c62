"""Hyper-parameters by maximum likelihood (or posterior), with L-BFGS-B on their logarithms and a ladder of starts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from vsbo.arrays import Array
from vsbo.config import Config
from vsbo.errors import NumericalError
from vsbo.gp.likelihood import Hyperparameters, Likelihood
from vsbo.gp.prior import prior_for

#: The search box. At a length-scale of 5e-3 even neighbours among thousands are independent; one of 1e7 is a variable
#: without effect even under the largest output scale. The noise's lower end is `Config.noise_floor`.
LENGTHSCALES = (5e-3, 1e7)
OUTPUTSCALES = (1e-3, 1e4)
LARGEST_NOISE = 10.0

#: Relative decrease of the NLL in a step that counts as convergence.
TOLERANCE = 1e-8
#: Pairs that L-BFGS-B remembers. 30 instead of its 10 saves a quarter of the evaluations on the recorded data.
MEMORY = 30
MOST_EVALUATIONS = 600

#: The cold starts, by name.
COLD = ("unit", "scaled")


@dataclass(frozen=True, eq=False)
class Fit:
    """What a fit found. `loss` is the NLL without the prior: losses of different models are compared by it."""

    theta: Hyperparameters
    loss: float
    start: str
    evaluations: int
    failures: int = 0
    """Starts that led nowhere."""


def fit(
    X: Array,
    y: Array,
    config: Config,
    *,
    warm: Sequence[Hyperparameters] = (),
    cold: Sequence[str] = COLD,
    tolerance: float = TOLERANCE,
) -> Fit:
    """The best local optimum reached from the warm and the named cold starts; X (n, d), y (n,).

    Where none of these leads anywhere, all cold starts are tried; then it raises NumericalError.
    """
    n, d = X.shape
    limits = _limits(d, config.noise_floor)
    if np.ptp(y) == 0.0:
        # Nothing to learn: any output scale explains a constant. The plain start makes a model that explores.
        return Fit(Hyperparameters.from_log(np.clip(cold_start("scaled", d), *limits.T)), np.nan, "constant", 0)
    prior = prior_for(config.prior, d)
    likelihood = Likelihood(X, y, config.kernel, config.mean, prior)
    starts = [("warm", theta.to_log()) for theta in warm] + [(name, cold_start(name, d)) for name in cold]
    reached = _search(likelihood, starts, limits, tolerance)
    failures = len(starts) - len(reached)
    if not reached:
        reached = _search(likelihood, [(name, cold_start(name, d)) for name in COLD], limits, tolerance)
    if not reached:
        raise NumericalError(f"fit: no start led to a finite likelihood (n = {n}, d = {d})")
    value, start, log_theta = min(reached, key=lambda found: found[0])
    penalty = 0.0 if prior is None else prior.negative_log_density(log_theta)[0]
    return Fit(Hyperparameters.from_log(log_theta), value - penalty, start, likelihood.evaluations, failures)


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


def cold_start(name: str, d: int) -> Array:
    """log theta (d + 2,). "unit" is the authors' start; "scaled" has the reach of the data in d dimensions.

    On the recorded data the likelihood of 50 variables has many optima, and each start finds the better one about
    as often as the other (docs/differences.md).
    """
    if name == "unit":
        return np.full(d + 2, np.log(0.693))
    return np.array([0.5 * np.log(d)] * d + [0.0, np.log(0.1)])


def _limits(d: int, noise_floor: float) -> Array:
    limits: Array = np.log(np.array([LENGTHSCALES] * d + [OUTPUTSCALES, (noise_floor, LARGEST_NOISE)]))
    return limits
