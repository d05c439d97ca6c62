"""TuRBO-1 (Eriksson et al. 2019): Thompson sampling within one trust region; written from the publication.

n points, D variables, l (D,) length-scales, c candidates. Batches have one point.
"""

from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
from scipy.optimize import minimize
from scipy.stats import qmc

from benchmarks.methods.method import Array, Report
from benchmarks.methods.streams import stream
from vsbo import gp
from vsbo.data import standardize
from vsbo.errors import NumericalError
from vsbo.gp.kernel import augmented, evaluate
from vsbo.gp.likelihood import Likelihood
from vsbo.linalg import cholesky, single_thread, solve_lower

#: The region's side before it is stretched: at first, at most, and where it has collapsed.
FIRST_LENGTH, LARGEST_LENGTH, LEAST_LENGTH = 0.8, 1.6, 0.5**7
#: Consecutive successes that double the region. Failures that halve it: one for each variable, at least 4.
SUCCESSES, LEAST_FAILURES = 3, 4
#: Variables of a candidate that differ from the centre, on average.
PERTURBED = 20
#: The publication has min(100 D, 5000), of which a joint sample takes seconds at every point.
CANDIDATES = 1000
#: Uniform points before the region opens; the first time, those that were told count.
N_INITIAL = 5

#: The publication's boxes of the length-scales, the output scale and the noise, on standardized values.
LENGTHSCALES, OUTPUTSCALE, NOISE = (0.005, 2.0), (0.05, 20.0), (5e-4, 0.2)
#: Where the first search for them starts.
START = (0.5, 1.0, 0.005)


@dataclass(frozen=True)
class Region:
    """The trust region's side, and its successes and failures in a row."""

    length: float = FIRST_LENGTH
    successes: int = 0
    failures: int = 0

    def after(self, improved: bool, D: int) -> "Region":
        """The region after a point of its own improved on its best, or did not."""
        if improved:
            if self.successes + 1 == SUCCESSES:
                return Region(min(2.0 * self.length, LARGEST_LENGTH))
            return replace(self, successes=self.successes + 1, failures=0)
        if self.failures + 1 == max(LEAST_FAILURES, D):
            return Region(0.5 * self.length)
        return replace(self, successes=0, failures=self.failures + 1)

    @property
    def collapsed(self) -> bool:
        """Whether it is time to begin elsewhere."""
        return self.length < LEAST_LENGTH


class Turbo:
    """Opens its first region on the points it was told of. After a collapse it forgets all points and begins with
    fresh uniform ones.
    """

    def __init__(self, *, D: int, seed: int, budget: int) -> None:
        self._rng, self._D = stream(seed, "turbo"), D
        self._report = Report()
        self._pending: Array | None = None
        self._open()

    def _open(self) -> None:
        self.region = Region()
        self._X, self._y = np.empty((0, self._D)), np.empty(0)
        self._theta: gp.Hyperparameters | None = None

    def ask(self) -> Array:
        """The candidate (D,) of the region at which a sample of the posterior is largest."""
        if len(self._y) < N_INITIAL:
            self._report = Report()
            return self._rng.random(self._D)
        began = perf_counter()
        with single_thread(), np.errstate(all="ignore"):
            z = standardize(self._y)
            self._theta = fit(self._X, z, self._theta)
            fitted = perf_counter()
            posterior = gp.condition(self._X, z, self._theta, "matern52")
            centre = self._X[np.argmax(z)]
            low, high = box(centre, self._theta.lengthscales, self.region.length)
            Z = candidates(centre, low, high, CANDIDATES, self._rng)
            self._pending = Z[np.argmax(sample(posterior, Z, self._rng))]
        self._report = Report(phases={"fit": fitted - began, "acquisition": perf_counter() - fitted})
        return self._pending.copy()

    def tell(self, x: Array, y: float) -> None:
        """The value at x (D,). Only the region's own points let it grow and shrink."""
        if self._pending is not None and np.array_equal(x, self._pending):
            self.region = self.region.after(y > self._y.max(), self._D)
            self._pending = None
        self._X, self._y = np.vstack([self._X, x]), np.r_[self._y, y]
        if self.region.collapsed:
            self._open()

    def report(self) -> Report:
        """Seconds by phase."""
        return self._report


def fit(X: Array, z: Array, warm: gp.Hyperparameters | None) -> gp.Hyperparameters:
    """Maximum likelihood within the publication's boxes, by L-BFGS-B (theirs: Adam); X (n, D), z (n,) standardized.

    vsbo.gp.fit has wider boxes: a length-scale without end would stretch the region out of all proportion.
    """
    D = X.shape[1]
    start = gp.Hyperparameters(np.full(D, START[0]), *START[1:])
    if np.ptp(z) == 0.0:
        return start
    likelihood = Likelihood(X, z, "matern52")
    limits = np.log([LENGTHSCALES] * D + [OUTPUTSCALE, NOISE])
    try:
        found = minimize(likelihood, (warm or start).to_log(), jac=True, method="L-BFGS-B", bounds=limits)
    except NumericalError:
        return warm or start
    return gp.Hyperparameters.from_log(found.x)


def box(centre: Array, lengthscales: Array, length: float) -> tuple[Array, Array]:
    """The region's corners (D,), (D,): sides length * l_j / (l_1 ... l_D)^(1/D), whose product is length^D, then
    clipped to the cube.
    """
    sides = length * lengthscales / np.exp(np.mean(np.log(lengthscales)))
    return np.clip(centre - 0.5 * sides, 0.0, 1.0), np.clip(centre + 0.5 * sides, 0.0, 1.0)


def candidates(centre: Array, low: Array, high: Array, c: int, rng: np.random.Generator) -> Array:
    """(c, D): Sobol points of the box; each variable keeps the centre's value with probability 1 - min(1, 20 / D), but
    one at least is moved.
    """
    D = len(centre)
    power = int(np.ceil(np.log2(c)))
    points = low + (high - low) * qmc.Sobol(D, rng=rng).random_base2(power)[:c]
    moved = rng.random((c, D)) < min(1.0, PERTURBED / D)
    moved[np.arange(c), rng.integers(D, size=c)] |= ~moved.any(axis=1)
    return np.where(moved, points, centre)


def sample(posterior: gp.Posterior, Z: Array, rng: np.random.Generator) -> Array:
    """One joint sample (c,) of f at Z (c, D): mu + R e, R R' = a K(Z, Z) - (L^-1 a k)' L^-1 a k, e standard normal."""
    a, V = posterior.theta.outputscale, Z / posterior.theta.lengthscales
    k, _ = evaluate(posterior.kernel, posterior.U, augmented(V))
    half = solve_lower(posterior.L, a * k)
    covariance = a * evaluate(posterior.kernel, V, augmented(V))[0] - half.T @ half
    R, _ = cholesky(covariance)
    f: Array = posterior.mean(Z) + R @ rng.standard_normal(len(Z))
    return f
