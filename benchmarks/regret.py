"""Average regret of VS-GP-UCB (Algorithm 6) and GP-UCB (Algorithm 7) on functions that obey Assumption 5.1.

`python -m benchmarks.regret` records one JSON file for each (alpha, algorithm, path); finished ones are skipped.

The functions are sample paths of a Gaussian process on [0,1]^D with mean zero and the squared exponential kernel,
length-scale l for the d important variables and l / alpha for the others. The derivative along variable j is then a
centred Gaussian process of deviation 1 / l_j everywhere, so that (Borell and TIS), with m_j = l_j E sup |df/dx_j|,
    P(sup |df/dx_j| > L) <= exp(-(l_j L - m_j)^2 / 2)  where l_j L > m_j.
With m >= all m_j and any kappa > 1, that is at most a exp(-(l_j L)^2 / (2 kappa)), a = exp(m^2 / (2 (kappa - 1))):
Assumption 5.1, with b = sqrt(2 kappa) / l and the alpha of the length-scales. kappa is chosen to make the theorem's
slope c = b sqrt(log(8 D a / delta)) least, which is (m + sqrt(2 log(8 D / delta))) / l.
"""

import argparse
import json
import math
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.stats import qmc
from threadpoolctl import threadpool_limits

from benchmarks.errors import BenchError
from benchmarks.records import Array
from benchmarks.speed.machine import environment
from vsbo import Config, KnownKernel, Optimizer, Smoothness, Space, gp
from vsbo import acquisition as acq

FOLDER, PRIOR = "regret", "prior.json"
ALGORITHMS = ("vs-gp-ucb", "gp-ucb")
#: The unimportant variables' slopes, relative to the important ones'.
ALPHAS = (0.001, 0.01, 0.1)
PATHS, EVALUATIONS = 20, 300
#: Features below this part of the largest are left out: the kernel is exact to about 1e-6.
SMALLEST = 1e-4
#: Paths and points from which E sup |df/dx_j| is estimated; points screened for the maximum of a path, and starts kept.
SLOPE_PATHS, SLOPE_POINTS, STARTS, POLISHED = 200, 2048, 4096, 10


