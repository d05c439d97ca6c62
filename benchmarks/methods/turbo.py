"""TuRBO-1 (Eriksson et al. 2019): Thompson sampling within one trust region; written from the publication.

n points, D variables, l (D,) length-scales, c candidates. Batches have one point. What the publication leaves open is
done as its authors' program does it, but for the sample: from 2000 candidates on that program's covariance has rank
100, while ours is right up to the random features of `prior_sample`.
"""

from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
from scipy.special import expit, logit
from scipy.stats import qmc

from benchmarks.methods.method import Array, Report
from benchmarks.methods.streams import stream
from vsbo import gp
from vsbo.data import standardize
from vsbo.errors import NumericalError
from vsbo.gp.kernel import augmented, evaluate
from vsbo.gp.likelihood import Likelihood
from vsbo.linalg import single_thread, solve_cholesky

#: The region's side before it is stretched: at first, at most, and where it has collapsed.
FIRST_LENGTH, LARGEST_LENGTH, LEAST_LENGTH = 0.8, 1.6, 0.5**7
#: Consecutive successes that double the region. Failures that halve it: one for each variable, at least 4.
SUCCESSES, LEAST_FAILURES = 3, 4
#: A success is better than the region's best by more than this part of its size.
IMPROVEMENT = 1e-3
#: Variables of a candidate that differ from the centre, on average.
PERTURBED = 20
#: For each variable, and at most.
CANDIDATES, MOST_CANDIDATES = 100, 5000
#: Points of a Latin hypercube before the region opens; the first time, those that were told count. (The publication
#: has 2 D where no points are shared.)
N_INITIAL = 5

#: The program's boxes of the length-scales, the output scale and the noise, on standardized values.
LENGTHSCALES, OUTPUTSCALE, NOISE = (0.005, 2.0), (0.05, 20.0), (5e-4, 0.2)
#: Where every search for them starts, its steps (of Adam) and their size.
START = (0.5, 1.0, 0.005)
STEPS, STEP = 50, 0.1
#: Adam's memory of the slope and of its square, and what keeps it from dividing by zero.
MEMORY, MEMORY_OF_SQUARE, TINY = 0.9, 0.999, 1e-8
#: Pairs (cos, sin) of random features in a sample: its covariances are off by 2 % of the output scale.
FEATURES = 1024


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
    fresh ones.
    """

    def __init__(self, *, D: int, seed: int, budget: int) -> None:
        self._rng, self._D = stream(seed, "turbo"), D
        self._report = Report()
        self._pending: list[Array] = []
        self._open()

    def _open(self) -> None:
        self.region = Region()
        self._X, self._y = np.empty((0, self._D)), np.empty(0)
        self._design, self._given = qmc.LatinHypercube(self._D, rng=self._rng).random(N_INITIAL), 0
        self._forgotten, self._pending = self._pending, []

    def ask(self) -> Array:
        """The candidate (D,) of the region at which a sample of the posterior is largest."""
        if len(self._y) < N_INITIAL:
            self._report = Report()
            at = max(len(self._y), self._given)  # with several workers more may be asked for than are told
            self._given = at + 1
            x: Array = self._design[at] if at < N_INITIAL else self._rng.random(self._D)
            return x.copy()
        began = perf_counter()
        with single_thread(), np.errstate(all="ignore"):
            z = standardize(self._y)
            theta = fit(self._X, z)
            fitted = perf_counter()
            posterior = gp.condition(self._X, z, theta, "matern52")
            centre = self._X[np.argmax(z)]
            low, high = box(centre, theta.lengthscales, self.region.length)
            Z = candidates(centre, low, high, min(CANDIDATES * self._D, MOST_CANDIDATES), self._rng)
            x = Z[np.argmax(sample(posterior, Z, self._rng))]
        self._report = Report(phases={"fit": fitted - began, "acquisition": perf_counter() - fitted})
        self._pending.append(x)
        return x.copy()

    def tell(self, x: Array, y: float) -> None:
        """The value at x (D,). Only the region's own points let it grow and shrink; those of the last one are late."""
        if any(np.array_equal(x, late) for late in self._forgotten):
            return
        own = [i for i, pending in enumerate(self._pending) if np.array_equal(x, pending)]
        if own:
            best = self._y.max()
            self.region = self.region.after(y > best + IMPROVEMENT * abs(best), self._D)
            del self._pending[own[0]]
        self._X, self._y = np.vstack([self._X, x]), np.r_[self._y, y]
        if self.region.collapsed:
            self._open()

    def report(self) -> Report:
        """Seconds by phase."""
        return self._report


