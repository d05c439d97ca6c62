"""Maximizing an acquisition over the cube: screen many starts in one batch, polish the best with L-BFGS-B."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

from vsbo.arrays import Array
from vsbo.errors import NumericalError
from vsbo.gp import Posterior

#: Value and derivatives in mu and sigma, each (k,), for mu, sigma (k,).
Utility = Callable[[Array, Array], tuple[Array, Array, Array]]
#: Value (k,) and, if asked for, gradient (k, d) at Z (k, d).
Acquisition = Callable[[Array, bool], tuple[Array, Array | None]]

#: Local starts: this many variables are moved on average, by this deviation.
MOVED, STEP = 5.0, 0.2
MOST_ITERATIONS = 100


def over(posterior: Posterior, utility: Utility) -> Acquisition:
    """The utility of a posterior, as a function of the point."""

    def acquisition(Z: Array, with_gradient: bool) -> tuple[Array, Array | None]:
        if not with_gradient:
            return utility(*posterior.predict(Z))[0], None
        mu, sigma, slope_mu, slope_sigma = posterior.gradients(Z)
        value, d_mu, d_sigma = utility(mu, sigma)
        return value, d_mu[:, None] * slope_mu + d_sigma[:, None] * slope_sigma

    return acquisition


def start_points(centers: Array, n: int, rng: np.random.Generator) -> Array:
    """`n` points (n, d): half uniform in the cube, half a center (c, d) with a few of its variables moved.

    In many dimensions uniform points are all equally far from everything that is known; the moved ones are where
    improvement is found late in a run.
    """
    c, d = centers.shape
    uniform = rng.random((n - n // 2, d))
    local = centers[rng.integers(c, size=n // 2)]
    moved = rng.random(local.shape) < min(1.0, MOVED / d)
    local = np.clip(local + moved * rng.normal(0.0, STEP, local.shape), 0.0, 1.0)
    return np.vstack([uniform, local])


def maximize(acquisition: Acquisition, starts: Array, always: Array, restarts: int) -> Array:
    """Local maxima (r, d), best first, polished from the `restarts` best of `starts` (s, d) and from all of `always`.

    All are polished as one problem, whose objective is the sum: one batch a step instead of one call a point.
    Raises NumericalError if the acquisition is nowhere finite.
    """
    values, _ = acquisition(starts, False)
    if not np.isfinite(values).any():
        raise NumericalError("maximize: the acquisition is not finite at any start")
    values = np.where(np.isfinite(values), values, -np.inf)
    best = np.argsort(-values, kind="stable")[:restarts]
    Z = np.vstack([always, starts[best]])
    # L-BFGS-B's tolerances are absolute: without this an EI of 1e-8 counts as solved where it starts.
    top = float(values[best[0]])
    scale = 1.0 / abs(top) if np.isfinite(top) and 0.0 < abs(top) < 1.0 else 1.0

    def negative_sum(flat: Array) -> tuple[float, Array]:
        value, gradient = acquisition(flat.reshape(Z.shape), True)
        return -scale * float(value.sum()), -scale * np.ravel(gradient)  # type: ignore[arg-type]

    found = minimize(
        negative_sum, Z.ravel(), jac=True, method="L-BFGS-B", bounds=[(0.0, 1.0)] * Z.size,
        options={"maxiter": MOST_ITERATIONS, "ftol": 1e-8, "gtol": 1e-6},
    )  # fmt: skip
    polished = np.clip(found.x.reshape(Z.shape), 0.0, 1.0)
    # A polish of the sum may leave a single point worse than its start: compare with both.
    both = np.vstack([polished, Z])
    final, _ = acquisition(both, False)
    final = np.where(np.isfinite(final), final, -np.inf)
    return both[np.argsort(-final, kind="stable")]