@dataclass(frozen=True)
class Prior:
    """The Gaussian process the functions are drawn from.

    D variables, of which the first d are important; lengthscale of those; alpha; noise: the variance of an observation;
    delta: the theorem may fail with this probability.
    """

    alpha: float
    D: int = 6
    d: int = 2
    lengthscale: float = 0.3
    noise: float = 0.01
    delta: float = 0.1

    @property
    def lengthscales(self) -> Array:
        """(D,)."""
        return np.where(np.arange(self.D) < self.d, self.lengthscale, self.lengthscale / self.alpha)

    @property
    def known_kernel(self) -> KnownKernel:
        """As the optimizer takes it."""
        return KnownKernel(tuple(self.lengthscales.tolist()), 1.0, self.noise)

    # The kernel is a product over variables, and with u = (x - 1/2) / l
    #   exp(-(u - v)^2 / 2) = sum_k phi_k(u) phi_k(v),   phi_k(u) = u^k exp(-u^2 / 2) / sqrt(k!),
    # so that sum_k w_k phi_k with independent standard normal w is a sample path, exactly: no random frequencies.

    @cached_property
    def degrees(self) -> np.ndarray[Any, np.dtype[np.intp]]:
        """(F, D): the degree k of each variable in each feature, where their product matters anywhere in the cube."""
        reach = [self._largest(0.5 / scale) for scale in self.lengthscales]
        kept: list[tuple[tuple[int, ...], float]] = [((), 1.0)]
        for sizes in reach:
            kept = [
                ((*degree, k), size * s) for degree, size in kept for k, s in enumerate(sizes) if size * s > SMALLEST
            ]
        return np.array([degree for degree, _ in kept], dtype=np.intp)

    @staticmethod
    def _largest(reach: float) -> list[float]:
        """max |phi_k(u)| over |u| <= reach, for k = 0, 1, ... while it matters; phi_k is largest at u = sqrt(k)."""
        sizes = [1.0]
        while True:
            k = len(sizes)
            u = min(np.sqrt(k), reach)
            size = float(np.exp(k * np.log(u) - 0.5 * u**2 - 0.5 * np.sum(np.log(np.arange(1, k + 1)))))
            if size <= SMALLEST and np.sqrt(k) > reach:
                return sizes
            sizes.append(size)

    def features(self, X: Array) -> Array:
        """(n, F) at X (n, D): their products are the kernel."""
        values = np.ones((len(X), len(self.degrees)))
        for j in range(self.D):
            values *= self._along(X, j)[0][:, self.degrees[:, j]]
        return values

    def slopes(self, X: Array, j: int) -> Array:
        """(n, F): the features' derivatives in variable j."""
        values = np.ones((len(X), len(self.degrees)))
        for i in range(self.D):
            values *= self._along(X, i)[int(i == j)][:, self.degrees[:, i]]
        return values

    def _along(self, X: Array, j: int) -> tuple[Array, Array]:
        """phi_k (n, K) of variable j, and the derivatives: phi_k' = sqrt(k) phi_(k-1) - u phi_k, over l."""
        scale, K = float(self.lengthscales[j]), int(self.degrees[:, j].max()) + 1
        u = (X[:, j] - 0.5) / scale
        phi = np.empty((len(X), K))
        phi[:, 0] = np.exp(-0.5 * u**2)
        for k in range(1, K):
            phi[:, k] = phi[:, k - 1] * u / np.sqrt(k)
        lower = np.column_stack([np.zeros(len(X)), phi[:, :-1] * np.sqrt(np.arange(1, K))])
        return phi, (lower - u[:, None] * phi) / scale

    @cached_property
    def steepness(self) -> float:
        """m: the largest of l_j E sup |df/dx_j|, estimated from sampled paths; two standard errors are added."""
        X = cube(SLOPE_POINTS, self.D)
        X[::2, self.d :] = np.round(X[::2, self.d :])  # slopes hardly bend along these: they are steepest at the ends
        W = np.random.default_rng([1, SLOPE_PATHS]).normal(size=(len(self.degrees), SLOPE_PATHS))
        largest = []
        for j, scale in enumerate(self.lengthscales):
            sup = scale * np.abs(self.slopes(X, j) @ W).max(axis=0)
            largest.append(float(np.mean(sup) + 2.0 * np.std(sup, ddof=1) / np.sqrt(SLOPE_PATHS)))
        return max(largest)

    @cached_property
    def smoothness(self) -> Smoothness:
        """The constants of Assumption 5.1 that these paths obey."""
        A, B = np.log(8.0 * self.D / self.delta), 0.5 * self.steepness**2
        kappa = 1.0 + np.sqrt(B / A)
        b = float(np.sqrt(2.0 * kappa) / self.lengthscale)
        return Smoothness(self.delta, a=float(np.exp(B / (kappa - 1.0))), b=b, alpha=self.alpha)

    def information_gain(self, N: int) -> Array:
        """(N,): at least gamma_1, ..., gamma_N, the largest information that so many observations can give.

        Greedy points (always where the variance is largest) reach 1 - 1/e of the maximum, because the gain is
        submodular; so the greedy gain times e / (e - 1). The largest variance is found by a local search.
        """
        theta = gp.Hyperparameters(self.lengthscales, 1.0, self.noise)
        X = np.full((1, self.D), 0.5)
        posterior = gp.condition(X, np.zeros(1), theta, "squared_exponential", "zero")
        gains = [0.5 * np.log1p(1.0 / self.noise)]
        rng = np.random.default_rng(2)
        while len(gains) < N:
            starts = acq.start_points(posterior.X, 512, rng)
            variance = acq.over(posterior, lambda mu, sigma: (sigma, np.zeros_like(mu), np.ones_like(sigma)))
            x = acq.maximize(variance, starts, starts[:0], 4)[0]
            gains.append(0.5 * np.log1p(float(posterior.predict(x[None])[1][0]) ** 2 / self.noise))
            posterior = posterior.extend(x, 0.0)
        bounds: Array = np.cumsum(gains) * math.e / (math.e - 1.0)
        return bounds