def fit(X: Array, z: Array) -> gp.Hyperparameters:
    """Likely hyper-parameters within the boxes, for X (n, D), z (n,) standardized: some steps of Adam on the NLL / n.

    Each is low + (high - low) / (1 + exp(-t)), t being free. So few steps do not reach the maximum, which with fewer
    points than variables would have most length-scales at their limits.
    """
    D = X.shape[1]
    low, high = np.array([LENGTHSCALES] * D + [OUTPUTSCALE, NOISE]).T
    theta = np.r_[np.full(D, START[0]), START[1:]]
    likelihood = Likelihood(X, z, "matern52")
    t, slope, square = logit((theta - low) / (high - low)), np.zeros(D + 2), np.zeros(D + 2)
    for step in range(1, STEPS + 1):
        part = expit(t)
        theta = low + (high - low) * part
        try:
            _, gradient = likelihood(np.log(theta))
        except NumericalError:
            break
        gradient *= (high - low) * part * (1.0 - part) / (theta * len(z))
        slope += (1.0 - MEMORY) * (gradient - slope)
        square += (1.0 - MEMORY_OF_SQUARE) * (gradient**2 - square)
        size = np.sqrt(square / (1.0 - MEMORY_OF_SQUARE**step)) + TINY
        t -= STEP * slope / (1.0 - MEMORY**step) / size
    theta = low + (high - low) * expit(t)
    return gp.Hyperparameters(theta[:D], float(theta[D]), float(theta[D + 1]))


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
    """One joint sample (c,) of observations at Z (c, D), in O(c) and not O(c^3) time (Wilson et al. 2020).

    f(Z) + e + a k(Z)' M^-1 (y - f(X) - e'), where f is a sample of the prior and e, e' are noise: given y it has the
    posterior's mean and covariance.
    """
    theta = posterior.theta
    noise = np.sqrt(theta.noise) * rng.standard_normal(len(Z) + len(posterior.y))
    prior = prior_sample(theta, np.vstack([Z, posterior.X]), rng) + noise
    k = evaluate(posterior.kernel, Z / theta.lengthscales, augmented(posterior.X / theta.lengthscales))
    correction = theta.outputscale * (k @ solve_cholesky(posterior.L, prior[len(Z) :]))
    drawn: Array = posterior.mean(Z) + prior[: len(Z)] - correction
    return drawn


def prior_sample(theta: gp.Hyperparameters, X: Array, rng: np.random.Generator) -> Array:
    """Values (n,) at X (n, D) of a function drawn from the prior, with mean zero and Matern-5/2 correlations.

    sum_i sqrt(a / F) (u_i cos w_i.x + v_i sin w_i.x), u and v standard normal, and w l of a t distribution with 5
    degrees of freedom, the Fourier transform of that correlation. Single precision: it is an approximation anyway.
    """
    frequencies = rng.standard_normal((X.shape[1], FEATURES)) / np.sqrt(rng.chisquare(5.0, FEATURES) / 5.0)
    phase = X.astype(np.float32) @ (frequencies / theta.lengthscales[:, None]).astype(np.float32)
    u, v = rng.standard_normal((2, FEATURES)).astype(np.float32)
    f = np.cos(phase) @ u + np.sin(phase) @ v
    scaled: Array = np.sqrt(theta.outputscale / FEATURES) * f.astype(np.float64)
    return scaled