def cube(n: int, D: int) -> Array:
    """n scrambled Sobol points (n, D); n is a power of two."""
    points: Array = qmc.Sobol(D, rng=np.random.default_rng(0)).random_base2(int(np.log2(n)))
    return points


@dataclass(frozen=True)
class SamplePath:
    """A function drawn from the prior; the same prior and number give the same one."""

    prior: Prior
    number: int

    @cached_property
    def weights(self) -> Array:
        """(F,), independent and standard normal."""
        return self.stream(0).normal(size=len(self.prior.degrees))

    def stream(self, purpose: int) -> np.random.Generator:
        """Randomness of this path: 0 its weights, 1 the values of the fixed variables, 2 the noise."""
        return np.random.default_rng([0, self.number, purpose])

    def values(self, X: Array) -> Array:
        """f (n,) at X (n, D)."""
        return self.prior.features(X) @ self.weights

    def gradient(self, x: Array) -> Array:
        """(D,) at x (D,)."""
        return np.array([float(self.prior.slopes(x[None], j)[0] @ self.weights) for j in range(self.prior.D)])

    @cached_property
    def maximum(self) -> float:
        """The largest value a screen of the cube and a local search from its best points find."""
        X = cube(STARTS, self.prior.D)
        found = [
            minimize(
                lambda x: -float(self.values(x[None])[0]),
                X[i],
                jac=lambda x: -self.gradient(x),
                bounds=[(0.0, 1.0)] * self.prior.D,
                method="L-BFGS-B",
            ).fun
            for i in np.argsort(-self.values(X))[:POLISHED]
        ]
        return -float(min(found))


def play(path: SamplePath, algorithm: str, evaluations: int) -> Array:
    """(evaluations,): f at the points that the algorithm asks for when it sees f with noise.

    The variables that VS-GP-UCB leaves out are fixed in advance (Algorithm 6, line 4), at uniform values.
    """
    if algorithm not in ALGORITHMS:
        raise BenchError(f"algorithm must be one of {', '.join(ALGORITHMS)}; got {algorithm!r}")
    prior = path.prior
    settings: dict[str, Any] = {"kernel": "squared_exponential", "smoothness": prior.smoothness}
    if algorithm == "vs-gp-ucb":
        fixed = tuple(path.stream(1).random(prior.D).tolist())
        config = Config.vs_gp_ucb(prior.known_kernel, tuple(range(prior.d)), fixed_value=fixed, **settings)
    else:
        config = Config.gp_ucb(prior.known_kernel, **settings)
    optimizer = Optimizer(Space.box(prior.D), direction="maximize", seed=path.number, config=config)
    noise = path.stream(2).normal(0.0, np.sqrt(prior.noise), evaluations)
    values = np.empty(evaluations)
    for t in range(evaluations):
        trial = optimizer.ask()
        values[t] = path.values(trial.x[None])[0]
        optimizer.tell(trial, values[t] + noise[t])
    return values


# ------------------------------------------------------------------------------------------------- recording


@dataclass(frozen=True, eq=False)
class Recorded:
    """What is recorded for one alpha: the gain (N,) and, by algorithm and path number, the regret r_t (N,).

    where: the machine and versions of its files, every combination once.
    """

    prior: Prior
    smoothness: Smoothness
    gain: Array
    regret: dict[str, dict[int, Array]]
    where: tuple[dict[str, str], ...]

    def bound(self, algorithm: str) -> Array:
        """(N,): Theorem 1's bound on R_N / N, N = 1, 2, ...; GP-UCB leaves out no variable, so that its d is D."""
        D = self.prior.D
        d = self.prior.d if algorithm == "vs-gp-ucb" else D
        bounds = [
            acq.regret_bound(N, D, d, self.smoothness, float(gain), self.prior.noise)
            for N, gain in enumerate(self.gain, 1)
        ]
        return np.array(bounds)

    @property
    def residual(self) -> float:
        """alpha c (D - d): the part of VS-GP-UCB's bound that does not vanish. It is what is left without any gain."""
        N = 10**12
        return acq.regret_bound(N, self.prior.D, self.prior.d, self.smoothness, 0.0, self.prior.noise)


def record(results: Path, alphas: Sequence[float], paths: int, evaluations: int) -> None:
    """Run what is not yet there below results / "regret"; a file that is broken or too short is run again."""
    where = environment()  # now: the sources may change while this goes on, the modules that run do not
    for alpha in alphas:
        prior = Prior(alpha)
        folder = _folder(results, alpha)
        kept = _read(folder / PRIOR)
        if kept is not None and kept["prior"] != asdict(prior):
            raise BenchError(f"{folder} holds runs of another prior, {kept['prior']}; move it away to record anew")
        if kept is None or len(kept["gain"]) < evaluations:
            gain = np.round(prior.information_gain(evaluations), 4).tolist()
            known = {"prior": asdict(prior), "smoothness": asdict(prior.smoothness), "environment": where}
            _write(folder / PRIOR, known | {"gain": gain})
        for number, algorithm in product(range(paths), ALGORITHMS):
            file = folder / algorithm / f"{number}.json"
            done = _read(file)
            if done is not None and len(done["values"]) >= evaluations:
                continue
            path = SamplePath(prior, number)
            values = play(path, algorithm, evaluations)
            regret = path.maximum - values
            _write(file, {"environment": where, "maximum": path.maximum, "values": np.round(values, 6).tolist()})
            print(f"alpha {alpha:g}, path {number}, {algorithm}: average regret {np.mean(regret):.4f}", flush=True)


def load(results: Path) -> list[Recorded]:
    """What is recorded, by increasing alpha. A broken file is named on stderr and left out."""
    found = []
    for file in (results / FOLDER).glob(f"*/{PRIOR}"):
        known = _read(file)
        if known is None:
            continue
        values: dict[str, dict[int, Array]] = {}
        maxima: dict[int, float] = {}
        where = [known["environment"]]
        for algorithm in ALGORITHMS:
            runs = {int(f.stem): _read(f) for f in sorted((file.parent / algorithm).glob("*.json"))}
            values[algorithm] = {number: np.array(run["values"]) for number, run in runs.items() if run is not None}
            for number, run in runs.items():
                if run is not None:  # a point that was asked for may beat what the local search found
                    maxima[number] = max(maxima.get(number, -np.inf), run["maximum"], *run["values"])
                    where += [run["environment"]] if run["environment"] not in where else []
        regret = {name: {number: maxima[number] - y for number, y in own.items()} for name, own in values.items()}
        prior, smoothness = Prior(**known["prior"]), Smoothness(**known["smoothness"])
        found.append(Recorded(prior, smoothness, np.array(known["gain"]), regret, tuple(where)))
    return sorted(found, key=lambda one: one.prior.alpha)


def _folder(results: Path, alpha: float) -> Path:
    return results / FOLDER / f"alpha-{alpha:g}"


def _write(file: Path, content: dict[str, Any]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_suffix(".new")
    new.write_text(json.dumps(content, separators=(",", ":")) + "\n", encoding="utf-8")
    os.replace(new, file)


def _read(file: Path) -> dict[str, Any] | None:
    """None if there is no such file, or it is broken."""
    needed = (
        ("environment", "prior", "smoothness", "gain") if file.name == PRIOR else ("environment", "maximum", "values")
    )
    try:
        content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        missing = [key for key in needed if key not in content]
        if missing:
            raise ValueError(f"it has no {', '.join(missing)}")
    except FileNotFoundError:
        return None
    except ValueError as cause:
        print(f"{file} is broken: {cause}; left out, to be run again", file=sys.stderr)
        return None
    return content


def main() -> None:
    """Record what is missing."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.regret", description="Average regret against Theorem 1."
    )
    parser.add_argument("--results", type=Path, default=Path(__file__).parent / "results", help="where they are kept")
    parser.add_argument("--paths", type=int, default=PATHS, help=f"functions for each alpha ({PATHS})")
    parser.add_argument("--evaluations", type=int, default=EVALUATIONS, help=f"of each function ({EVALUATIONS})")
    arguments = parser.parse_args()
    with threadpool_limits(1):
        record(arguments.results, ALPHAS, arguments.paths, arguments.evaluations)


if __name__ == "__main__":
    main()
